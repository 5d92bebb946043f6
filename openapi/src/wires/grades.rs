//! OpenAI's graders: the replies.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::graders::GraderKind;

/// What a grader found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GraderRunReply {
    /// The reward; null where there is none, and `metadata.errors` says why. A failure is never a
    /// number.
    pub reward: Option<f64>,
    /// About the run.
    pub metadata: GraderMetadata,
    /// The rewards of the graders of a `multi` grader.
    pub sub_rewards: BTreeMap<String, Option<f64>>,
    /// Tokens of each model that was asked.
    pub model_grader_token_usage_per_model: BTreeMap<String, u64>,
    /// What this server adds.
    pub tribunal: GraderNotes,
}

/// About a grader's run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GraderMetadata {
    /// The grader's name.
    pub name: String,
    /// The grader's kind.
    #[serde(rename = "type")]
    pub kind: GraderKind,
    /// What went wrong.
    pub errors: GraderErrors,
    /// Seconds.
    pub execution_time: f64,
    /// As `sub_rewards`.
    pub scores: BTreeMap<String, Option<f64>>,
    /// Tokens of all models that were asked, prompts included.
    pub token_usage: Option<u64>,
    /// The model that was asked, where it was one.
    pub sampled_model_name: Option<String>,
}

/// What went wrong, as flags.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[expect(clippy::struct_excessive_bools, reason = "the interface that it belongs to has them")]
pub struct GraderErrors {
    /// The formula cannot be read. Such a grader is refused, so that this is never set.
    pub formula_parse_error: bool,
    /// `sample.output_json` is asked for, and the sample is no JSON.
    pub sample_parse_error: bool,
    /// A text is longer than what measures it takes.
    pub truncated_observation_error: bool,
    /// The formula came to no number, by a division by zero for example.
    pub unresponsive_reward_error: bool,
    /// A template asks for what `item` or `sample` does not have.
    pub invalid_variable_error: bool,
    /// Something else.
    pub other_error: bool,
    /// Never set: programs are refused.
    pub python_grader_server_error: bool,
    /// Always null.
    pub python_grader_server_error_type: Option<String>,
    /// Never set.
    pub python_grader_runtime_error: bool,
    /// Always null.
    pub python_grader_runtime_error_details: Option<String>,
    /// A model failed.
    pub model_grader_server_error: bool,
    /// Never set: the models here are held to their format and cannot refuse.
    pub model_grader_refusal_error: bool,
    /// A model's text was cut off before it was whole.
    pub model_grader_parse_error: bool,
    /// How a model failed.
    pub model_grader_server_error_details: Option<String>,
}

/// What a run says beyond its interface.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct GraderNotes {
    /// The errors in words, in the order of the graders.
    pub problems: Vec<GraderProblem>,
}

/// An error in words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct GraderProblem {
    /// The part of the request that it is about.
    pub param: String,
    /// What went wrong.
    pub message: String,
}

/// A grader that can be run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GraderValidateReply {
    /// The grader as it was given.
    #[schema(value_type = Object)]
    pub grader: Value,
}
