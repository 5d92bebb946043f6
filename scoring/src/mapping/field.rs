//! The fields of an input that columns are read into.

use serde::Serialize;

/// The fields that columns are read into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Field {
    /// The prompt.
    Prompt,
    /// One response.
    Response,
    /// A group of responses.
    Responses,
    /// The gold answer.
    Reference,
    /// The response's steps.
    Steps,
    /// Principles to judge by.
    Principles,
    /// Supporting texts.
    Context,
    /// The row's id.
    Id,
}

impl Field {
    /// Whether the field holds responses.
    pub(crate) fn is_response(self) -> bool {
        match self {
            Self::Response | Self::Responses => true,
            Self::Prompt
            | Self::Reference
            | Self::Steps
            | Self::Principles
            | Self::Context
            | Self::Id => false,
        }
    }
}
