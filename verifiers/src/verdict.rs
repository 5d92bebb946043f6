//! Verdicts of verifiers, and errors.

use std::borrow::Cow;

/// A score in [0, 1], by construction.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct UnitScore(f64);

impl UnitScore {
    /// Wrong.
    pub const ZERO: Self = Self(0.0);
    /// Right.
    pub const ONE: Self = Self(1.0);

    /// Creates a score from `value` in [0, 1]; `None` for NaN and every other value.
    pub fn new(value: f64) -> Option<Self> {
        // Adding zero turns -0.0 into 0.0, so that equal scores have equal bits.
        (0.0..=1.0).contains(&value).then_some(Self(value + 0.0))
    }

    /// Returns the score as a number.
    pub fn get(self) -> f64 {
        self.0
    }
}

impl From<bool> for UnitScore {
    fn from(right: bool) -> Self {
        if right { Self::ONE } else { Self::ZERO }
    }
}

/// The reason of a verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reason {
    /// Stable, for programs: snake case.
    pub code: &'static str,
    /// For people; `None` unless the claim requests an explanation.
    pub detail: Option<Cow<'static, str>>,
}

impl Reason {
    /// Creates a reason without detail.
    pub fn code(code: &'static str) -> Self {
        Self { code, detail: None }
    }

    /// Creates a reason with its detail.
    pub fn with(code: &'static str, detail: impl Into<Cow<'static, str>>) -> Self {
        Self { code, detail: Some(detail.into()) }
    }

    /// Returns a reason whose detail is made only when `explain` is set.
    pub fn explained(code: &'static str, explain: bool, detail: impl FnOnce() -> String) -> Self {
        Self { code, detail: explain.then(|| Cow::Owned(detail())) }
    }
}

/// Certainty of a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Certainty {
    /// Proven, or decided by a documented rule of the answer's type.
    Proven,
    /// Not decided: an unreadable or too costly candidate scores 0 by rule. A cascade may hand such
    /// a verdict on to its next part.
    Presumed,
}

/// The answer to a claim.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// The score.
    pub score: UnitScore,
    /// The class, such as `equal`.
    pub label: &'static str,
    /// Why.
    pub reason: Reason,
    /// Whether the score is proven or presumed.
    pub certainty: Certainty,
}

impl Verdict {
    /// Creates a verdict reached by proof or by a documented rule.
    pub fn proven(score: impl Into<UnitScore>, label: &'static str, reason: Reason) -> Self {
        Self { score: score.into(), label, reason, certainty: Certainty::Proven }
    }

    /// Creates a 0 because the candidate is unreadable or too costly, not because it was proven
    /// wrong.
    pub fn presumed_wrong(label: &'static str, reason: Reason) -> Self {
        Self { score: UnitScore::ZERO, label, reason, certainty: Certainty::Presumed }
    }

    /// Creates a 0 because the response holds no answer at all.
    pub fn no_answer() -> Self {
        Self::proven(false, "no_answer", Reason::code("no_answer"))
    }
}

/// Name and revision of a verifier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct VerifierId {
    /// The name, which is also the scorer kind.
    pub name: &'static str,
    /// Moves with every change of behaviour.
    pub revision: u32,
}

/// Reason for a missing verdict. Never the candidate's fault.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VerifyError {
    /// The gold answer is missing or cannot be used.
    #[error("bad reference: {}", .0.code)]
    BadReference(Reason),
    /// This verifier cannot decide; another one might.
    #[error("undecided: {}", .0.code)]
    Undecided(Reason),
}

impl VerifyError {
    /// Creates the error for a missing gold answer.
    pub fn missing_reference() -> Self {
        Self::BadReference(Reason::with("reference_missing", "this scorer needs a reference"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_outside_the_unit_interval_are_refused() {
        for (value, expected) in [
            (0.0, Some(0.0)),
            (-0.0, Some(0.0)),
            (1.0, Some(1.0)),
            (0.25, Some(0.25)),
            (1.000_000_1, None),
            (-0.1, None),
            (f64::NAN, None),
            (f64::INFINITY, None),
        ] {
            let score = UnitScore::new(value).map(|s| s.get().to_bits());
            assert_eq!(score, expected.map(f64::to_bits), "{value}");
        }
    }
}
