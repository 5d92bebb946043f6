//! System One.

use std::fmt;

use openapi::object;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;

use crate::compat::decisions::text::{Named, TextOrJson};
use crate::compat::decisions::types::{AnswerNotes, DecisionNotes};

/// Questions about a state, in the shape of System One.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
pub(crate) struct SystemOneRequest {
    /// What every question is about.
    pub(crate) state: TextOrJson,
    /// Name of a model or of an adapter.
    pub(crate) model: String,
    /// The questions by name; at most 400.
    #[schema(value_type = std::collections::HashMap<String, SystemOneQuestion>)]
    pub(crate) questions: Named<SystemOneQuestion>,
    /// Refused unless empty: models here read text alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<Object>, max_items = 0)]
    pub(crate) images: Vec<serde_json::Value>,
    /// Switches of the chat template.
    #[serde(default, skip_serializing_if = "serde_json::Map::is_empty")]
    #[schema(value_type = Object)]
    pub(crate) chat_template_kwargs: serde_json::Map<String, serde_json::Value>,
}

/// A question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
pub(crate) struct SystemOneQuestion {
    /// How it can be answered.
    #[serde(rename = "type")]
    pub(crate) kind: SystemOneQuestionType,
    /// What is asked.
    pub(crate) instructions: TextOrJson,
    /// Of a `choice`: 2 to 255 options with their meanings or null. Of a `score`: 2 to 10 levels,
    /// from the lowest to the highest. Of a `noul`: what counts as `true` and as `false`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) criteria: Option<SystemOneCriteria>,
}

/// How a question can be answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SystemOneQuestionType {
    /// By the probability of yes.
    Noul,
    /// By one of the options.
    Choice,
    /// By a place on a scale.
    Score,
}

/// Options with their meanings, or levels in order.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum SystemOneCriteria {
    /// By name.
    #[schema(value_type = Object)]
    ByName(Named<Option<TextOrJson>>),
    /// In order.
    Levels(Vec<TextOrJson>),
}

object!(SystemOneRequest);
object!(SystemOneQuestion);

/// The answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct SystemOneReply {
    /// The model that answered.
    pub(crate) model: String,
    /// By the questions' names, in their order.
    #[schema(value_type = std::collections::HashMap<String, SystemOneAnswer>)]
    pub(crate) answers: Named<SystemOneAnswer>,
    /// Tokens of the request.
    pub(crate) usage: SystemOneUsage,
    /// What this server adds.
    pub(crate) tribunal: DecisionNotes,
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum SystemOneAnswer {
    /// To a `noul`.
    Noul {
        /// The probability of yes.
        noul: f64,
        /// What this server adds.
        tribunal: AnswerNotes,
    },
    /// To a `choice`.
    Choice {
        /// The likeliest; the first of several.
        choice: String,
        /// From 0 for a guess to 1.
        confidence: f64,
        /// By option.
        #[schema(value_type = std::collections::HashMap<String, f64>)]
        probabilities: Named<f64>,
        /// What this server adds.
        tribunal: AnswerNotes,
    },
    /// To a `score`.
    Score {
        /// The expected level, counted from 0.
        score: f64,
        /// From 0 for a guess to 1.
        confidence: f64,
        /// What each level means.
        #[schema(value_type = std::collections::HashMap<String, TextOrJson>)]
        legend: Named<TextOrJson>,
        /// By level.
        #[schema(value_type = std::collections::HashMap<String, f64>)]
        probabilities: Named<f64>,
        /// What this server adds.
        tribunal: AnswerNotes,
    },
}

/// Tokens of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct SystemOneUsage {
    /// Of every sequence that was read.
    pub(crate) input_tokens: u64,
    /// Always 0: nothing is written.
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
