//! Rewards of thoughts: TP-GRPO (2507.23317).
//!
//! Neighbouring steps with one label make a thought. Outcome rewards are standardised over the
//! group, process rewards are not; the cost of a wrong thought grows with the group's accuracy, so
//! that detours cost a strong model much and a weak one little.

use std::ops::Range;

use super::numbers::{CombineError, finite, result, shares};

/// Relation of a step to its solution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ThoughtLabel {
    /// Right, in a right solution.
    Right,
    /// Wrong, in a right solution.
    Wrong,
    /// In a wrong solution, leading to its wrong answer.
    Matching,
    /// In a wrong solution, not leading to its answer: its correctness is unknown.
    Mismatched,
}

/// Steps in a row with one label.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thought {
    /// Their label.
    pub label: ThoughtLabel,
    /// Their indices.
    pub steps: Range<usize>,
}

/// Merges neighbours with equal labels.
pub fn merge(labels: &[ThoughtLabel]) -> Vec<Thought> {
    let mut start = 0;
    let thought = |run: &[ThoughtLabel]| {
        let steps = start..start + run.len();
        start = steps.end;
        Thought { label: run[0], steps }
    };
    labels.chunk_by(|a, b| a == b).map(thought).collect()
}

/// Returns `r_c = alpha acc_G`, the cost of a wrong thought in a right solution. The paper's alpha
/// is not known, so there is no default.
///
/// # Errors
/// An alpha that is not above 0, or an accuracy outside [0, 1].
pub fn capability(alpha: f64, accuracy: f64) -> Result<f64, CombineError> {
    finite("alpha", &[alpha])?;
    shares("accuracy of the group", &[accuracy])?;
    if alpha <= 0.0 {
        return Err(CombineError::OutOfRange { what: "alpha", index: 0, range: "above 0" });
    }
    result(alpha * accuracy)
}

/// Returns the advantage of a thought's tokens, as the paper is reported to apply it: `outcome` is
/// the response's reward, standardised over its group, `capability` is `r_c`.
///
/// | solution | thought | advantage |
/// |---|---|---|
/// | right | right | `outcome` |
/// | right | wrong | `outcome - r_c` |
/// | wrong | matching | `outcome` |
/// | wrong | mismatched | 0 |
///
/// # Errors
/// A number that is not finite.
pub fn advantage(label: ThoughtLabel, outcome: f64, capability: f64) -> Result<f64, CombineError> {
    finite("outcome", &[outcome])?;
    finite("capability", &[capability])?;
    match label {
        ThoughtLabel::Right | ThoughtLabel::Matching => Ok(outcome),
        ThoughtLabel::Wrong => result(outcome - capability),
        ThoughtLabel::Mismatched => Ok(0.0),
    }
}
