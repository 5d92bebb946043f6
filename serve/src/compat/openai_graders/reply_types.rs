//! OpenAI's graders: the replies.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::types::GraderKind;

/// What a grader found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct GraderRunReply {
    /// The reward; null where there is none, and `metadata.errors` says why. A failure is never a
    /// number.
    pub(crate) reward: Option<f64>,
    /// About the run.
    pub(crate) metadata: GraderMetadata,
    /// The rewards of the graders of a `multi` grader.
    pub(crate) sub_rewards: BTreeMap<String, Option<f64>>,
    /// Tokens of each model that was asked.
    pub(crate) model_grader_token_usage_per_model: BTreeMap<String, u64>,
    /// What this server adds.
    pub(crate) tribunal: GraderNotes,
}

/// About a grader's run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct GraderMetadata {
    /// The grader's name.
    pub(crate) name: String,
    /// The grader's kind.
    #[serde(rename = "type")]
    pub(crate) kind: GraderKind,
    /// What went wrong.
    pub(crate) errors: GraderErrors,
    /// Seconds.
    pub(crate) execution_time: f64,
    /// As `sub_rewards`.
    pub(crate) scores: BTreeMap<String, Option<f64>>,
    /// Tokens of all models that were asked, prompts included.
    pub(crate) token_usage: Option<u64>,
    /// The model that was asked, where it was one.
    pub(crate) sampled_model_name: Option<String>,
}

/// What went wrong, as flags.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[expect(clippy::struct_excessive_bools, reason = "the interface that it belongs to has them")]
pub(crate) struct GraderErrors {
    /// The formula cannot be read. Such a grader is refused, so that this is never set.
    pub(crate) formula_parse_error: bool,
    /// `sample.output_json` is asked for, and the sample is no JSON.
    pub(crate) sample_parse_error: bool,
    /// A text is longer than what measures it takes.
    pub(crate) truncated_observation_error: bool,
    /// The formula came to no number, by a division by zero for example.
    pub(crate) unresponsive_reward_error: bool,
    /// A template asks for what `item` or `sample` does not have.
    pub(crate) invalid_variable_error: bool,
    /// Something else.
    pub(crate) other_error: bool,
    /// Never set: programs are refused.
    pub(crate) python_grader_server_error: bool,
    /// Always null.
    pub(crate) python_grader_server_error_type: Option<String>,
    /// Never set.
    pub(crate) python_grader_runtime_error: bool,
    /// Always null.
    pub(crate) python_grader_runtime_error_details: Option<String>,
    /// A model failed.
    pub(crate) model_grader_server_error: bool,
    /// Never set: the models here are held to their format and cannot refuse.
    pub(crate) model_grader_refusal_error: bool,
    /// A model's text was cut off before it was whole.
    pub(crate) model_grader_parse_error: bool,
    /// How a model failed.
    pub(crate) model_grader_server_error_details: Option<String>,
}

/// What a run says beyond its interface.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct GraderNotes {
    /// The errors in words, in the order of the graders.
    pub(crate) problems: Vec<GraderProblem>,
}

/// An error in words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct GraderProblem {
    /// The part of the request that it is about.
    pub(crate) param: String,
    /// What went wrong.
    pub(crate) message: String,
}

/// A grader that can be run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct GraderValidateReply {
    /// The grader as it was given.
    #[schema(value_type = Object)]
    pub(crate) grader: Value,
}
