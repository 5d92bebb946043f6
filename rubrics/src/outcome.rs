//! What became of an input: a reward, or a failure that is never a number.

use std::borrow::Cow;
use std::ops::Range;

use verifiers::{Reason, Standing, Verdict, VerifyError};

/// The result for one input.
pub type Outcome = Result<Reward, Failure>;

/// A measured value.
#[derive(Debug, Clone, PartialEq)]
pub struct Reward {
    /// Finite. In [0, 1] unless the scorer's documentation says otherwise.
    pub score: f64,
    /// The unbounded value behind it, where there is one.
    pub raw: Option<f64>,
    /// The class, such as `equal`.
    pub label: Option<Cow<'static, str>>,
    /// Why.
    pub reason: Reason,
    /// Proof or rule; a cascade hands a presumed 0 on.
    pub standing: Standing,
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
            Self::Abstain | Self::Refused | Self::BadReference => true,
            Self::Timeout | Self::Overloaded | Self::Internal => false,
        }
    }
}

/// What was looked at. Spans are half-open ranges of Unicode code points in the response.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Evidence {
    /// The extracted answer.
    pub candidate: Option<Found>,
    /// The steps of a process scorer.
    pub steps: Option<Vec<StepReward>>,
    /// The parts of a pipeline.
    pub parts: Option<Vec<PartReport>>,
    /// The responses of a group.
    pub members: Option<Vec<Member>>,
}

/// The extracted answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
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
pub struct StepReward {
    /// Where the step stands.
    pub span: Range<usize>,
    /// In [0, 1]; `None` where nothing could be checked.
    pub score: Option<f64>,
    /// `right`, `wrong` or `unchecked`.
    pub label: &'static str,
    /// The equalities found in it.
    pub equalities: Vec<EqualityReport>,
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
}

impl Reward {
    /// A verifier's verdict as a reward.
    pub fn from_verdict(verdict: Verdict, evidence: Evidence) -> Self {
        Self {
            score: verdict.score.get(),
            raw: None,
            label: Some(Cow::Borrowed(verdict.label)),
            reason: verdict.reason,
            standing: verdict.standing,
            evidence,
        }
    }
}

impl Failure {
    /// A failure before anything was looked at.
    pub fn new(kind: FailureKind, reason: Reason) -> Self {
        Self {
            kind,
            reason,
            evidence: Evidence::default(),
        }
    }

    /// A verifier's error as a failure.
    pub fn from_error(error: VerifyError, evidence: Evidence) -> Self {
        let (kind, reason) = match error {
            VerifyError::BadReference(reason) => (FailureKind::BadReference, reason),
            VerifyError::Undecided(reason) => (FailureKind::Abstain, reason),
        };
        Self {
            kind,
            reason,
            evidence,
        }
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
        Self {
            text,
            ascii: text.is_ascii(),
            byte: 0,
            point: 0,
        }
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
            assert_eq!(
                points.range(&(start..start + needle.len())),
                expected,
                "{needle}"
            );
        }
        assert_eq!(CodePoints::new("plain").range(&(1..3)), 1..3);
    }
}
