//! `POST /v1/score`: what a client asks.

use base::Priority;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{Content, Reference, whole};

/// Most inputs that one request may carry.
pub const MAX_INPUTS: usize = 10_000;

/// A batch of inputs for one scorer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
pub struct ScoreRequest {
    /// Name of a scorer, as listed by `GET /v1/models`.
    #[schema(example = "math")]
    pub model: String,
    /// The inputs; results come back in this order.
    #[schema(min_items = 1, max_items = 10_000)]
    pub inputs: Vec<ScoreInput>,
    /// How to run the request.
    #[serde(default)]
    pub options: Options,
}

/// One thing to judge. A scorer says which fields it reads; a field that it cannot use is refused
/// for that input, so that no question is dropped in silence.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
pub struct ScoreInput {
    /// Echoed in the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// What was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<Content>,
    /// The response to judge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<Content>,
    /// A group of responses to the same prompt, instead of `response`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub responses: Option<Vec<Content>>,
    /// The gold answer or other ground truth.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<Reference>,
    /// The response already split into steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps: Option<Vec<String>>,
    /// Principles to judge by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub principles: Option<Vec<String>>,
    /// An inline rubric.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub rubric: Option<serde_json::Map<String, serde_json::Value>>,
    /// Supporting documents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<Vec<String>>,
    /// Echoed in the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub metadata: Option<serde_json::Map<String, serde_json::Value>>,
}

/// How to run a request.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(remote = "Self", deny_unknown_fields, default)]
pub struct Options {
    /// Milliseconds from arrival after which an answer is of no use. Capped by the server's own
    /// `limits.deadline`.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "whole::read_positive")]
    #[schema(minimum = 1, maximum = 9_007_199_254_740_992_u64)]
    pub deadline_ms: Option<u64>,
    /// Which queue the work waits in.
    pub priority: Priority,
    /// Whether a stored verdict may answer.
    pub cache: CacheMode,
    /// Adds `reason.detail` to verdicts; a failure always carries its detail.
    pub explain: bool,
    /// Seed of every sampled decision.
    #[serde(deserialize_with = "whole::read")]
    #[schema(minimum = 0, maximum = 9_007_199_254_740_992_u64)]
    pub seed: u64,
}

crate::object!(ScoreRequest);
crate::object!(ScoreInput);
crate::object!(Options);

/// Whether a stored verdict may answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum CacheMode {
    /// Read and write the cache.
    #[default]
    Use,
    /// Neither read nor write.
    Bypass,
    /// Compute again and store the new verdict.
    Refresh,
}
