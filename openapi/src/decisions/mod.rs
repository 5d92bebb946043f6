//! Typed questions about an input, in three shapes: OpenAI's Decisions, `SGLang`'s, and System One.
//!
//! `POST /v1/decisions` takes all three and `POST /v1/systemone` the last. Objects that differ by
//! their `type` are one struct each with every field that any of the types has: serde's tagged
//! enums forget where in the body they were. Which fields belong to which type is the server's to
//! check.

mod openai;
mod sglang;
mod shape;
mod systemone;
mod text;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

pub use openai::{
    CacheBreakpoint, CacheBreakpointMode, CacheMode as PromptCacheMode, CacheTtl, ChoiceOption,
    ChoiceProbability, ChoiceValue, Decision, DecisionAnswer, DecisionContent, DecisionInput,
    DecisionInputTokens, DecisionItem, DecisionItemType, DecisionOutputTokens, DecisionPart,
    DecisionPartType, DecisionQuestion, DecisionQuestionType, DecisionRequest, DecisionUsage,
    MAX_CALL_ID_CHARS, MAX_CHOICES, MAX_JSON_BYTES, MAX_JSON_DEPTH, MAX_JSON_VALUES, MAX_LEVELS,
    MAX_PROMPT_CACHE_KEY_CHARS, MAX_QUESTIONS, MAX_SAFETY_IDENTIFIER_CHARS, MAX_TOOL_NAME_CHARS,
    PromptCacheOptions, ScoreLevel, ScoreProbability,
};
pub use sglang::{
    SglangAnswer, SglangCachedTokens, SglangDecision, SglangDecisionRequest, SglangOption,
    SglangQuestion, SglangQuestionType, SglangUsage,
};
pub use shape::{DecisionBody, parse_decision};
pub use systemone::{
    SystemOneAnswer, SystemOneCriteria, SystemOneQuestion, SystemOneQuestionType, SystemOneReply,
    SystemOneRequest, SystemOneUsage,
};
pub use text::{Named, TextOrJson};

/// What this server says of an answer beyond the standard fields.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AnswerNotes {
    /// The probability that all labels hold together at the answer position, before calibration.
    /// Far below 1 the model wants to say something else, and the answer means little.
    pub label_mass: f64,
    /// Of each label in order (for a predicate Yes, then No): its logit, or under `continuations`
    /// its log-probability.
    pub logits: Vec<f64>,
    /// How the labels were read.
    pub method: LabelMethod,
    /// The calibration that was applied to the probabilities.
    pub calibration: Option<String>,
}

/// How labels were read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum LabelMethod {
    /// Each label is one token at the answer position.
    Labels,
    /// Each label is several tokens, scored with the end of the turn.
    Continuations,
}

/// What this server says of a reply beyond the standard fields.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DecisionNotes {
    /// Tokens that were run through the model for this request; what the questions share counts
    /// once.
    pub computed_tokens: u64,
    /// What answered.
    pub digests: DecisionDigests,
}

/// SHA-256 digests, `sha256:` and 64 hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DecisionDigests {
    /// Of the model's weights and configuration.
    pub model: String,
    /// Of the adapter.
    pub adapter: Option<String>,
    /// Of the wording around input and question, and of the model's chat template.
    pub prompt_template: String,
    /// Oldest and newest revision of the weights that any of it was computed under; only of a model
    /// that is trained while it is served, whose digest begins with `live:`. The two differ where
    /// the weights changed meanwhile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revisions: Option<[u64; 2]>,
}
