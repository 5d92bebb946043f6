//! Why a template could not be rendered.

use crate::error::ChatError;

/// What went wrong, without the place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum RenderErrorKind {
    /// The template refused the conversation through `raise_exception`.
    #[error("the template refuses this conversation: {0}")]
    Raised(String),
    /// An operation that the language does not define for these values.
    #[error("{0}")]
    Invalid(String),
    /// Too many steps.
    #[error("the template takes more than {0} steps")]
    Steps(u64),
    /// Too much memory.
    #[error("the template's values take more than {0} bytes")]
    Memory(usize),
    /// Too long a prompt.
    #[error("the rendered prompt is longer than {0} bytes")]
    Output(usize),
    /// Too deep a nesting.
    #[error("values or calls nest more than {0} deep")]
    Depth(u32),
}

/// A fault and the line of the template where it happened, once known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RenderError {
    pub(super) fault: RenderErrorKind,
    pub(super) line: Option<u16>,
}

impl RenderError {
    /// The same error, at `line` unless an inner place is known already.
    pub(super) fn at(mut self, line: u16) -> RenderError {
        self.line.get_or_insert(line);
        self
    }
}

impl From<RenderErrorKind> for RenderError {
    fn from(fault: RenderErrorKind) -> RenderError {
        RenderError { fault, line: None }
    }
}

impl From<RenderError> for ChatError {
    fn from(error: RenderError) -> ChatError {
        match error.line {
            Some(line) => ChatError::Template(format!("line {line}: {}", error.fault)),
            None => ChatError::Template(error.fault.to_string()),
        }
    }
}

/// An operation that is not defined.
pub(super) fn invalid(what: impl Into<String>) -> RenderError {
    RenderErrorKind::Invalid(what.into()).into()
}
