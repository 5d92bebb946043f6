//! `SGLang`'s decisions.

use openapi::{object, whole};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::compat::decisions::text::{Named, TextOrJson};
use crate::compat::decisions::types::{AnswerNotes, DecisionNotes};

/// Questions about an input, in the shape of `SGLang`'s `/v1/decisions`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
pub(crate) struct SglangDecisionRequest {
    /// Name of a model or of an adapter. Without it the only model answers, if there is only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<String>,
    /// What every question is about.
    pub(crate) input: TextOrJson,
    /// The questions.
    #[schema(min_items = 1, max_items = 400)]
    pub(crate) questions: Vec<SglangQuestion>,
    /// Refused unless empty: models here read text alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<Object>, max_items = 0)]
    pub(crate) images: Vec<serde_json::Value>,
    /// Scales the options' log-probabilities, in the place of any calibration of the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(exclusive_minimum = 0.0)]
    pub(crate) temperature: Option<f64>,
    /// Switches of the chat template.
    #[serde(default, skip_serializing_if = "serde_json::Map::is_empty")]
    #[schema(value_type = Object)]
    pub(crate) chat_template_kwargs: serde_json::Map<String, serde_json::Value>,
    /// Pins the wording of the prompt.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "whole::read_positive"
    )]
    pub(crate) prompt_format_version: Option<u64>,
    /// Adds the tokens that were read to the answers.
    #[serde(default)]
    pub(crate) return_prompt_token_ids: bool,
}

/// A question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
pub(crate) struct SglangQuestion {
    /// The key of its answer.
    pub(crate) id: String,
    /// How it can be answered.
    #[serde(rename = "type")]
    pub(crate) kind: SglangQuestionType,
    /// What is asked.
    pub(crate) question: TextOrJson,
    /// Of a `choice`: 2 to 255.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_items = 2, max_items = 255)]
    pub(crate) options: Option<Vec<SglangOption>>,
    /// Of a `score`: 2 to 10, from the lowest to the highest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_items = 2, max_items = 10)]
    pub(crate) levels: Option<Vec<TextOrJson>>,
    /// Of a `yes_no`: what counts as yes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) yes: Option<TextOrJson>,
    /// Of a `yes_no`: what counts as no.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) no: Option<TextOrJson>,
}

/// How a question can be answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SglangQuestionType {
    /// By one of the options.
    Choice,
    /// By a place on a scale.
    Score,
    /// By the probability of yes.
    YesNo,
}

/// An option.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
pub(crate) struct SglangOption {
    /// What it is called.
    pub(crate) name: String,
    /// What it means.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) description: Option<TextOrJson>,
}

object!(SglangDecisionRequest);
object!(SglangQuestion);
object!(SglangOption);

/// The answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct SglangDecision {
    /// Always `decisions`.
    pub(crate) object: String,
    /// The model that answered.
    pub(crate) model: String,
    /// Version of the prompt's wording.
    pub(crate) prompt_format_version: u32,
    /// By the questions' ids, in their order.
    #[schema(value_type = std::collections::HashMap<String, SglangAnswer>)]
    pub(crate) answers: Named<SglangAnswer>,
    /// Tokens of the request.
    pub(crate) usage: SglangUsage,
    /// What this server adds.
    pub(crate) tribunal: DecisionNotes,
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct SglangAnswer {
    /// The question's.
    #[serde(rename = "type")]
    pub(crate) kind: SglangQuestionType,
    /// By option, by level from 0, or of `yes` and `no`.
    #[schema(value_type = std::collections::HashMap<String, f64>)]
    pub(crate) probabilities: Named<f64>,
    /// The probability that all labels hold together.
    pub(crate) label_mass: f64,
    /// The likeliest option.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) choice: Option<String>,
    /// The expected level.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) score: Option<f64>,
    /// The prompt, where it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) prompt_token_ids: Option<Vec<u32>>,
    /// The label of each alternative, where they were asked for and each is one token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) label_token_ids: Option<Vec<u32>>,
    /// What this server adds.
    pub(crate) tribunal: AnswerNotes,
}

/// Tokens of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct SglangUsage {
    /// Of every sequence that was read.
    pub(crate) prompt_tokens: u64,
    /// Always 0: nothing is written.
    pub(crate) completion_tokens: u64,
    /// Both together.
    pub(crate) total_tokens: u64,
    /// What became of the prompts' tokens.
    pub(crate) prompt_tokens_details: SglangCachedTokens,
}

/// What became of the prompts' tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct SglangCachedTokens {
    /// Taken from the prefix cache.
    pub(crate) cached_tokens: u64,
}
