//! How numbers become rewards: the published formulas as pure functions over `f64`.
//!
//! Nothing here asks a model, reads a text that a model wrote (but for one format check) or knows
//! what a scorer is. Every function takes finite numbers and gives finite numbers: what is not
//! finite, not in its range or not of the right length is a [`CombineError`], so that a failed
//! measurement cannot come out as a reward. Where a paper leaves something open, the choice is a
//! parameter, and its documentation says that it is ours.
//!
//! | module | method | from |
//! |---|---|---|
//! | [`steps`] | step scores to one number, first error, share of right steps | `ProcessBench`; `StepORLM` (2509.22558) |
//! | [`shaping`] | Clip, Delta | On Designing Effective RL Reward at Training Time for LLM Reasoning (2410.15115) |
//! | [`ensemble`] | mean, WCO, UWO, standardisation | Reward Model Ensembles Help Mitigate Overoptimization (2310.02743) |
//! | [`gate`] | gated reward accumulation | G-RA (2508.10548) |
//! | [`renorm`] | hybrid reward normalisation | PPR (2509.25598) |
//! | [`product`] | format, accuracy and consistency | R1-Reward (2505.02835) |
//! | [`group`] | group-relative advantages, pass rate | GRPO; RLOO as in OREAL (2502.06781) |
//! | [`critique`] | votes over critiques, token rewards | CAPO (2508.02298) |
//! | [`thoughts`] | thought rewards | TP-GRPO (2507.23317) |
//! | [`preference`] | both orders of a pair | Pairwise-RL (2504.04950) |
//! | [`grade`] | expected grade | plug-and-play judge (2506.05748) |
//! | [`tournament`] | mean probability of winning a pair | ours |
//! | [`sentences`] | sentence rewards | TRM (2509.25409) |
//! | [`selection`] | best of many, weighted votes | MARS-SQL (2511.01008); Is PRM Necessary? (2505.11227) |

pub mod critique;
pub mod ensemble;
pub mod gate;
pub mod grade;
pub mod group;
pub mod preference;
pub mod product;
pub mod renorm;
pub mod selection;
pub mod sentences;
pub mod shaping;
pub mod steps;
pub mod thoughts;
pub mod tournament;

mod spread;
#[cfg(test)]
mod tests;

pub use spread::Variance;

/// Why numbers have no combination.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CombineError {
    /// There are too few of them for the method to mean anything.
    #[error("{given} {what}; at least {least} are needed")]
    TooFew {
        /// What was counted.
        what: &'static str,
        /// How many there are.
        given: usize,
        /// How many the method needs.
        least: usize,
    },
    /// Two lists that belong together have different lengths.
    #[error("{given} {what}, and {expected} belong there")]
    Length {
        /// What was counted.
        what: &'static str,
        /// How many there are.
        given: usize,
        /// How many belong there.
        expected: usize,
    },
    /// A number is infinite or not a number.
    #[error("{what} {index} is not a finite number")]
    NotFinite {
        /// What the number is.
        what: &'static str,
        /// Its place in its list, from 0.
        index: usize,
    },
    /// A number lies where the method has no meaning.
    #[error("{what} {index} is not {range}")]
    OutOfRange {
        /// What the number is.
        what: &'static str,
        /// Its place in its list, from 0.
        index: usize,
        /// Where it should lie.
        range: &'static str,
    },
    /// All numbers were finite, and what came of them is not.
    #[error("the numbers are too large: their combination is not finite")]
    Overflow,
}

/// Refuses numbers that are not finite.
fn finite(what: &'static str, values: &[f64]) -> Result<(), CombineError> {
    match values.iter().position(|value| !value.is_finite()) {
        Some(index) => Err(CombineError::NotFinite { what, index }),
        None => Ok(()),
    }
}

/// Refuses an empty list and numbers that are not finite.
fn some_finite(what: &'static str, values: &[f64]) -> Result<(), CombineError> {
    at_least(1, what, values.len())?;
    finite(what, values)
}

/// Refuses numbers outside `[0, 1]`.
fn shares(what: &'static str, values: &[f64]) -> Result<(), CombineError> {
    finite(what, values)?;
    let outside = |value: &f64| !(0.0..=1.0).contains(value);
    match values.iter().position(outside) {
        Some(index) => Err(CombineError::OutOfRange { what, index, range: "from 0 to 1" }),
        None => Ok(()),
    }
}

/// Refuses numbers below 0.
fn not_negative(what: &'static str, values: &[f64]) -> Result<(), CombineError> {
    finite(what, values)?;
    match values.iter().position(|value| *value < 0.0) {
        Some(index) => Err(CombineError::OutOfRange { what, index, range: "0 or more" }),
        None => Ok(()),
    }
}

fn at_least(least: usize, what: &'static str, given: usize) -> Result<(), CombineError> {
    if given < least {
        return Err(CombineError::TooFew { what, given, least });
    }
    Ok(())
}

fn equally_many(what: &'static str, given: usize, expected: usize) -> Result<(), CombineError> {
    if given != expected {
        return Err(CombineError::Length { what, given, expected });
    }
    Ok(())
}

/// A result, unless it left the finite numbers on the way.
fn result(value: f64) -> Result<f64, CombineError> {
    if value.is_finite() { Ok(value) } else { Err(CombineError::Overflow) }
}

/// Results, unless one of them left the finite numbers on the way.
fn results(values: Vec<f64>) -> Result<Vec<f64>, CombineError> {
    if values.iter().all(|value| value.is_finite()) {
        Ok(values)
    } else {
        Err(CombineError::Overflow)
    }
}

#[expect(clippy::cast_precision_loss, reason = "lists of rewards have far fewer than 2^53 entries")]
fn count(n: usize) -> f64 {
    n as f64
}
