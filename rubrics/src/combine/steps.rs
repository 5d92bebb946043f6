//! Aggregation of step scores to one number.

use base::stats::from_count;
use serde::Serialize;

use super::numbers::{CombineError, at_least, finite, result, some_finite};
use super::spread::finite_mean;

/// An aggregation of step scores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Aggregation {
    /// The weakest step.
    Min,
    /// All steps right, if each were right by itself.
    Product,
    /// The average step.
    Mean,
    /// The last step, whose score has seen all others.
    Last,
    /// Sum of log-odds: each score is a probability strictly between 0 and 1, the result is
    /// unbounded.
    SumOfLogits,
}

/// Aggregates the scores of all steps.
///
/// # Errors
/// No step, a score that is not finite, and for [`Aggregation::SumOfLogits`] one that has no
/// log-odds.
pub fn aggregate(scores: &[f64], how: Aggregation) -> Result<f64, CombineError> {
    some_finite("step score", scores)?;
    match how {
        Aggregation::Min => Ok(scores.iter().copied().fold(f64::INFINITY, f64::min)),
        Aggregation::Product => result(scores.iter().product()),
        Aggregation::Mean => finite_mean(scores),
        Aggregation::Last => Ok(scores[scores.len() - 1]),
        Aggregation::SumOfLogits => sum_of_logits(&logits(scores)?),
    }
}

/// Sums the steps' logits, for scorers that have logits: probabilities near 0 and 1 would round
/// them.
///
/// # Errors
/// No step, or a logit that is not finite.
pub fn sum_of_logits(logits: &[f64]) -> Result<f64, CombineError> {
    some_finite("step logit", logits)?;
    result(logits.iter().sum())
}

fn logits(probabilities: &[f64]) -> Result<Vec<f64>, CombineError> {
    let outside = |p: &f64| *p <= 0.0 || *p >= 1.0;
    if let Some(index) = probabilities.iter().position(outside) {
        return Err(CombineError::OutOfRange {
            what: "step score",
            index,
            range: "strictly between 0 and 1, so it has no log-odds",
        });
    }
    let logit = |p: &f64| p.ln() - (-p).ln_1p();
    Ok(probabilities.iter().map(logit).collect())
}

/// Returns the index, from 0, of the first step whose score is below `threshold`; `None` if there
/// is none, which `ProcessBench` writes as -1 ("`ProcessBench`: Identifying Process Errors in
/// Mathematical Reasoning", 2412.06559). A solution without steps has no wrong one.
///
/// # Errors
/// A score or a threshold that is not finite.
pub fn first_error(scores: &[f64], threshold: f64) -> Result<Option<usize>, CombineError> {
    finite("step score", scores)?;
    finite("threshold", &[threshold])?;
    Ok(scores.iter().position(|score| *score < threshold))
}

/// Returns the share of steps that a retrospective critique marks right: r(τ) of `StepORLM`
/// (2509.22558).
///
/// # Errors
/// No step.
pub fn share_right(right: &[bool]) -> Result<f64, CombineError> {
    at_least(1, "steps", right.len())?;
    let n_right = right.iter().filter(|right| **right).count();
    Ok(from_count(n_right) / from_count(right.len()))
}
