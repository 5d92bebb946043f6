//! `OpenRLHF`: the body that its remote reward client posts, and the reply that it reads.

use std::collections::BTreeMap;

use openapi::object;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::compat::gold_label::Label;

/// Samples to reward, each a query with the prompt that it begins with. The lists have one length,
/// and may be empty.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
pub(crate) struct RewardQuery {
    /// Prompt and response as one text, special tokens written out.
    pub(crate) query: Vec<String>,
    /// The prompts that the queries begin with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) prompts: Option<Vec<String>>,
    /// The gold answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) labels: Option<Vec<Label>>,
}

object!(RewardQuery);

/// One number for each sample, in order.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct RewardReply {
    /// What the policy is trained on: a scorer's score, or the logit of a model's own head.
    pub(crate) rewards: Vec<f64>,
    /// What dynamic filtering looks at: the score, in [0, 1] where the scorer's is.
    pub(crate) scores: Vec<f64>,
    /// Numbers for the trainer's log.
    pub(crate) extra_logs: BTreeMap<String, Vec<f64>>,
}
