//! slime: the body of its `remote_rm`, and the reply.

use openapi::{Content, object};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::compat::shared::gold_label::GoldLabel;

/// One sample to reward.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
pub(crate) struct RemoteRewardRequest {
    /// The prompt: text, rendered or not, or messages.
    pub(crate) prompt: Content,
    /// The response.
    pub(crate) response: String,
    /// The gold answer.
    #[serde(default)]
    pub(crate) label: GoldLabel,
}

object!(RemoteRewardRequest);

/// The reward of a sample: a number, or an object if the URL requests one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum RemoteRewardReply {
    /// The reward itself.
    Number(f64),
    /// The reward with details, for trainers that are configured with the key to read.
    Object(RemoteReward),
}

/// A reward with details.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct RemoteReward {
    /// The reward for training: the score of a scorer, or the logit of a model's own head.
    pub(crate) reward: f64,
    /// The score.
    pub(crate) score: f64,
    /// The unbounded value before calibration, if any.
    pub(crate) raw: Option<f64>,
    /// The class, such as `equal`.
    pub(crate) label: Option<String>,
}
