//! OpenAI's Decisions, as `openai` 3.52.0 for Python has them.

use std::fmt;
use std::marker::PhantomData;

use openapi::object;
use serde::de::value::SeqAccessDeserializer;
use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;

use crate::compat::decisions::text::TextOrJson;
use crate::compat::decisions::types::{AnswerNotes, DecisionNotes};

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
    /// What every question is about.
    pub(crate) input: DecisionInput,
    /// The questions; answers come back in this order.
    #[schema(min_items = 1, max_items = 400)]
    pub(crate) questions: Vec<DecisionQuestion>,
    /// Prefixes are shared only among requests of the same key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 64)]
    pub(crate) prompt_cache_key: Option<String>,
    /// Taken and without effect: prefixes are always shared, token by token, as long as there is
    /// memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) prompt_cache_options: Option<PromptCacheOptions>,
    /// Taken and without effect: nothing is reported to anybody.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 128)]
    pub(crate) safety_identifier: Option<String>,
}

/// What the questions are about: a text, or the items of a conversation in order.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum DecisionInput {
    /// A text.
    Text(String),
    /// Messages, calls and their outputs.
    Items(Vec<DecisionItem>),
}

/// A message, a call or its output.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(remote = "Self", deny_unknown_fields, default)]
pub(crate) struct DecisionItem {
    /// What it is; without it a message.
    #[serde(rename = "type")]
    pub(crate) kind: DecisionItemType,
    /// Of a message: `user`, `developer`, `system` or `assistant`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) role: Option<String>,
    /// Of a message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) content: Option<DecisionContent>,
    /// Of an assistant's message; taken and without effect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) phase: Option<String>,
    /// Of a call, and of its output, which must follow it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 64)]
    pub(crate) call_id: Option<String>,
    /// Of a call: the tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 128)]
    pub(crate) name: Option<String>,
    /// Of a function call: JSON, as text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) arguments: Option<String>,
    /// Of a custom tool's call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) input: Option<String>,
    /// Of an output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) output: Option<DecisionContent>,
    /// Taken and without effect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) id: Option<String>,
    /// Of a call: stands before the tool's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) namespace: Option<String>,
    /// Taken and without effect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) status: Option<String>,
}

/// What an item is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum DecisionItemType {
    /// A turn of a conversation.
    #[default]
    Message,
    /// A call of a function.
    FunctionCall,
    /// What a function gave.
    FunctionCallOutput,
    /// A call of a tool that takes plain text.
    CustomToolCall,
    /// What such a tool gave.
    CustomToolCallOutput,
}

/// A text, or parts in order.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum DecisionContent {
    /// A text.
    Text(String),
    /// Texts and JSON.
    Parts(Vec<DecisionPart>),
}

/// A part of a content.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
pub(crate) struct DecisionPart {
    /// What it is.
    #[serde(rename = "type")]
    pub(crate) kind: DecisionPartType,
    /// Of `input_text` and `output_text`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) text: Option<String>,
    /// Of `refusal`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) refusal: Option<String>,
    /// Of `input_json`: an object or a list of objects, shown to the model as compact JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) data: Option<TextOrJson>,
    /// Of `input_image`, which is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) image_url: Option<String>,
    /// Of `input_image`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) detail: Option<String>,
    /// Taken and without effect: prefixes are shared to the token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) prompt_cache_breakpoint: Option<CacheBreakpoint>,
}

/// What a part is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum DecisionPartType {
    /// A text.
    InputText,
    /// An image: refused, since models here read text alone.
    InputImage,
    /// JSON.
    InputJson,
    /// A text that the assistant wrote.
    OutputText,
    /// What the assistant said when it declined.
    Refusal,
}

/// The end of a prefix that is worth keeping.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CacheBreakpoint {
    /// Always `explicit`.
    pub(crate) mode: CacheBreakpointMode,
}

/// The only mode of a breakpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CacheBreakpointMode {
    /// Set by the client.
    Explicit,
}

/// How prefixes are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PromptCacheOptions {
    /// Who sets breakpoints.
    #[serde(default)]
    pub(crate) mode: Option<CacheMode>,
    /// How long at least.
    #[serde(default)]
    pub(crate) ttl: Option<CacheTtl>,
}

/// Who sets breakpoints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = PromptCacheMode)]
pub(crate) enum CacheMode {
    /// The server.
    Implicit,
    /// The client.
    Explicit,
}

/// The only time that there is.
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
    /// How it can be answered.
    #[serde(rename = "type")]
    pub(crate) kind: DecisionQuestionType,
    /// Echoed in the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<String>,
    /// What is asked.
    pub(crate) instructions: DecisionContent,
    /// Of a `choice`: 2 to 255, no two the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_items = 2, max_items = 255)]
    pub(crate) choices: Option<Vec<ChoiceOption>>,
    /// Of a `score`: 2 to 10, from the lowest to the highest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_items = 2, max_items = 10)]
    pub(crate) levels: Option<Vec<ScoreLevel>>,
}

/// How a question can be answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum DecisionQuestionType {
    /// By the probability that it holds.
    Predicate,
    /// By one of the choices.
    Choice,
    /// By a place on a scale.
    Score,
}

/// A choice.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
pub(crate) struct ChoiceOption {
    /// The choice itself.
    pub(crate) value: ChoiceValue,
    /// What it means.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) description: Option<String>,
}

/// A text or a boolean; `"true"` and `true` are two choices.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum ChoiceValue {
    /// A text.
    Text(String),
    /// A boolean.
    Bool(bool),
}

/// A level of a scale.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
pub(crate) struct ScoreLevel {
    /// What it is called.
    pub(crate) label: String,
    /// What it means.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) description: Option<String>,
}

object!(DecisionRequest);
object!(DecisionItem);
object!(DecisionPart);
object!(DecisionQuestion);
object!(ChoiceOption);
object!(ScoreLevel);

/// The answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct Decision {
    /// The model that answered.
    pub(crate) model: String,
    /// One for each question, in order.
    pub(crate) answers: Vec<DecisionAnswer>,
    /// Tokens of the request.
    pub(crate) usage: DecisionUsage,
    /// What this server adds.
    pub(crate) tribunal: DecisionNotes,
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum DecisionAnswer {
    /// To a `predicate`.
    Predicate {
        /// The question's.
        name: Option<String>,
        /// That it holds.
        probability: f64,
        /// What this server adds.
        tribunal: AnswerNotes,
    },
    /// To a `choice`.
    Choice {
        /// The question's.
        name: Option<String>,
        /// The likeliest; the first of several.
        choice: ChoiceValue,
        /// From 0 for a guess to 1.
        confidence: f64,
        /// In the order of the choices.
        probabilities: Vec<ChoiceProbability>,
        /// What this server adds.
        tribunal: AnswerNotes,
    },
    /// To a `score`.
    Score {
        /// The question's.
        name: Option<String>,
        /// The expected level, counted from 0.
        score: f64,
        /// From 0 for a guess to 1.
        confidence: f64,
        /// In the order of the levels.
        probabilities: Vec<ScoreProbability>,
        /// What this server adds.
        tribunal: AnswerNotes,
    },
}

/// How likely a choice is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct ChoiceProbability {
    /// The choice.
    pub(crate) value: ChoiceValue,
    /// Its probability.
    pub(crate) probability: f64,
}

/// How likely a level is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct ScoreProbability {
    /// The level's place, from 0.
    pub(crate) value: u32,
    /// What the level is called.
    pub(crate) label: String,
    /// Its probability.
    pub(crate) probability: f64,
}

/// Tokens of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct DecisionUsage {
    /// Of every sequence that was read: what the questions share counts for each.
    pub(crate) input_tokens: u64,
    /// What became of them.
    pub(crate) input_tokens_details: DecisionInputTokens,
    /// Always 0: nothing is written.
    pub(crate) output_tokens: u64,
    /// What they were for.
    pub(crate) output_tokens_details: DecisionOutputTokens,
    /// Input and output together.
    pub(crate) total_tokens: u64,
}

/// What became of the input's tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct DecisionInputTokens {
    /// Taken from the prefix cache.
    pub(crate) cached_tokens: u64,
    /// Computed, and kept for others.
    pub(crate) cache_write_tokens: u64,
}

/// What the output's tokens were for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct DecisionOutputTokens {
    /// Always 0: nothing is reasoned.
    pub(crate) reasoning_tokens: u64,
}

impl<'de> Deserialize<'de> for DecisionInput {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let visitor = TextOrList::new("a text or a list of messages and calls");
        Ok(match deserializer.deserialize_any(visitor)? {
            Either::Text(text) => Self::Text(text),
            Either::List(items) => Self::Items(items),
        })
    }
}

impl<'de> Deserialize<'de> for DecisionContent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let visitor = TextOrList::new("a text or a list of parts");
        Ok(match deserializer.deserialize_any(visitor)? {
            Either::Text(text) => Self::Text(text),
            Either::List(parts) => Self::Parts(parts),
        })
    }
}

enum Either<T> {
    Text(String),
    List(Vec<T>),
}

/// Reads a text or a list of `T`; says what was expected.
struct TextOrList<T> {
    expected: &'static str,
    items: PhantomData<T>,
}

impl<T> TextOrList<T> {
    fn new(expected: &'static str) -> Self {
        Self { expected, items: PhantomData }
    }
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for TextOrList<T> {
    type Value = Either<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expected)
    }

    fn visit_str<E>(self, text: &str) -> Result<Either<T>, E> {
        Ok(Either::Text(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Either<T>, E> {
        Ok(Either::Text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Either<T>, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(seq)).map(Either::List)
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
