//! `NeMo`-Gym: the routes of a resources server.
//!
//! A verify request is a row of a dataset with the rollout in it: beside the two fields that every
//! row has there are whatever fields the dataset defines, and the reply repeats them all.

use std::collections::BTreeMap;
use std::fmt;

use indexmap::IndexMap;
use openapi::{Message, ScoreResult, object, read_object};
use serde::de::{Error, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::rollout_types::{RolloutParams, RolloutResponse};
use crate::compat::gold_label::Label;

/// The fields of a row in their order, each as it was written.
pub(crate) type RawRow = IndexMap<String, Box<RawValue>>;

// It is read by a visitor, which passes over what nobody reads: a rollout carries ids and
// log-probabilities of all its tokens.
/// A rollout to verify. Beside these it has the fields of its dataset, which the reply repeats.
#[derive(Debug, ToSchema)]
pub(crate) struct VerifyRequest {
    /// What the policy was asked, as a request of OpenAI's Responses API; `input` is read.
    #[schema(value_type = Object)]
    pub(crate) responses_create_params: RolloutParams,
    /// What it answered, as a response of the same interface; `output` is read.
    #[schema(value_type = Object)]
    pub(crate) response: RolloutResponse,
    /// The gold answer: the first of `expected_answer`, `reference`, `ground_truth`,
    /// `reference_answer`, `answer`, `label` and `solution` that is not null, here or in
    /// `verifier_metadata`.
    #[schema(rename = "expected_answer", value_type = Option<Label>)]
    pub(crate) gold: Map<String, Value>,
    /// More of the dataset's fields.
    #[schema(value_type = Option<Object>)]
    pub(crate) verifier_metadata: Option<Value>,
    /// Whether it has fields of [`VerifyReply`], because it is verified again.
    #[schema(ignore)]
    pub(crate) is_verified: bool,
}

impl VerifyRequest {
    /// What datasets call the gold answer, in the order in which it is looked for.
    pub(crate) const REFERENCES: [&str; 7] = [
        "expected_answer",
        "reference",
        "ground_truth",
        "reference_answer",
        "answer",
        "label",
        "solution",
    ];
}

impl VerifyReply {
    /// The fields that a row has once it is verified.
    pub(crate) const FIELDS: [&str; 6] = [
        "reward",
        "extracted_answer",
        "tribunal",
        "_ng_failure_class",
        "_ng_failure_judge_error",
        "_ng_failure_terminal",
    ];
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
        let (mut asked, mut answered) = (None, None);
        let (mut gold, mut metadata, mut is_verified) = (Map::new(), None, false);
        let twice = |name: &str| A::Error::custom(format_args!("duplicate field `{name}`"));
        while let Some(name) = map.next_key::<String>()? {
            match name.as_str() {
                ASKED if asked.is_some() => return Err(twice(ASKED)),
                ASKED => asked = Some(map.next_value()?),
                ANSWERED if answered.is_some() => return Err(twice(ANSWERED)),
                ANSWERED => answered = Some(map.next_value()?),
                "verifier_metadata" => metadata = Some(map.next_value()?),
                known if VerifyRequest::REFERENCES.contains(&known) => {
                    gold.insert(name, map.next_value()?);
                }
                other => {
                    is_verified |= VerifyReply::FIELDS.contains(&other);
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(VerifyRequest {
            responses_create_params: asked.ok_or_else(|| A::Error::missing_field(ASKED))?,
            response: answered.ok_or_else(|| A::Error::missing_field(ANSWERED))?,
            gold,
            verifier_metadata: metadata,
            is_verified,
        })
    }
}

const ASKED: &str = "responses_create_params";
const ANSWERED: &str = "response";

/// The row again, with its reward.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub(crate) struct VerifyReply {
    /// The fields of the request, as they were written.
    #[serde(flatten)]
    #[schema(value_type = Object)]
    pub(crate) row: Map<String, Value>,
    /// The reward. 0 beside a `_ng_failure_class`, because the interface has no other way to say
    /// nothing: such a row is kept apart and never counted.
    pub(crate) reward: f64,
    /// The answer that was found in the response.
    pub(crate) extracted_answer: Option<String>,
    /// The verdict as this server's own interface has it.
    pub(crate) tribunal: ScoreResult,
    /// `judge_failed` where nothing was measured.
    #[serde(rename = "_ng_failure_class", skip_serializing_if = "Option::is_none")]
    pub(crate) failure_class: Option<String>,
    /// Why nothing was measured.
    #[serde(rename = "_ng_failure_judge_error", skip_serializing_if = "Option::is_none")]
    pub(crate) judge_error: Option<String>,
    /// Whether another try would come to the same.
    #[serde(rename = "_ng_failure_terminal", skip_serializing_if = "Option::is_none")]
    pub(crate) terminal: Option<bool>,
}

/// A session: there is nothing to seed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct SessionSeed {}

/// Whether verdicts of stored rollouts mean the same as those of fresh ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ReverifyMode {
    /// They do: a verdict depends on its request alone.
    Stateless,
}

/// Verify replies to make figures of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
pub(crate) struct AggregateRequest {
    /// Verify replies, each with `_ng_task_index` and `reward`.
    #[schema(value_type = Vec<Object>)]
    pub(crate) verify_responses: Vec<Map<String, Value>>,
}

object!(AggregateRequest);

/// Figures of verify replies.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[expect(clippy::struct_field_names, reason = "the interface has these names")]
pub(crate) struct AggregateReply {
    /// For each task, `mean/…`, `max/…`, `min/…`, `median/…` and `std/…` of every numeric field.
    #[schema(value_type = Vec<Object>)]
    pub(crate) group_level_metrics: Vec<Map<String, Value>>,
    /// The same over all rollouts.
    #[schema(value_type = Object)]
    pub(crate) agent_metrics: Map<String, Value>,
    /// The means of these.
    #[schema(value_type = Object)]
    pub(crate) key_metrics: Map<String, Value>,
}

/// Responses to compare.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
pub(crate) struct CompareRequest {
    /// What they answer.
    pub(crate) conversation_history: Vec<Message>,
    /// The responses, as OpenAI's Responses API has them; `output` is read.
    #[schema(value_type = Vec<Object>)]
    pub(crate) response_objs: Vec<RolloutResponse>,
    /// A principle to compare by.
    #[serde(default)]
    pub(crate) principle: Option<String>,
}

read_object!(CompareRequest);

/// The rewards of compared responses.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct CompareReply {
    /// One for each response, in order.
    pub(crate) rewards: Vec<f64>,
    /// The pairs that were judged.
    pub(crate) comparison_results: Option<Vec<Comparison>>,
    /// Figures of the rewards.
    pub(crate) metrics: Option<BTreeMap<String, f64>>,
}

/// A pair that was judged.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct Comparison {
    /// Index of the one response.
    pub(crate) response_i: usize,
    /// Index of the other.
    pub(crate) response_j: usize,
    /// The probability that the one is better.
    pub(crate) preference: f64,
}
