//! Replies of the operations routes.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The reply of `GET /v1/models`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ModelList {
    /// Always `list`.
    pub object: String,
    /// Scorers and models.
    pub data: Vec<ModelInfo>,
}

/// A scorer, model or adapter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ModelInfo {
    /// The name to send as `model`.
    pub id: String,
    /// Always `model`.
    pub object: String,
    /// Load time in Unix seconds.
    pub created: u64,
    /// Always `tribunal`.
    pub owned_by: String,
    /// The scorer's kind, such as `math` or `pipeline`; `model` or `adapter`.
    pub kind: String,
    /// Description in a sentence.
    pub description: String,
    /// Digests of the scorer and its models.
    pub digests: ModelDigests,
    /// Repository and commit of a model or an adapter of the Hugging Face Hub: `hf:org/name@commit`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Base model of an adapter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// Context length of a model in tokens, generated ones included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_tokens: Option<usize>,
    /// Number of parameters of a model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameters: Option<u64>,
    /// Limits of a request.
    pub limits: ModelLimits,
}

/// SHA-256 digests: `sha256:` and 64 hexadecimal digits.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ModelDigests {
    /// A scorer's kind, revision and options.
    pub scorer: Option<String>,
    /// A scorer with the weights of the models and adapters that it calls now; only of one that
    /// calls any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scorer_weights: Option<String>,
    /// A model's weights and configuration.
    pub model: Option<String>,
    /// An adapter.
    pub adapter: Option<String>,
    /// Number of weight updates; only of a model that is trained while it is served.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<u64>,
}

/// Limits of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ModelLimits {
    /// Most inputs or prompts.
    pub inputs: usize,
    /// Most bytes of the body.
    pub body_bytes: usize,
    /// Longest deadline in milliseconds.
    pub deadline_ms: u64,
}

/// The reply of `GET /healthz`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Health {
    /// Always `ok`.
    pub status: String,
}

/// The reply of `GET /livez`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Liveness {
    /// `ok`, or `stalled`.
    pub status: String,
    /// The parts that have had work and made no progress for `server.stall_timeout`.
    pub stalled: Vec<String>,
}

/// The reply of `GET /readyz`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Readiness {
    /// `ready`, `loading`, `draining`, `overloaded`, or `failed` if a model's engine has stopped.
    pub status: String,
    /// Number of scorers.
    pub scorers: usize,
    /// Number of loaded models.
    pub models: usize,
}
