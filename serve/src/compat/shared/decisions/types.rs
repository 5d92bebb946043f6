//! Shared types of decisions in three shapes: OpenAI's Decisions, `SGLang`'s, and System One.
//!
//! `POST /v1/decisions` accepts all three and `POST /v1/systemone` the last. Objects that differ by
//! their `type` are one struct with every field of any type: serde's tagged enums lose the JSON
//! path of errors. The server checks which fields belong to which type.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Most questions of a request.
pub(crate) const MAX_QUESTIONS: usize = 400;
/// Most choices of a question.
pub(crate) const MAX_CHOICES: usize = 255;
/// Most levels of a question.
pub(crate) const MAX_LEVELS: usize = 10;

/// Extension fields of an answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct AnswerNotes {
    /// The probability that all labels have together at the answer position, before calibration.
    /// Far below 1, the model would rather write something else, and the answer means little.
    pub(crate) label_mass: f64,
    /// Per label in order (for a predicate Yes, then No): its logit, or under `continuations` its
    /// log-probability.
    pub(crate) logits: Vec<f64>,
    /// How the labels were read.
    pub(crate) method: LabelMethod,
    /// The calibration that was applied to the probabilities.
    pub(crate) calibration: Option<String>,
}

/// The method of reading labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum LabelMethod {
    /// Each label is one token at the answer position.
    Labels,
    /// Each label is several tokens, scored together with the end of the turn.
    Continuations,
}

/// Extension fields of a reply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct DecisionNotes {
    /// Tokens computed for this request; what the questions share counts once.
    pub(crate) computed_tokens: u64,
    /// Digests of the model and the prompt.
    pub(crate) digests: DecisionDigests,
}

/// SHA-256 digests: `sha256:` and 64 hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct DecisionDigests {
    /// The model's weights and configuration.
    pub(crate) model: String,
    /// The adapter.
    pub(crate) adapter: Option<String>,
    /// The wording around input and question, and the model's chat template.
    pub(crate) prompt_template: String,
    /// Oldest and newest weights revision used for the reply; only of a model that is trained while
    /// it is served, whose digest begins with `live:`. They differ if the weights changed
    /// meanwhile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) revisions: Option<[u64; 2]>,
}
