//! What the server says about itself.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::Digests;

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
    /// The scorer's kind, such as `math` or `pipeline`.
    pub kind: String,
    /// What the scorer does, in a sentence.
    pub description: String,
    /// What would produce a verdict.
    pub digests: Digests,
    /// What a request may hold.
    pub limits: ModelLimits,
}

/// What a request may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ModelLimits {
    /// Inputs in a request.
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
    /// `ready` or `draining`.
    pub status: String,
    /// Number of scorers that can be called.
    pub scorers: usize,
}
