//! Error replies of other interfaces.

use openapi::ErrorBody;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// An error as services written with `FastAPI` answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct DetailError {
    /// What went wrong.
    pub(crate) detail: Details,
}

/// What went wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum Details {
    /// A sentence.
    Text(String),
    /// Faults of the body, each with its place.
    Fields(Vec<FieldError>),
}

/// A fault of the body.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct FieldError {
    /// What kind of fault.
    #[serde(rename = "type")]
    pub(crate) kind: String,
    /// Where: `body`, and the names and indexes that lead to the value.
    pub(crate) loc: Vec<PathPart>,
    /// What is wrong.
    pub(crate) msg: String,
}

/// A step of a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum PathPart {
    /// Of an object.
    Name(String),
    /// Of a list.
    Index(usize),
}

/// An error as vLLM answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct VllmError {
    /// What went wrong.
    pub(crate) error: VllmErrorDetail,
}

/// What went wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct VllmErrorDetail {
    /// In a sentence.
    pub(crate) message: String,
    /// Such as `BadRequestError`.
    #[serde(rename = "type")]
    pub(crate) kind: String,
    /// JSON path of the offending value.
    pub(crate) param: Option<String>,
    /// The status.
    pub(crate) code: u16,
}

/// An error as `SGLang` answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct SglangError {
    /// Always `error`.
    pub(crate) object: String,
    /// What went wrong, in a sentence.
    pub(crate) message: String,
    /// Such as `BadRequestError`.
    #[serde(rename = "type")]
    pub(crate) kind: String,
    /// JSON path of the offending value.
    pub(crate) param: Option<String>,
    /// The status.
    pub(crate) code: u16,
}

/// An error as Text Embeddings Inference answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct TeiError {
    /// What went wrong, in a sentence.
    pub(crate) error: String,
    /// What kind of fault.
    pub(crate) error_type: TeiErrorType,
}

/// Kinds of faults of Text Embeddings Inference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) enum TeiErrorType {
    /// The server takes no work.
    Unhealthy,
    /// The model failed.
    Backend,
    /// There is too much work.
    Overloaded,
    /// The body cannot be used.
    Validation,
    /// A text cannot be read.
    Tokenizer,
    /// There is nothing in the body.
    Empty,
}

/// An error of a path that vLLM and `SGLang` share, in the shape of whose body it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum ClassifyFailure {
    /// As vLLM answers; before the body is read, too.
    Vllm(VllmError),
    /// As `SGLang` answers.
    Sglang(SglangError),
}

/// An error of a path that rerankers and Text Embeddings Inference share, in the shape of whose
/// body it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum RerankFailure {
    /// As vLLM answers; before the body is read, too.
    Vllm(VllmError),
    /// As Text Embeddings Inference answers.
    Tei(TeiError),
}

/// An error of the scoring route, in the shape of whose body it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum ScoreFailure {
    /// This server's own; before the body is read, too.
    Own(ErrorBody),
    /// As vLLM answers.
    Vllm(VllmError),
    /// As `SGLang` answers.
    Sglang(SglangError),
}
