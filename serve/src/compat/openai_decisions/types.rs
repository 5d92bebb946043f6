//! OpenAI's Decisions, as `openai` 3.52.0 for Python has them.

use std::fmt;

use openapi::object;
use serde::de::Visitor;
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;

use crate::compat::shared::decisions::text::TextOrJson;
use crate::compat::shared::decisions::types::{AnswerNotes, DecisionNotes};
use crate::compat::shared::text_or_list::{self, TextOrList};

/// Most characters of a `prompt_cache_key`.
pub(crate) const MAX_PROMPT_CACHE_KEY_CHARS: usize = 64;
/// Most characters of a `safety_identifier`.
pub(crate) const MAX_SAFETY_IDENTIFIER_CHARS: usize = 128;
/// Most characters of a `call_id`.
pub(crate) const MAX_CALL_ID_CHARS: usize = 64;
/// Most characters of a tool's name.
pub(crate) const MAX_TOOL_NAME_CHARS: usize = 128;
/// Most levels of nesting in an `input_json` part.
pub(crate) const MAX_JSON_DEPTH: usize = 32;
/// Most values in an `input_json` part.
pub(crate) const MAX_JSON_VALUES: usize = 10_000;
/// Most bytes of an `input_json` part as compact JSON.
pub(crate) const MAX_JSON_BYTES: usize = 256 << 10;

/// Questions about an input.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
pub(crate) struct DecisionRequest {
    /// Name of a model or of an adapter.
    pub(crate) model: String,
    /// The input of all questions.
    pub(crate) input: DecisionInput,
    /// The questions; answers have the same order.
    #[schema(min_items = 1, max_items = 400)]
    pub(crate) questions: Vec<DecisionQuestion>,
    /// Cached prefixes are shared only among requests with the same key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 64)]
    pub(crate) prompt_cache_key: Option<String>,
    /// Accepted without effect: prefixes are always shared, token by token, while memory lasts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) prompt_cache_options: Option<PromptCacheOptions>,
    /// Accepted without effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 128)]
    pub(crate) safety_identifier: Option<String>,
}

/// The input of the questions: text, or conversation items in order.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum DecisionInput {
    /// Text.
    Text(String),
    /// Messages, tool calls and their outputs.
    Items(Vec<DecisionItem>),
}

/// A message, a tool call or its output.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(remote = "Self", deny_unknown_fields, default)]
pub(crate) struct DecisionItem {
    /// Item type; a message by default.
    #[serde(rename = "type")]
    pub(crate) kind: DecisionItemType,
    /// For a message: `user`, `developer`, `system` or `assistant`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) role: Option<String>,
    /// Content of a message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) content: Option<DecisionContent>,
    /// For an assistant message; accepted without effect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) phase: Option<String>,
    /// Id of a call, and of its output, which must follow it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 64)]
    pub(crate) call_id: Option<String>,
    /// Name of the called tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 128)]
    pub(crate) name: Option<String>,
    /// Arguments of a function call: JSON as text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) arguments: Option<String>,
    /// Input of a custom tool call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) input: Option<String>,
    /// Output of a call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) output: Option<DecisionContent>,
    /// Accepted without effect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) id: Option<String>,
    /// Prefix of a called tool's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) namespace: Option<String>,
    /// Accepted without effect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) status: Option<String>,
}

/// The type of an item.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum DecisionItemType {
    /// A turn of a conversation.
    #[default]
    Message,
    /// A call of a function.
    FunctionCall,
    /// The output of a function.
    FunctionCallOutput,
    /// A call of a tool with plain-text input.
    CustomToolCall,
    /// The output of such a tool.
    CustomToolCallOutput,
}

/// Text, or parts in order.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum DecisionContent {
    /// Text.
    Text(String),
    /// Parts of text and JSON.
    Parts(Vec<DecisionPart>),
}

/// A part of a content.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
pub(crate) struct DecisionPart {
    /// Part type.
    #[serde(rename = "type")]
    pub(crate) kind: DecisionPartType,
    /// Text of `input_text` and `output_text`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) text: Option<String>,
    /// Text of `refusal`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) refusal: Option<String>,
    /// Value of `input_json`: an object or a list of objects, shown to the model as compact JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) data: Option<TextOrJson>,
    /// URL of `input_image`, which is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) image_url: Option<String>,
    /// Detail of `input_image`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) detail: Option<String>,
    /// Accepted without effect: prefixes are shared token by token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) prompt_cache_breakpoint: Option<CacheBreakpoint>,
}

/// The type of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum DecisionPartType {
    /// Text.
    InputText,
    /// An image; refused, since the models are text-only.
    InputImage,
    /// JSON.
    InputJson,
    /// Text of the assistant.
    OutputText,
    /// A refusal by the assistant.
    Refusal,
}

/// The end of a prefix to cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CacheBreakpoint {
    /// Always `explicit`.
    pub(crate) mode: CacheBreakpointMode,
}

/// The mode of a breakpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CacheBreakpointMode {
    /// Set by the client.
    Explicit,
}

/// Options of prefix caching.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PromptCacheOptions {
    /// Origin of breakpoints.
    #[serde(default)]
    pub(crate) mode: Option<CacheMode>,
    /// Minimum lifetime.
    #[serde(default)]
    pub(crate) ttl: Option<CacheTtl>,
}

/// The origin of breakpoints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = PromptCacheMode)]
pub(crate) enum CacheMode {
    /// The server.
    Implicit,
    /// The client.
    Explicit,
}

/// A lifetime of cached prefixes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) enum CacheTtl {
    /// Half an hour.
    #[serde(rename = "30m")]
    HalfHour,
}

/// A question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
pub(crate) struct DecisionQuestion {
    /// Type of the answer.
    #[serde(rename = "type")]
    pub(crate) kind: DecisionQuestionType,
    /// Name, returned with the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<String>,
    /// The question.
    pub(crate) instructions: DecisionContent,
    /// For a `choice`: 2 to 255 distinct choices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_items = 2, max_items = 255)]
    pub(crate) choices: Option<Vec<ChoiceOption>>,
    /// For a `score`: 2 to 10 levels, lowest first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_items = 2, max_items = 10)]
    pub(crate) levels: Option<Vec<ScoreLevel>>,
}

/// The type of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum DecisionQuestionType {
    /// The probability that it holds.
    Predicate,
    /// One of the choices.
    Choice,
    /// A position on a scale.
    Score,
}

/// A choice.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
pub(crate) struct ChoiceOption {
    /// Value of the choice.
    pub(crate) value: ChoiceValue,
    /// Meaning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) description: Option<String>,
}

/// Text or a boolean; `"true"` and `true` are two choices.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum ChoiceValue {
    /// Text.
    Text(String),
    /// Boolean.
    Bool(bool),
}

/// A level of a scale.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
pub(crate) struct ScoreLevel {
    /// Name of the level.
    pub(crate) label: String,
    /// Meaning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) description: Option<String>,
}

object!(DecisionRequest);
object!(DecisionItem);
object!(DecisionPart);
object!(DecisionQuestion);
object!(ChoiceOption);
object!(ScoreLevel);

/// The answers to a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct Decision {
    /// The model that answered.
    pub(crate) model: String,
    /// One answer per question, in order.
    pub(crate) answers: Vec<DecisionAnswer>,
    /// Token usage.
    pub(crate) usage: DecisionUsage,
    /// Extension fields of this server.
    pub(crate) tribunal: DecisionNotes,
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum DecisionAnswer {
    /// The answer to a `predicate`.
    Predicate {
        /// Name of the question.
        name: Option<String>,
        /// The probability that it holds.
        probability: f64,
        /// Extension fields of this server.
        tribunal: AnswerNotes,
    },
    /// The answer to a `choice`.
    Choice {
        /// Name of the question.
        name: Option<String>,
        /// The most probable choice; the first on ties.
        choice: ChoiceValue,
        /// From 0 for a uniform distribution to 1.
        confidence: f64,
        /// Probabilities in the order of the choices.
        probabilities: Vec<ChoiceProbability>,
        /// Extension fields of this server.
        tribunal: AnswerNotes,
    },
    /// The answer to a `score`.
    Score {
        /// Name of the question.
        name: Option<String>,
        /// The expected level, from 0.
        score: f64,
        /// From 0 for a uniform distribution to 1.
        confidence: f64,
        /// Probabilities in the order of the levels.
        probabilities: Vec<ScoreProbability>,
        /// Extension fields of this server.
        tribunal: AnswerNotes,
    },
}

/// The probability of a choice.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct ChoiceProbability {
    /// The choice.
    pub(crate) value: ChoiceValue,
    /// Its probability.
    pub(crate) probability: f64,
}

/// The probability of a level.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct ScoreProbability {
    /// Index of the level, from 0.
    pub(crate) value: u32,
    /// Name of the level.
    pub(crate) label: String,
    /// Its probability.
    pub(crate) probability: f64,
}

/// Token usage of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct DecisionUsage {
    /// Tokens of all sequences read; what the questions share counts for each.
    pub(crate) input_tokens: u64,
    /// Breakdown of the input tokens.
    pub(crate) input_tokens_details: DecisionInputTokens,
    /// Always 0: no text is generated.
    pub(crate) output_tokens: u64,
    /// Breakdown of the output tokens.
    pub(crate) output_tokens_details: DecisionOutputTokens,
    /// Input and output together.
    pub(crate) total_tokens: u64,
}

/// Breakdown of input tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct DecisionInputTokens {
    /// Taken from the prefix cache.
    pub(crate) cached_tokens: u64,
    /// Computed and added to the prefix cache.
    pub(crate) cache_write_tokens: u64,
}

/// Breakdown of output tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct DecisionOutputTokens {
    /// Always 0: there is no reasoning.
    pub(crate) reasoning_tokens: u64,
}

impl<'de> Deserialize<'de> for DecisionInput {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let expected = "a text or a list of messages and calls";
        Ok(match text_or_list::read(deserializer, expected)? {
            TextOrList::Text(text) => Self::Text(text),
            TextOrList::List(items) => Self::Items(items),
        })
    }
}

impl<'de> Deserialize<'de> for DecisionContent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match text_or_list::read(deserializer, "a text or a list of parts")? {
            TextOrList::Text(text) => Self::Text(text),
            TextOrList::List(parts) => Self::Parts(parts),
        })
    }
}

impl<'de> Deserialize<'de> for ChoiceValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ChoiceVisitor)
    }
}

struct ChoiceVisitor;

impl Visitor<'_> for ChoiceVisitor {
    type Value = ChoiceValue;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text or a boolean")
    }

    fn visit_str<E>(self, text: &str) -> Result<ChoiceValue, E> {
        Ok(ChoiceValue::Text(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<ChoiceValue, E> {
        Ok(ChoiceValue::Text(text))
    }

    fn visit_bool<E>(self, value: bool) -> Result<ChoiceValue, E> {
        Ok(ChoiceValue::Bool(value))
    }
}
