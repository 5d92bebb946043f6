//! slime: the body that its `remote_rm` posts, and the reply that it takes for the reward.

use openapi::{Content, object};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::compat::gold_label::Label;

/// One sample to reward.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
pub(crate) struct RemoteRewardRequest {
    /// What was asked: a text, rendered or not, or messages.
    pub(crate) prompt: Content,
    /// What was answered.
    pub(crate) response: String,
    /// The gold answer.
    #[serde(default)]
    pub(crate) label: Label,
}

object!(RemoteRewardRequest);

/// The reward of a sample: a number, or an object where the URL asks for one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum RemoteRewardReply {
    /// The reward itself.
    Number(f64),
    /// The reward and what is known of it, for a trainer that is told which key to read.
    Object(RemoteReward),
}

/// A reward and what is known of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct RemoteReward {
    /// What the policy is trained on: a scorer's score, or the logit of a model's own head.
    pub(crate) reward: f64,
    /// The score.
    pub(crate) score: f64,
    /// The unbounded value behind it, where there is one.
    pub(crate) raw: Option<f64>,
    /// The class, such as `equal`.
    pub(crate) label: Option<String>,
}
