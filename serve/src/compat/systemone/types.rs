//! System One: bodies and replies.

use std::fmt;

use openapi::object;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;

use crate::compat::shared::decisions::text::{Named, TextOrJson};
use crate::compat::shared::decisions::types::{AnswerNotes, DecisionNotes};

/// Questions about a state, in System One's shape.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
pub(crate) struct SystemOneRequest {
    /// The input of all questions.
    pub(crate) state: TextOrJson,
    /// Name of a model or of an adapter.
    pub(crate) model: String,
    /// The questions by name; at most 400.
    #[schema(value_type = std::collections::HashMap<String, SystemOneQuestion>)]
    pub(crate) questions: Named<SystemOneQuestion>,
    /// Must be empty: the models are text-only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<Object>, max_items = 0)]
    pub(crate) images: Vec<serde_json::Value>,
    /// Variables of the chat template.
    #[serde(default, skip_serializing_if = "serde_json::Map::is_empty")]
    #[schema(value_type = Object)]
    pub(crate) chat_template_kwargs: serde_json::Map<String, serde_json::Value>,
}

/// A question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
pub(crate) struct SystemOneQuestion {
    /// Type of the answer.
    #[serde(rename = "type")]
    pub(crate) kind: SystemOneQuestionType,
    /// The question.
    pub(crate) instructions: TextOrJson,
    /// For a `choice`, 2 to 255 options with their meanings or null. For a `score`, 2 to 10 levels,
    /// lowest first. For a `noul`, the meanings of `true` and `false`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) criteria: Option<SystemOneCriteria>,
}

/// The type of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SystemOneQuestionType {
    /// The probability of yes.
    Noul,
    /// One of the options.
    Choice,
    /// A position on a scale.
    Score,
}

/// Options with their meanings, or ordered levels.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum SystemOneCriteria {
    /// Options by name.
    #[schema(value_type = Object)]
    ByName(Named<Option<TextOrJson>>),
    /// Levels in order.
    Levels(Vec<TextOrJson>),
}

object!(SystemOneRequest);
object!(SystemOneQuestion);

/// The answers to a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct SystemOneReply {
    /// The model that answered.
    pub(crate) model: String,
    /// Answers by question name, in the order of the questions.
    #[schema(value_type = std::collections::HashMap<String, SystemOneAnswer>)]
    pub(crate) answers: Named<SystemOneAnswer>,
    /// Token usage.
    pub(crate) usage: SystemOneUsage,
    /// Extension fields of this server.
    pub(crate) tribunal: DecisionNotes,
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum SystemOneAnswer {
    /// The answer to a `noul`.
    Noul(SystemOneNoul),
    /// The answer to a `choice`.
    Choice(SystemOneChoice),
    /// The answer to a `score`.
    Score(SystemOneScore),
}

/// The answer to a `noul`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct SystemOneNoul {
    /// The probability of yes.
    pub(crate) noul: f64,
    /// Extension fields of this server.
    pub(crate) tribunal: AnswerNotes,
}

/// The answer to a `choice`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct SystemOneChoice {
    /// The most probable option; the first on ties.
    pub(crate) choice: String,
    /// From 0 for a uniform distribution to 1.
    pub(crate) confidence: f64,
    /// Probabilities by option.
    #[schema(value_type = std::collections::HashMap<String, f64>)]
    pub(crate) probabilities: Named<f64>,
    /// Extension fields of this server.
    pub(crate) tribunal: AnswerNotes,
}

/// The answer to a `score`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct SystemOneScore {
    /// The expected level, from 0.
    pub(crate) score: f64,
    /// From 0 for a uniform distribution to 1.
    pub(crate) confidence: f64,
    /// The meaning of each level.
    #[schema(value_type = std::collections::HashMap<String, TextOrJson>)]
    pub(crate) legend: Named<TextOrJson>,
    /// Probabilities by level.
    #[schema(value_type = std::collections::HashMap<String, f64>)]
    pub(crate) probabilities: Named<f64>,
    /// Extension fields of this server.
    pub(crate) tribunal: AnswerNotes,
}

/// Token usage of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct SystemOneUsage {
    /// Tokens of all sequences read.
    pub(crate) input_tokens: u64,
    /// Always 0: no text is generated.
    pub(crate) output_tokens: u64,
}

impl<'de> Deserialize<'de> for SystemOneCriteria {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(CriteriaVisitor)
    }
}

struct CriteriaVisitor;

impl<'de> Visitor<'de> for CriteriaVisitor {
    type Value = SystemOneCriteria;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of options or a list of levels")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<SystemOneCriteria, A::Error> {
        Named::deserialize(MapAccessDeserializer::new(map)).map(SystemOneCriteria::ByName)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<SystemOneCriteria, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(seq)).map(SystemOneCriteria::Levels)
    }
}
