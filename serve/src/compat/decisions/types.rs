//! Typed questions about an input, in three shapes: OpenAI's Decisions, `SGLang`'s, and System One.
//!
//! `POST /v1/decisions` takes all three and `POST /v1/systemone` the last. Objects that differ by
//! their `type` are one struct each with every field that any of the types has: serde's tagged
//! enums forget where in the body they were. Which fields belong to which type is the server's to
//! check.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Most questions of a request.
pub(crate) const MAX_QUESTIONS: usize = 400;
/// Most choices of a question.
pub(crate) const MAX_CHOICES: usize = 255;
/// Most levels of a question.
pub(crate) const MAX_LEVELS: usize = 10;

/// What this server says of an answer beyond the standard fields.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct AnswerNotes {
    /// The probability that all labels hold together at the answer position, before calibration.
    /// Far below 1 the model wants to say something else, and the answer means little.
    pub(crate) label_mass: f64,
    /// Of each label in order (for a predicate Yes, then No): its logit, or under `continuations`
    /// its log-probability.
    pub(crate) logits: Vec<f64>,
    /// How the labels were read.
    pub(crate) method: LabelMethod,
    /// The calibration that was applied to the probabilities.
    pub(crate) calibration: Option<String>,
}

/// How labels were read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum LabelMethod {
    /// Each label is one token at the answer position.
    Labels,
    /// Each label is several tokens, scored with the end of the turn.
    Continuations,
}

/// What this server says of a reply beyond the standard fields.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct DecisionNotes {
    /// Tokens that were run through the model for this request; what the questions share counts
    /// once.
    pub(crate) computed_tokens: u64,
    /// What answered.
    pub(crate) digests: DecisionDigests,
}

/// SHA-256 digests, `sha256:` and 64 hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct DecisionDigests {
    /// Of the model's weights and configuration.
    pub(crate) model: String,
    /// Of the adapter.
    pub(crate) adapter: Option<String>,
    /// Of the wording around input and question, and of the model's chat template.
    pub(crate) prompt_template: String,
    /// Oldest and newest revision of the weights that any of it was computed under; only of a model
    /// that is trained while it is served, whose digest begins with `live:`. The two differ where
    /// the weights changed meanwhile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) revisions: Option<[u64; 2]>,
}
