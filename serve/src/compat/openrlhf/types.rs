//! `OpenRLHF`: the body of its remote reward client, and the reply.

use std::collections::BTreeMap;

use openapi::object;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::compat::shared::gold_label::GoldLabel;

/// Samples to reward: queries, each with the prompt that it begins with. The lists have equal
/// length and may be empty.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
pub(crate) struct RewardQuery {
    /// Prompt and response as one text, with special tokens written out.
    pub(crate) query: Vec<String>,
    /// The prompts that the queries begin with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) prompts: Option<Vec<String>>,
    /// The gold answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) labels: Option<Vec<GoldLabel>>,
}

object!(RewardQuery);

/// One number per sample, in order.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct RewardReply {
    /// The rewards for training: scores of a scorer, or logits of a model's own head.
    pub(crate) rewards: Vec<f64>,
    /// The scores for dynamic filtering, in [0, 1] if the scorer's are.
    pub(crate) scores: Vec<f64>,
    /// Numbers for the trainer's log.
    pub(crate) extra_logs: BTreeMap<String, Vec<f64>>,
}
