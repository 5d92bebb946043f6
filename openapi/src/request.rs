//! The request of `POST /v1/score`.

use std::fmt;

use base::Priority;
use serde::de::{Error as _, IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;

use crate::{Content, Reference, integer};

/// Most inputs of a request.
pub const MAX_INPUTS: usize = 10_000;

/// A batch of inputs for one scorer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
pub struct ScoreRequest {
    /// Name of a scorer, as listed by `GET /v1/models`.
    #[schema(example = "math")]
    pub model: String,
    /// The inputs; results have the same order.
    #[serde(deserialize_with = "read_inputs")]
    #[schema(min_items = 1, max_items = 10_000)]
    pub inputs: Vec<ScoreInput>,
    /// Options of the request.
    #[serde(default)]
    pub options: Options,
}

/// An input to score. A scorer declares the fields that it uses; an input with another field is
/// refused, so that none is ignored silently.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
pub struct ScoreInput {
    /// Id, returned with the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<Content>,
    /// The response to score.
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
    /// Metadata, returned with the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub metadata: Option<serde_json::Map<String, serde_json::Value>>,
}

/// Options of a request.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(remote = "Self", deny_unknown_fields, default)]
pub struct Options {
    /// Deadline in milliseconds from arrival, at most the server's `limits.deadline`.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "integer::read_positive")]
    #[schema(minimum = 1, maximum = 9_007_199_254_740_992_u64)]
    pub deadline_ms: Option<u64>,
    /// Priority of the work.
    pub priority: Priority,
    /// Use of the outcome cache.
    pub cache: CacheMode,
    /// Adds `reason.detail` to all results; failures always have it.
    pub explain: bool,
    /// Seed of all sampling.
    #[serde(deserialize_with = "integer::read_unsigned")]
    #[schema(minimum = 0, maximum = 9_007_199_254_740_992_u64)]
    pub seed: u64,
}

/// Reads inputs, and no more than a request may have: an input takes a hundred times the bytes of `{}`.
fn read_inputs<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<ScoreInput>, D::Error> {
    deserializer.deserialize_seq(InputsVisitor)
}

struct InputsVisitor;

impl<'de> Visitor<'de> for InputsVisitor {
    type Value = Vec<ScoreInput>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a sequence")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut inputs = Vec::new();
        while inputs.len() < MAX_INPUTS {
            match list.next_element()? {
                Some(input) => inputs.push(input),
                None => return Ok(inputs),
            }
        }
        let mut count = inputs.len();
        while list.next_element::<IgnoredAny>()?.is_some() {
            count += 1;
        }
        if count == inputs.len() {
            return Ok(inputs);
        }
        Err(A::Error::custom(format_args!("{count} inputs; a request takes 1 to {MAX_INPUTS}")))
    }
}

crate::object!(ScoreRequest);
crate::object!(ScoreInput);
crate::object!(Options);

/// The use of the outcome cache.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum CacheMode {
    /// Reads and writes the cache.
    #[default]
    Use,
    /// Neither reads nor writes it.
    Bypass,
    /// Computes and stores a new outcome.
    Refresh,
}
