//! `NeMo`-Gym: the routes of a resources server.
//!
//! A verify request is a row of a dataset with the rollout in it: beside the two fields that every
//! row has there are whatever fields the dataset defines, and the reply repeats them all.

use std::collections::BTreeMap;
use std::fmt;

use indexmap::IndexMap;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::map_only::object;
use crate::raw::RawObject;
use crate::{Message, ScoreResult};

/// The fields of a row in their order, each as it was written.
pub type RawRow = IndexMap<String, Box<RawValue>>;

// It is read by a visitor and not by `flatten`, which would make everything twice.
/// A rollout to verify.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct VerifyRequest {
    /// What the policy was asked, as a request of OpenAI's Responses API; `input` is read.
    #[schema(value_type = Object)]
    pub responses_create_params: RawObject,
    /// What it answered, as a response of the same interface; `output` is read.
    #[schema(value_type = Object)]
    pub response: RawObject,
    /// The fields of the dataset. The first of `expected_answer`, `reference`, `ground_truth`,
    /// `reference_answer`, `answer`, `label` and `solution` is the gold answer, here or in
    /// `verifier_metadata`.
    #[serde(flatten)]
    #[schema(value_type = Object)]
    pub row: RawRow,
}

impl<'de> Deserialize<'de> for VerifyRequest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(RowVisitor)
    }
}

struct RowVisitor;

impl<'de> Visitor<'de> for RowVisitor {
    type Value = VerifyRequest;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<VerifyRequest, A::Error> {
        let (mut asked, mut answered, mut row) = (None, None, RawRow::new());
        while let Some(name) = map.next_key::<String>()? {
            let read = match name.as_str() {
                ASKED => &mut asked,
                ANSWERED => &mut answered,
                _ => {
                    row.insert(name, map.next_value()?);
                    continue;
                }
            };
            if read.replace(map.next_value()?).is_some() {
                return Err(A::Error::custom(format_args!("duplicate field `{name}`")));
            }
        }
        Ok(VerifyRequest {
            responses_create_params: asked.ok_or_else(|| A::Error::missing_field(ASKED))?,
            response: answered.ok_or_else(|| A::Error::missing_field(ANSWERED))?,
            row,
        })
    }
}

const ASKED: &str = "responses_create_params";
const ANSWERED: &str = "response";

/// The row again, with its reward.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct VerifyReply {
    /// As it was asked.
    #[schema(value_type = Object)]
    pub responses_create_params: RawObject,
    /// As it was answered.
    #[schema(value_type = Object)]
    pub response: RawObject,
    /// The other fields of the request.
    #[serde(flatten)]
    #[schema(value_type = Object)]
    pub row: RawRow,
    /// The reward. 0 beside a `_ng_failure_class`, because the interface has no other way to say
    /// nothing: such a row is kept apart and never counted.
    pub reward: f64,
    /// The answer that was found in the response.
    pub extracted_answer: Option<String>,
    /// The verdict as this server's own interface has it.
    pub tribunal: ScoreResult,
    /// `judge_failed` where nothing was measured.
    #[serde(rename = "_ng_failure_class", skip_serializing_if = "Option::is_none")]
    pub failure_class: Option<String>,
    /// Why nothing was measured.
    #[serde(
        rename = "_ng_failure_judge_error",
        skip_serializing_if = "Option::is_none"
    )]
    pub judge_error: Option<String>,
    /// Whether another try would come to the same.
    #[serde(
        rename = "_ng_failure_terminal",
        skip_serializing_if = "Option::is_none"
    )]
    pub terminal: Option<bool>,
}

/// A session: there is nothing to seed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SessionSeed {}

/// Whether verdicts of stored rollouts mean the same as those of fresh ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReverifyMode {
    /// They do: a verdict depends on its request alone.
    Stateless,
}

/// Verify replies to make figures of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
pub struct AggregateRequest {
    /// Verify replies, each with `_ng_task_index` and `reward`.
    #[schema(value_type = Vec<Object>)]
    pub verify_responses: Vec<Map<String, Value>>,
}

object!(AggregateRequest);

/// Figures of verify replies.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AggregateReply {
    /// For each task, `mean/…`, `max/…`, `min/…`, `median/…` and `std/…` of every numeric field.
    #[schema(value_type = Vec<Object>)]
    pub group_level_metrics: Vec<Map<String, Value>>,
    /// The same over all rollouts.
    #[schema(value_type = Object)]
    pub agent_metrics: Map<String, Value>,
    /// The means of these.
    #[schema(value_type = Object)]
    pub key_metrics: Map<String, Value>,
}

/// Responses to compare.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
pub struct CompareRequest {
    /// What they answer.
    pub conversation_history: Vec<Message>,
    /// The responses, as OpenAI's Responses API has them; `output` is read.
    #[schema(value_type = Vec<Object>)]
    pub response_objs: Vec<RawObject>,
    /// A principle to compare by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub principle: Option<String>,
}

object!(CompareRequest);

/// The rewards of compared responses.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CompareReply {
    /// One for each response, in order.
    pub rewards: Vec<f64>,
    /// The pairs that were judged.
    pub comparison_results: Option<Vec<Comparison>>,
    /// Figures of the rewards.
    pub metrics: Option<BTreeMap<String, f64>>,
}

/// A pair that was judged.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Comparison {
    /// Index of the one response.
    pub response_i: usize,
    /// Index of the other.
    pub response_j: usize,
    /// The probability that the one is better.
    pub preference: f64,
}
