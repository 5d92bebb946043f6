//! Error bodies of foreign interfaces.

use openapi::ErrorBody;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// An error body as `FastAPI` services send it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct DetailError {
    /// The error.
    pub(crate) detail: Details,
}

/// The detail of an error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum Details {
    /// A message.
    Text(String),
    /// Faults of the body, each with its location.
    Fields(Vec<FieldError>),
}

/// A fault of the body.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct FieldError {
    /// Kind of fault.
    #[serde(rename = "type")]
    pub(crate) kind: String,
    /// Location: `body`, then the keys and indexes to the value.
    pub(crate) loc: Vec<PathPart>,
    /// Message.
    pub(crate) msg: String,
}

/// An element of a location.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum PathPart {
    /// Key of an object.
    Name(String),
    /// Index of a list.
    Index(usize),
}

/// An error body as vLLM sends it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct VllmError {
    /// The error.
    pub(crate) error: VllmErrorDetail,
}

/// The detail of an error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct VllmErrorDetail {
    /// Message.
    pub(crate) message: String,
    /// Error type, such as `BadRequestError`.
    #[serde(rename = "type")]
    pub(crate) kind: String,
    /// JSON path of the offending value.
    pub(crate) param: Option<String>,
    /// HTTP status.
    pub(crate) code: u16,
}

/// An error body as `SGLang` sends it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct SglangError {
    /// Always `error`.
    pub(crate) object: String,
    /// Message.
    pub(crate) message: String,
    /// Error type, such as `BadRequestError`.
    #[serde(rename = "type")]
    pub(crate) kind: String,
    /// JSON path of the offending value.
    pub(crate) param: Option<String>,
    /// HTTP status.
    pub(crate) code: u16,
}

/// An error body as Text Embeddings Inference sends it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct TeiError {
    /// Message.
    pub(crate) error: String,
    /// Kind of error.
    pub(crate) error_type: TeiErrorType,
}

/// Error types of Text Embeddings Inference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) enum TeiErrorType {
    /// The server refuses work.
    Unhealthy,
    /// The model failed.
    Backend,
    /// Overload.
    Overloaded,
    /// The body is invalid.
    Validation,
    /// A text cannot be encoded.
    Tokenizer,
    /// The body is empty.
    Empty,
}

/// An error body of a path that vLLM and `SGLang` share, in the shape of the request's interface.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum ClassifyFailure {
    /// vLLM's; also used before the body is parsed.
    Vllm(VllmError),
    /// `SGLang`'s.
    Sglang(SglangError),
}

/// An error body of a path that rerankers and Text Embeddings Inference share, in the shape of the
/// request's interface.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum RerankFailure {
    /// vLLM's; also used before the body is parsed.
    Vllm(VllmError),
    /// Text Embeddings Inference's.
    Tei(TeiError),
}

/// An error body of the scoring route, in the shape of the request's interface.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum ScoreFailure {
    /// The native one; also used before the body is parsed.
    Own(ErrorBody),
    /// vLLM's.
    Vllm(VllmError),
    /// `SGLang`'s.
    Sglang(SglangError),
}
