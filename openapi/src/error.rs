//! Errors in the shape that OpenAI's clients read.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The body of every reply that is not a success.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ErrorBody {
    /// What went wrong.
    pub error: ErrorDetail,
}

/// What went wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ErrorDetail {
    /// The family, such as `invalid_request_error`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Stable, for programs.
    pub code: String,
    /// For people.
    pub message: String,
    /// JSON path of the offending value, where there is one.
    pub param: Option<String>,
}
