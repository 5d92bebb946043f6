//! Wire types: the JSON that clients send and receive, and nothing else.
//!
//! Only this crate is serialised to clients, and it knows neither scorers nor HTTP statuses. Field
//! names are binding: a change here is a change of the public interface, and the committed
//! `openapi.json` shows it.

mod body;
mod content;
mod decisions;
mod error;
mod map_only;
mod meta;
mod request;
mod result;
mod whole;

pub use body::{BodyError, parse_body};
pub use content::{Content, Message, Reference};
pub use decisions::{
    AnswerNotes, CacheBreakpoint, CacheBreakpointMode, CacheTtl, ChoiceOption, ChoiceProbability,
    ChoiceValue, Decision, DecisionAnswer, DecisionBody, DecisionContent, DecisionDigests,
    DecisionInput, DecisionInputTokens, DecisionItem, DecisionItemType, DecisionNotes,
    DecisionOutputTokens, DecisionPart, DecisionPartType, DecisionQuestion, DecisionQuestionType,
    DecisionRequest, DecisionUsage, LabelMethod, MAX_CALL_ID_CHARS, MAX_CHOICES, MAX_JSON_BYTES,
    MAX_JSON_DEPTH, MAX_JSON_VALUES, MAX_LEVELS, MAX_PROMPT_CACHE_KEY_CHARS, MAX_QUESTIONS,
    MAX_SAFETY_IDENTIFIER_CHARS, MAX_TOOL_NAME_CHARS, Named, PromptCacheMode, PromptCacheOptions,
    ScoreLevel, ScoreProbability, SglangAnswer, SglangCachedTokens, SglangDecision,
    SglangDecisionRequest, SglangOption, SglangQuestion, SglangQuestionType, SglangUsage,
    SystemOneAnswer, SystemOneCriteria, SystemOneQuestion, SystemOneQuestionType, SystemOneReply,
    SystemOneRequest, SystemOneUsage, TextOrJson, parse_decision,
};
pub use error::{ErrorBody, ErrorDetail};
pub use meta::{Health, ModelInfo, ModelLimits, ModelList, Readiness};
pub use request::{CacheMode, MAX_INPUTS, Options, Priority, ScoreInput, ScoreRequest};
pub use result::{
    Candidate, CandidateScore, CheckedEquality, Digests, Part, Reason, ScoreResponse, ScoreResult,
    Status, StepScore, Timing, Usage,
};
