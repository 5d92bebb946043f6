//! Error bodies in the shape that OpenAI's clients read.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The body of every error reply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ErrorBody {
    /// The error.
    pub error: ErrorDetail,
}

/// The detail of an error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ErrorDetail {
    /// Family, such as `invalid_request_error`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Stable code, for programs.
    pub code: String,
    /// Message, for people.
    pub message: String,
    /// JSON path of the offending value, if any.
    pub param: Option<String>,
}
