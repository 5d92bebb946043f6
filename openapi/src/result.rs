//! `POST /v1/score`: what a client gets.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Results in the order of the inputs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ScoreResponse {
    /// Identifier of this reply, `score-` and the request id.
    pub id: String,
    /// Always `score`.
    pub object: String,
    /// Unix time in seconds.
    pub created: u64,
    /// The scorer that answered.
    pub model: String,
    /// One result for each input, in input order.
    pub results: Vec<ScoreResult>,
    /// Sum over the results.
    pub usage: Usage,
}

/// The verdict on one input.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ScoreResult {
    /// The input's `id`, or its position as text.
    pub id: String,
    /// What happened. `score` is a number when this is `ok` and null otherwise.
    pub status: Status,
    /// The calibrated or defined value; finite.
    pub score: Option<f64>,
    /// The unbounded logit or logit difference, where there is one.
    pub raw: Option<f64>,
    /// The class that was chosen, such as `equal`.
    pub label: Option<String>,
    /// Why.
    pub reason: Option<Reason>,
    /// What was extracted from the response.
    pub candidate: Option<Candidate>,
    /// Scores of the steps, for process scorers.
    pub steps: Option<Vec<StepScore>>,
    /// The pieces of a rubric or pipeline.
    pub parts: Option<Vec<Part>>,
    /// One entry for each response of a group.
    pub candidates: Option<Vec<CandidateScore>>,
    /// Values and remarks about stretches of the response: token rewards, quoted evidence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spans: Option<Vec<SpanNote>>,
    /// What models wrote on the way to the verdict, where `options.explain` is set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outputs: Option<Vec<ModelText>>,
    /// Probability that all labels hold together, for model scorers; of several verdicts that one
    /// result is made of, the smallest.
    pub label_mass: Option<f64>,
    /// What produced the verdict.
    pub digests: Digests,
    /// Tokens that it cost.
    pub usage: Usage,
    /// Where the time went.
    pub timing: Timing,
    /// Whether a stored verdict answered.
    pub cached: bool,
    /// The input's metadata.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub metadata: Option<serde_json::Map<String, serde_json::Value>>,
}

/// What became of an input. Only `ok` carries a score: a failed measurement is never a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Measured.
    Ok,
    /// The scorer cannot decide.
    Abstain,
    /// The input asks what this scorer cannot answer.
    Refused,
    /// A text was cut, so that the measurement would not be of the whole.
    Truncated,
    /// A judge's output could not be read.
    ParseError,
    /// A tool failed.
    ToolError,
    /// The deadline passed first.
    Timeout,
    /// The queue was full.
    Overloaded,
    /// The reference is missing or unusable.
    BadReference,
    /// A fault of the server.
    InternalError,
}

/// Why a verdict is what it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Reason {
    /// Stable, for programs.
    pub code: String,
    /// For people. Present on failures, and on verdicts when `options.explain` is set.
    pub detail: Option<String>,
}

/// The part of the response that was judged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Candidate {
    /// The extracted text.
    pub text: String,
    /// Half-open range in the response, in Unicode code points: a Python slice.
    pub span: [usize; 2],
    /// How many candidates of this kind the response held; the last one was judged.
    pub count: usize,
    /// Where it was found, such as `boxed` or `last_number`.
    pub source: String,
    /// What a careful reader should know, such as `fallback` or `unclosed_box`.
    pub flags: Vec<String>,
}

/// The score of one step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct StepScore {
    /// Position, from 0.
    pub index: usize,
    /// Half-open range in the response, in Unicode code points.
    pub span: [usize; 2],
    /// The step's score; null where nothing in it could be checked.
    pub score: Option<f64>,
    /// The unbounded logit, where there is one.
    pub raw: Option<f64>,
    /// `right`, `wrong`, `unchecked`, or a model's label.
    pub label: String,
    /// What a critic said.
    pub critique: Option<String>,
    /// The equalities that were found in the step, for symbolic step scorers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub equalities: Option<Vec<CheckedEquality>>,
}

/// One equality that a step states.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CheckedEquality {
    /// Half-open range in the response, in Unicode code points.
    pub span: [usize; 2],
    /// The text of the equality.
    pub text: String,
    /// `right`, `wrong` or `unchecked`.
    pub label: String,
    /// What was computed, or why it was not.
    pub detail: String,
}

/// A value or a remark about a stretch of the response.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SpanNote {
    /// Half-open range in the response, in Unicode code points.
    pub span: [usize; 2],
    /// What it is, such as `token_reward`, or the principle that it is evidence for.
    pub label: String,
    /// Its value, where it has one.
    pub value: Option<f64>,
}

/// A text that a model or a tool wrote on the way to a verdict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ModelText {
    /// What it was written as, such as `judgement` or `tool_result`.
    pub role: String,
    /// The text.
    pub text: String,
    /// Why it ended: `stop`, `length`, or `tool` for what a tool said.
    pub finish: String,
}

/// One piece of a rubric or pipeline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Part {
    /// The part's name.
    pub name: String,
    /// What happened to the part; null where the pipeline did not ask it.
    pub status: Option<Status>,
    /// The part's score.
    pub score: Option<f64>,
    /// The part's unbounded value.
    pub raw: Option<f64>,
    /// The part's weight in the whole.
    pub weight: f64,
    /// Why.
    pub reason: Option<Reason>,
}

/// One response of a group.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CandidateScore {
    /// Position in `responses`, from 0.
    pub index: usize,
    /// What happened to this response.
    pub status: Status,
    /// Its score.
    pub score: Option<f64>,
    /// 1 for the best; equal scores share a rank; null without a score.
    pub rank: Option<usize>,
    /// Its score relative to the group; only where the scorer was told to give it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub normalised: Option<f64>,
    /// The unbounded logit or logit difference, where there is one.
    pub raw: Option<f64>,
    /// The class that was chosen.
    pub label: Option<String>,
    /// Why.
    pub reason: Option<Reason>,
    /// What was extracted from this response.
    pub candidate: Option<Candidate>,
    /// Against each response of the group, where pairs were judged: the probability that this one
    /// is the better; null against itself and where a pair has no verdict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against: Option<Vec<Option<f64>>>,
    /// Scores of its steps, for process scorers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps: Option<Vec<StepScore>>,
    /// The pieces that its score is made of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parts: Option<Vec<Part>>,
    /// Values and remarks about stretches of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spans: Option<Vec<SpanNote>>,
    /// What models wrote on the way, where `options.explain` is set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outputs: Option<Vec<ModelText>>,
}

/// SHA-256 digests, `sha256:` and 64 hexadecimal digits.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Digests {
    /// Of the scorer: kind, revision and every option.
    pub scorer: String,
    /// Of the model's weights and configuration.
    pub model: Option<String>,
    /// Of the adapter.
    pub adapter: Option<String>,
    /// Of the wording that a model was asked in: the prompt file and the chat template.
    pub prompt: Option<String>,
    /// Oldest and newest revision of the weights that any of it was computed under; only of a model
    /// that is trained while it is served, whose digest begins with `live:`. The two differ where
    /// the weights changed meanwhile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revisions: Option<[u64; 2]>,
}

/// Tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Usage {
    /// Tokens read.
    pub input_tokens: u64,
    /// Of these, tokens that a cache spared.
    pub cached_tokens: u64,
    /// Tokens written.
    pub output_tokens: u64,
    /// Input and output together.
    pub total_tokens: u64,
}

/// Milliseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Timing {
    /// From admission to the start of work.
    pub queue_ms: f64,
    /// Work.
    pub exec_ms: f64,
}
