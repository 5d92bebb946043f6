//! What became of an input: a reward, or a failure that is never a number.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use engine::Revisions;
use verifiers::{Certainty, Reason, Verdict, VerifyError};

/// The result for one input.
pub type Outcome = Result<Score, Failure>;

/// A measured value.
#[derive(Debug, Clone, PartialEq)]
pub struct Score {
    /// Finite. In [0, 1] unless the scorer's documentation says otherwise.
    pub score: f64,
    /// The unbounded value behind it, where there is one.
    pub raw: Option<f64>,
    /// The class, such as `equal`.
    pub label: Option<Cow<'static, str>>,
    /// Why.
    pub reason: Reason,
    /// Proof or rule; a cascade hands a presumed 0 on.
    pub certainty: Certainty,
    /// What was looked at.
    pub evidence: Evidence,
}

/// No value, and why.
#[derive(Debug, Clone, PartialEq)]
pub struct Failure {
    /// The kind.
    pub kind: FailureKind,
    /// Why.
    pub reason: Reason,
    /// What was looked at all the same.
    pub evidence: Evidence,
}

/// Why there is no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FailureKind {
    /// The scorer cannot decide.
    Abstain,
    /// The input asks what this scorer cannot answer.
    Refused,
    /// The reference is missing or unusable.
    BadReference,
    /// A model's text was cut at its limit, so that there is no whole to read.
    Truncated,
    /// What a model wrote cannot be read as a judgement.
    ParseError,
    /// A tool failed.
    ToolError,
    /// The deadline passed first.
    Timeout,
    /// No room in the queue.
    Overloaded,
    /// Our fault.
    Internal,
}

impl FailureKind {
    /// Whether the same input gives the same failure every time, so that it may be stored.
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

/// What was looked at. Spans are half-open ranges of Unicode code points in the response.
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
    /// What is said of stretches of the response beside its steps.
    pub spans: Option<Vec<SpanNote>>,
    /// What models wrote on the way, in order; kept where an explanation is asked for.
    pub outputs: Option<Vec<ModelText>>,
    /// Which models were asked, and what it took.
    pub trace: Option<Trace>,
}

/// A value or a remark about a stretch of the response.
#[derive(Debug, Clone, PartialEq)]
pub struct SpanNote {
    /// Where.
    pub span: Range<usize>,
    /// What it is: `token_reward`, or the principle that it is evidence for.
    pub label: Cow<'static, str>,
    /// Its value, where it has one.
    pub value: Option<f64>,
}

/// A text that a model or a tool wrote on the way to a verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelText {
    /// What it was written as, such as `judgement` or `tool_result`.
    pub role: Cow<'static, str>,
    /// The text.
    pub text: String,
    /// Why it ended: `stop`, `length`, or `tool` for what a tool said.
    pub finish: &'static str,
}

/// Which models were asked, and what it took.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Trace {
    /// Digest of the model's weights and configuration.
    pub model: Option<Arc<str>>,
    /// Digest of the adapter.
    pub adapter: Option<Arc<str>>,
    /// Digest of the wording: the prompt files and the chat template.
    pub prompt: Option<Arc<str>>,
    /// Of the verdicts that were read from labels, the smallest probability that all labels of one
    /// hold together.
    pub label_mass: Option<f64>,
    /// Tokens, over all that was asked.
    pub usage: engine::Usage,
    /// Revisions of the weights that it was computed under, where they change while the model is
    /// served.
    pub revisions: Option<Revisions>,
}

impl Trace {
    /// Takes in what another part of the same verdict took. Where both name a model, adapter or
    /// wording, the first stays.
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
    /// Candidates of the same source in the response.
    pub count: usize,
    /// Where it was found.
    pub source: &'static str,
    /// What a careful reader should know.
    pub flags: Vec<&'static str>,
}

/// The reward of one step.
#[derive(Debug, Clone, PartialEq)]
pub struct StepScore {
    /// Where the step stands.
    pub span: Range<usize>,
    /// In [0, 1]; `None` where nothing could be checked.
    pub score: Option<f64>,
    /// The unbounded value behind it, where there is one.
    pub raw: Option<f64>,
    /// `right`, `wrong`, `unchecked`, or a model's label.
    pub label: Cow<'static, str>,
    /// What a critic said of it.
    pub critique: Option<String>,
    /// The equalities found in it, by a scorer that looks for them.
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
    /// What was computed, or why it was not.
    pub detail: String,
}

/// One part of a pipeline.
#[derive(Debug, Clone, PartialEq)]
pub struct PartReport {
    /// The part's name.
    pub name: String,
    /// Its weight in the whole.
    pub weight: f64,
    /// What happened; `None` where the pipeline did not ask.
    pub outcome: Option<Outcome>,
}

/// One response of a group.
#[derive(Debug, Clone, PartialEq)]
pub struct Member {
    /// What happened.
    pub outcome: Outcome,
    /// 1 for the best; equal scores share a rank; `None` without a score.
    pub rank: Option<usize>,
    /// The score relative to the group, where the scorer was told to give one.
    pub normalised: Option<f64>,
    /// Against each response of the group, where pairs were judged: the probability that this one
    /// is the better; `None` against itself and where a pair has no verdict.
    pub against: Option<Vec<Option<f64>>>,
}

impl Score {
    /// A verifier's verdict as a reward.
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
    /// A failure before anything was looked at.
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

    /// The same with what was looked at.
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
/// Ranges are asked for in rising order of their start as a rule, so each count goes on from the
/// last one and a whole set of spans costs one pass.
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
