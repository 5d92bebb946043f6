//! Wire types: the JSON that clients send and receive, and nothing else.
//!
//! Only this crate is serialised to clients, and it knows neither scorers nor HTTP statuses. Field
//! names are binding: a change here is a change of the public interface, and the committed
//! `openapi.json` shows it.

mod body;
mod chat;
mod chat_reply;
mod chat_tools;
mod completions;
mod content;
mod decisions;
mod error;
mod generation;
mod map_only;
mod meta;
mod request;
mod result;
#[cfg(test)]
mod tests;
mod unused;
mod whole;
mod wires;

pub use body::{BodyError, parse_body, without_position};
pub use chat::{ChatContent, ChatMessage, ChatRequest, ContentPart, PartKind, Role};
pub use chat_reply::{
    ChatChoice, ChatChunk, ChatLogprobs, ChatResponse, ChunkChoice, Delta, DeltaToolCall,
    ReplyMessage, TokenLogprob, TopLogprob,
};
pub use chat_tools::{
    FunctionCall, FunctionDefinition, FunctionName, NamedToolChoice, Tool, ToolCall, ToolChoice,
    ToolKind,
};
pub use completions::{
    CompletionChoice, CompletionLogprobs, CompletionRequest, CompletionResponse, MAX_PROMPTS,
    Prompt, PromptLogprob,
};
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
pub use generation::{
    Generation, GenerationDigests, GenerationExtension, GenerationUsage, MAX_CONTINUATIONS,
    MAX_STOP_CHARS, MAX_STOPS, MAX_TOP_LOGPROBS, PromptTokensDetails, ResponseFormat, ResponseKind,
    SchemaFormat, StreamOptions, StructuredOutputs, Texts, Urgency, biases,
};
pub use meta::{Health, ModelDigests, ModelInfo, ModelLimits, ModelList, Readiness};
pub use request::{CacheMode, MAX_INPUTS, Options, Priority, ScoreInput, ScoreRequest};
pub use result::{
    Candidate, CandidateScore, CheckedEquality, Digests, ModelText, Part, Reason, ScoreResponse,
    ScoreResult, SpanNote, Status, StepScore, Timing, Usage,
};
pub use wires::{
    AggregateReply, AggregateRequest, BatchCounts, BatchErrors, BatchFault, BatchList, BatchObject,
    BatchRequest, BatchStatus, Classified, ClassifyBody, ClassifyBodyReply, ClassifyFailure,
    ClassifyReply, CompareReply, CompareRequest, Comparison, DetailError, Details, DetokenizeReply,
    DetokenizeRequest, Embedded, EmbeddingReply, EmbeddingRequest, Encoding, ExpiresAfter,
    FieldError, FileDeleted, FileList, FileObject, FilePurpose, FileStatus, FileUpload,
    GenerativeScoringRequest, Grader, GraderContent, GraderErrors, GraderInput, GraderKind,
    GraderMessage, GraderMetadata, GraderNotes, GraderPart, GraderPartKind, GraderProblem,
    GraderRole, GraderRunReply, GraderRunRequest, GraderSampling, GraderValidateReply,
    GraderValidateRequest, Label, LoadAdapterRequest, Loose, PairScore, PairScores, PathPart,
    Pooled, PooledRows, PooledUsage, PoolingReply, PoolingRequest, PoolingTask, PredictInputs,
    PredictReply, PredictRequest, Prediction, RawRow, RemoteReward, RemoteRewardReply,
    RemoteRewardRequest, RerankBody, RerankBodyReply, RerankDocument, RerankFailure, RerankReply,
    RerankRequest, RerankText, Reranked, ReverifyMode, RewardQuery, RewardReply, RolloutContent,
    RolloutInput, RolloutItem, RolloutParams, RolloutResponse, Rows, ScoreBody, ScoreFailure,
    ScoreReply, SessionSeed, SglangError, SglangMeta, SglangReward, SglangRewardRequest,
    SglangRewards, SglangScoreRequest, SglangScores, Shape, ShapeError, SimilarityMetric,
    StringOperation, TeiError, TeiErrorType, TeiInfo, TeiLabels, TeiModelType, TeiRank,
    TeiRerankRequest, TokenizeReply, TokenizeRequest, UnloadAdapterRequest, Vector, VerifyReply,
    VerifyRequest, VllmClassifyRequest, VllmError, VllmErrorDetail, VllmScoreRequest, grader_parts,
    parse_classify, parse_rerank, parse_score,
};
