//! What the server says about itself.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// `GET /v1/models`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ModelList {
    /// Always `list`.
    pub object: String,
    /// Scorers and models.
    pub data: Vec<ModelInfo>,
}

/// One scorer or model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ModelInfo {
    /// The name to send as `model`.
    pub id: String,
    /// Always `model`.
    pub object: String,
    /// Unix time in seconds at which it was loaded.
    pub created: u64,
    /// Always `tribunal`.
    pub owned_by: String,
    /// The scorer's kind, such as `math` or `pipeline`; `model` or `adapter`.
    pub kind: String,
    /// What it does, in a sentence.
    pub description: String,
    /// What would produce a verdict or a text.
    pub digests: ModelDigests,
    /// The model that an adapter belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// Tokens that a model's longest sequence has, generated ones included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_tokens: Option<usize>,
    /// Numbers in a model's weight files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameters: Option<u64>,
    /// What a request may hold.
    pub limits: ModelLimits,
}

/// SHA-256 digests, `sha256:` and 64 hexadecimal digits.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ModelDigests {
    /// Of a scorer: kind, revision and every option.
    pub scorer: Option<String>,
    /// Of a model's weights and configuration.
    pub model: Option<String>,
    /// Of an adapter.
    pub adapter: Option<String>,
    /// How often the weights were changed; only of a model that is trained while it is served.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<u64>,
}

/// What a request may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ModelLimits {
    /// Inputs in a request, or prompts.
    pub inputs: usize,
    /// Bytes in a request body.
    pub body_bytes: usize,
    /// Longest deadline in milliseconds.
    pub deadline_ms: u64,
}

/// `GET /healthz`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Health {
    /// Always `ok`: the process answers.
    pub status: String,
}

/// `GET /readyz`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Readiness {
    /// `ready`, `draining`, or `failed` where a model's engine has stopped.
    pub status: String,
    /// Number of scorers that can be called.
    pub scorers: usize,
    /// Number of models that are loaded.
    pub models: usize,
}
