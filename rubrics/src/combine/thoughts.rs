//! Rewards of thoughts: TP-GRPO (2507.23317).
//!
//! Neighbouring steps with one label make a thought. Outcome rewards are standardised over the
//! group, process rewards are not; what a wrong thought costs grows with the group's accuracy, so
//! that a strong model pays for detours and a weak one hardly.

use std::ops::Range;

use super::numbers::{CombineError, finite, result, shares};

/// What a step is to the solution that it stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Label {
    /// Right, in a right solution.
    Right,
    /// Wrong, in a right solution.
    Wrong,
    /// Of a wrong solution, and leading to its wrong answer.
    Matching,
    /// Of a wrong solution, and not leading to its answer: nobody knows.
    Mismatched,
}

/// Steps in a row with one label.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thought {
    /// Their label.
    pub label: Label,
    /// Their indices.
    pub steps: Range<usize>,
}

/// Merges neighbours with equal labels.
pub fn merge(labels: &[Label]) -> Vec<Thought> {
    let mut start = 0;
    let thought = |run: &[Label]| {
        let steps = start..start + run.len();
        start = steps.end;
        Thought { label: run[0], steps }
    };
    labels.chunk_by(|a, b| a == b).map(thought).collect()
}

/// `r_c = alpha acc_G`: what a wrong thought of a right solution costs. The paper's alpha is not
/// known, so there is no default.
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

/// The advantage of a thought's tokens, which is what is reported to take effect: `outcome` is the
/// response's reward, standardised over its group, `capability` is `r_c`.
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
pub fn advantage(label: Label, outcome: f64, capability: f64) -> Result<f64, CombineError> {
    finite("outcome", &[outcome])?;
    finite("capability", &[capability])?;
    match label {
        Label::Right | Label::Matching => Ok(outcome),
        Label::Wrong => result(outcome - capability),
        Label::Mismatched => Ok(0.0),
    }
}
