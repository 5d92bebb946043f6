//! `SGLang`'s decisions: bodies and replies.

use openapi::{integer, object};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::compat::shared::decisions::text::{Named, TextOrJson};
use crate::compat::shared::decisions::types::{AnswerNotes, DecisionNotes};

/// Questions about an input, in the shape of `SGLang`'s `/v1/decisions`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
pub(crate) struct SglangDecisionRequest {
    /// Name of a model or of an adapter; without it the only model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<String>,
    /// The input of all questions.
    pub(crate) input: TextOrJson,
    /// The questions.
    #[schema(min_items = 1, max_items = 400)]
    pub(crate) questions: Vec<SglangQuestion>,
    /// Must be empty: the models are text-only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<Object>, max_items = 0)]
    pub(crate) images: Vec<serde_json::Value>,
    /// Temperature of the options' log-probabilities, instead of the model's calibration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(exclusive_minimum = 0.0)]
    pub(crate) temperature: Option<f64>,
    /// Variables of the chat template.
    #[serde(default, skip_serializing_if = "serde_json::Map::is_empty")]
    #[schema(value_type = Object)]
    pub(crate) chat_template_kwargs: serde_json::Map<String, serde_json::Value>,
    /// Pins the version of the prompt's wording.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "integer::read_positive"
    )]
    pub(crate) prompt_format_version: Option<u64>,
    /// Adds the prompt's token ids to the answers.
    #[serde(default)]
    pub(crate) return_prompt_token_ids: bool,
}

/// A question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
pub(crate) struct SglangQuestion {
    /// Key of the answer.
    pub(crate) id: String,
    /// Type of the answer.
    #[serde(rename = "type")]
    pub(crate) kind: SglangQuestionType,
    /// The question.
    pub(crate) question: TextOrJson,
    /// For a `choice`: 2 to 255 options.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_items = 2, max_items = 255)]
    pub(crate) options: Option<Vec<SglangOption>>,
    /// For a `score`: 2 to 10 levels, lowest first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_items = 2, max_items = 10)]
    pub(crate) levels: Option<Vec<TextOrJson>>,
    /// For a `yes_no`: the meaning of yes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) yes: Option<TextOrJson>,
    /// For a `yes_no`: the meaning of no.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) no: Option<TextOrJson>,
}

/// The type of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SglangQuestionType {
    /// One of the options.
    Choice,
    /// A position on a scale.
    Score,
    /// The probability of yes.
    YesNo,
}

/// An option.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
pub(crate) struct SglangOption {
    /// Name of the option.
    pub(crate) name: String,
    /// Meaning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) description: Option<TextOrJson>,
}

object!(SglangDecisionRequest);
object!(SglangQuestion);
object!(SglangOption);

/// The answers to a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct SglangDecision {
    /// Always `decisions`.
    pub(crate) object: String,
    /// The model that answered.
    pub(crate) model: String,
    /// Version of the prompt's wording.
    pub(crate) prompt_format_version: u32,
    /// Answers by question id, in the order of the questions.
    #[schema(value_type = std::collections::HashMap<String, SglangAnswer>)]
    pub(crate) answers: Named<SglangAnswer>,
    /// Token usage.
    pub(crate) usage: SglangUsage,
    /// Extension fields of this server.
    pub(crate) tribunal: DecisionNotes,
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct SglangAnswer {
    /// Type of the question.
    #[serde(rename = "type")]
    pub(crate) kind: SglangQuestionType,
    /// Probabilities by option, by level from 0, or of `yes` and `no`.
    #[schema(value_type = std::collections::HashMap<String, f64>)]
    pub(crate) probabilities: Named<f64>,
    /// The probability that all labels have together.
    pub(crate) label_mass: f64,
    /// The most probable option.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) choice: Option<String>,
    /// The expected level.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) score: Option<f64>,
    /// Token ids of the prompt, if requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) prompt_token_ids: Option<Vec<u32>>,
    /// Token of each option's label, if requested and each is one token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) label_token_ids: Option<Vec<u32>>,
    /// Extension fields of this server.
    pub(crate) tribunal: AnswerNotes,
}

/// Token usage of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct SglangUsage {
    /// Tokens of all sequences read.
    pub(crate) prompt_tokens: u64,
    /// Always 0: no text is generated.
    pub(crate) completion_tokens: u64,
    /// The sum of both.
    pub(crate) total_tokens: u64,
    /// Breakdown of the prompt tokens.
    pub(crate) prompt_tokens_details: SglangCachedTokens,
}

/// Breakdown of prompt tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct SglangCachedTokens {
    /// Taken from the prefix cache.
    pub(crate) cached_tokens: u64,
}
