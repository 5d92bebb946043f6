//! Outcomes: a score, or a failure that is never a number.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use engine::Revisions;
use serde::{Deserialize, Serialize};
use verifiers::{Certainty, Reason, Verdict, VerifyError};

/// The result for one input: a score or a failure.
pub type Outcome = Result<Score, Failure>;

/// A measured score with its evidence.
#[derive(Debug, Clone, PartialEq)]
pub struct Score {
    /// Finite; in [0, 1] unless the scorer documents another range.
    pub score: f64,
    /// The number that the score was computed from, of any range, such as a logit; `None` if the
    /// scorer has none.
    pub raw: Option<f64>,
    /// Class of the result, such as `equal`; `None` without classes.
    pub label: Option<Cow<'static, str>>,
    /// Why.
    pub reason: Reason,
    /// Proven or presumed; a cascade evaluates the next part after a presumed 0.
    pub certainty: Certainty,
    /// Details of the evaluation.
    pub evidence: Evidence,
}

/// The reason for a missing score.
#[derive(Debug, Clone, PartialEq)]
pub struct Failure {
    /// The kind.
    pub kind: FailureKind,
    /// Why.
    pub reason: Reason,
    /// Details of the evaluation up to the failure.
    pub evidence: Evidence,
}

/// Kinds of failures; the wire has one status for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// The scorer cannot decide.
    Abstain,
    /// The scorer does not accept the input.
    Refused,
    /// The reference is missing or unusable.
    BadReference,
    /// The text of a model was cut at its token limit.
    Truncated,
    /// The text of a model is not a judgement.
    ParseError,
    /// A tool failed.
    ToolError,
    /// The deadline passed first.
    Timeout,
    /// A queue is full.
    Overloaded,
    /// An internal error.
    #[serde(rename = "internal_error")]
    Internal,
}

impl FailureKind {
    /// Whether the same input gives the same failure every time, so that it may be cached.
    pub fn is_lasting(self) -> bool {
        match self {
            Self::Abstain
            | Self::Refused
            | Self::BadReference
            | Self::Truncated
            | Self::ParseError => true,
            Self::ToolError | Self::Timeout | Self::Overloaded | Self::Internal => false,
        }
    }
}

/// Details of an evaluation. Spans are half-open ranges of Unicode code points in the response.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Evidence {
    /// The extracted answer.
    pub candidate: Option<ExtractedAnswer>,
    /// The steps of a process scorer.
    pub steps: Option<Vec<StepScore>>,
    /// The parts of a pipeline.
    pub parts: Option<Vec<PartReport>>,
    /// The responses of a group.
    pub members: Option<Vec<Member>>,
    /// Values and remarks on spans of the response, beside its steps.
    pub spans: Option<Vec<SpanNote>>,
    /// Texts of models and tools, in order; `None` without `explain`.
    pub outputs: Option<Vec<ModelText>>,
    /// Models called and tokens used; `None` without a model.
    pub trace: Option<Trace>,
}

impl Evidence {
    /// The evidence of an outcome: that of its score or of its failure.
    pub fn of(outcome: &Outcome) -> &Self {
        match outcome {
            Ok(score) => &score.evidence,
            Err(failure) => &failure.evidence,
        }
    }
}

/// A value or a remark on a span of the response.
#[derive(Debug, Clone, PartialEq)]
pub struct SpanNote {
    /// Where.
    pub span: Range<usize>,
    /// Its meaning: `token_reward`, or the principle that it is evidence for.
    pub label: Cow<'static, str>,
    /// Its value, where it has one.
    pub value: Option<f64>,
}

/// A text that a model or a tool wrote during an evaluation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelText {
    /// Role of the text, such as `judgement` or `tool_result`.
    pub role: Cow<'static, str>,
    /// The text.
    pub text: String,
    /// Finish reason: `stop`, `length`, or `tool` for the result of a tool.
    pub finish: &'static str,
}

/// Models called and tokens used.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Trace {
    /// Digest of the model's weights and configuration.
    pub model: Option<Arc<str>>,
    /// Digest of the adapter.
    pub adapter: Option<Arc<str>>,
    /// Digest of the wording: the prompt files and the chat template.
    pub prompt: Option<Arc<str>>,
    /// Smallest total probability of the labels over all label reads; `None` if none was read.
    pub label_mass: Option<f64>,
    /// Tokens over all requests.
    pub usage: engine::Usage,
    /// Revisions of the weights; `None` if the weights do not change while the model is served.
    pub revisions: Option<Revisions>,
}

impl Trace {
    /// Adds the trace of another part of the same evaluation. The first model, adapter and prompt
    /// digests stay.
    pub(crate) fn add(&mut self, other: &Trace) {
        let keep = |own: &mut Option<Arc<str>>, other: &Option<Arc<str>>| {
            if own.is_none() {
                own.clone_from(other);
            }
        };
        keep(&mut self.model, &other.model);
        keep(&mut self.adapter, &other.adapter);
        keep(&mut self.prompt, &other.prompt);
        self.saw_mass(other.label_mass);
        self.used(&other.usage);
        self.saw_revisions(other.revisions);
    }

    /// Widens the revisions by others.
    pub(crate) fn saw_revisions(&mut self, revisions: Option<Revisions>) {
        self.revisions = Revisions::of_all([self.revisions, revisions].into_iter().flatten());
    }

    /// Keeps the smallest label mass.
    pub(crate) fn saw_mass(&mut self, mass: Option<f64>) {
        self.label_mass = match (self.label_mass, mass) {
            (Some(own), Some(other)) => Some(own.min(other)),
            (own, other) => own.or(other),
        };
    }

    /// Adds tokens.
    pub(crate) fn used(&mut self, usage: &engine::Usage) {
        let sum = &mut self.usage;
        sum.input_tokens += usage.input_tokens;
        sum.cached_tokens += usage.cached_tokens;
        sum.computed_tokens += usage.computed_tokens;
        sum.output_tokens += usage.output_tokens;
    }
}

/// The extracted answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExtractedAnswer {
    /// The text.
    pub text: String,
    /// Where it stands.
    pub span: Range<usize>,
    /// Number of candidates of the same source in the response.
    pub count: usize,
    /// The form it was marked by, such as `boxed`.
    pub source: &'static str,
    /// Caveats, such as `many_candidates`.
    pub flags: Vec<&'static str>,
}

/// Score and label of one step.
#[derive(Debug, Clone, PartialEq)]
pub struct StepScore {
    /// Range of the step.
    pub span: Range<usize>,
    /// In [0, 1]; `None` where nothing could be checked.
    pub score: Option<f64>,
    /// The number that the score was computed from, of any range, such as a logit; `None` if the
    /// scorer has none.
    pub raw: Option<f64>,
    /// Its reward by the scorer's `shaping`, of any range; `None` without shaping. Scores of steps
    /// are no rewards: their sum grows with the number of steps.
    pub reward: Option<f64>,
    /// `right`, `wrong`, `unchecked`, or a model's label.
    pub label: Cow<'static, str>,
    /// Critique of the step; `None` without a critic.
    pub critique: Option<String>,
    /// Equalities found in the step; `None` for scorers that look for none.
    pub equalities: Option<Vec<EqualityReport>>,
}

/// One equality that a step states.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EqualityReport {
    /// Where it stands.
    pub span: Range<usize>,
    /// Its text.
    pub text: String,
    /// `right`, `wrong` or `unchecked`.
    pub label: &'static str,
    /// The computation, or why there is none.
    pub detail: String,
}

/// One part of a pipeline.
#[derive(Debug, Clone, PartialEq)]
pub struct PartReport {
    /// The part's name.
    pub name: String,
    /// Its weight in the total.
    pub weight: f64,
    /// Outcome of the part; `None` if the pipeline did not evaluate it.
    pub outcome: Option<Outcome>,
}

/// One response of a group.
#[derive(Debug, Clone, PartialEq)]
pub struct Member {
    /// Outcome of the response.
    pub outcome: Outcome,
    /// 1 for the best; equal scores share a rank; `None` without a score.
    pub rank: Option<usize>,
    /// The score relative to the group; `None` without `normalise`.
    pub normalised: Option<f64>,
    /// Probability of being better than each response of the group, for scorers that judge pairs;
    /// `None` against itself and for a pair without a verdict.
    pub against: Option<Vec<Option<f64>>>,
}

impl Score {
    /// A proven score without raw value, label and evidence.
    pub(crate) fn proven(score: f64, reason: Reason) -> Self {
        let evidence = Evidence::default();
        Self { score, raw: None, label: None, reason, certainty: Certainty::Proven, evidence }
    }

    /// The score of a verifier's verdict.
    pub fn from_verdict(verdict: Verdict, evidence: Evidence) -> Self {
        Self {
            score: verdict.score.get(),
            raw: None,
            label: Some(Cow::Borrowed(verdict.label)),
            reason: verdict.reason,
            certainty: verdict.certainty,
            evidence,
        }
    }
}

impl Failure {
    /// A failure without evidence.
    pub fn new(kind: FailureKind, reason: Reason) -> Self {
        Self { kind, reason, evidence: Evidence::default() }
    }

    /// An input without a response.
    pub(crate) fn response_missing() -> Self {
        let detail = "give 'response', or 'responses' for a group";
        Self::refused("response_missing", detail)
    }

    /// An input with both `response` and `responses`.
    pub(crate) fn response_conflict() -> Self {
        let detail = "give either 'response' or 'responses', not both";
        Self::refused("response_conflict", detail)
    }

    /// An empty group.
    pub(crate) fn responses_empty() -> Self {
        Self::refused("responses_empty", "'responses' is empty")
    }

    /// A response whose last message is not the assistant's.
    pub(crate) fn response_not_assistant() -> Self {
        let detail = "the last message of a response must have the role 'assistant'";
        Self::refused("response_not_assistant", detail)
    }

    /// The client's steps are not in the response, in order.
    pub(crate) fn steps_not_in_response() -> Self {
        let detail =
            "the steps do not stand in the response in their order, so they have no places";
        Self::refused("steps_not_in_response", detail)
    }

    /// A full queue of the worker pool.
    pub(crate) fn queue_full() -> Self {
        let detail = "the work queue is full; try again later";
        Self::new(FailureKind::Overloaded, Reason::with("queue_full", detail))
    }

    /// A deadline that passed before work started.
    pub(crate) fn deadline_passed() -> Self {
        let detail = "the deadline passed before work started";
        Self::new(FailureKind::Timeout, Reason::with("deadline_passed", detail))
    }

    /// A call whose verdicts spent its fuel before this one began.
    pub(crate) fn request_fuel_spent() -> Self {
        let detail = "the verdicts before this one spent the fuel of the request";
        Self::new(FailureKind::Timeout, Reason::with("request_fuel_spent", detail))
    }

    /// A fault of ours, whose cause is in the log.
    pub(crate) fn internal() -> Self {
        let detail = "the scorer failed; the log has the cause";
        Self::new(FailureKind::Internal, Reason::with("internal_error", detail))
    }

    /// The detail of the reason, or its code if there is none, for the operator.
    pub(crate) fn into_message(self) -> String {
        let code = self.reason.code;
        self.reason.detail.map_or_else(|| code.to_owned(), String::from)
    }

    /// A verifier's error as a failure.
    pub fn from_error(error: VerifyError, evidence: Evidence) -> Self {
        let (kind, reason) = match error {
            VerifyError::BadReference(reason) => (FailureKind::BadReference, reason),
            VerifyError::Undecided(reason) => (FailureKind::Abstain, reason),
        };
        Self { kind, reason, evidence }
    }

    /// Adds evidence.
    #[must_use]
    pub fn with_evidence(mut self, evidence: Evidence) -> Self {
        self.evidence = evidence;
        self
    }

    /// The input cannot be judged by this scorer.
    pub fn refused(code: &'static str, detail: impl Into<Cow<'static, str>>) -> Self {
        Self::new(FailureKind::Refused, Reason::with(code, detail))
    }
}

/// Byte ranges of a text as ranges of code points.
///
/// Ranges usually come in rising order of their starts, so each count continues from the last one,
/// and a set of spans takes one pass.
pub(crate) struct CodePoints<'t> {
    text: &'t str,
    ascii: bool,
    byte: usize,
    point: usize,
}

impl<'t> CodePoints<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        Self { text, ascii: text.is_ascii(), byte: 0, point: 0 }
    }

    /// `range` must lie on character boundaries of the text.
    pub(crate) fn range(&mut self, range: &Range<usize>) -> Range<usize> {
        if self.ascii {
            return range.clone();
        }
        if range.start < self.byte {
            (self.byte, self.point) = (0, 0);
        }
        self.point += self.text[self.byte..range.start].chars().count();
        self.byte = range.start;
        let length = self.text[range.clone()].chars().count();
        self.point..self.point + length
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_points_are_python_slices() {
        let text = "é=½ und 日本";
        let mut points = CodePoints::new(text);
        for (needle, expected) in [("½", 2..3), ("日本", 8..10), ("é", 0..1), ("", 0..0)] {
            let start = text.find(needle).expect("the text holds it");
            assert_eq!(points.range(&(start..start + needle.len())), expected, "{needle}");
        }
        assert_eq!(CodePoints::new("plain").range(&(1..3)), 1..3);
    }
}
