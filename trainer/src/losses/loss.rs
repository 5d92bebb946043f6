//! The result of a loss.

use super::error::{FormulaError, Result};
use super::stats::Stats;

/// The value of a loss, its gradient, and statistics.
#[derive(Clone, Debug, PartialEq)]
pub struct Loss {
    /// The value; for a micro-batch its share, so that the shares add up.
    pub value: f64,
    /// The derivative with respect to each given log-probability or score, in order.
    pub grad: Vec<f64>,
    /// The derivative with respect to each entropy; empty without entropies.
    pub entropy_grad: Vec<f64>,
    /// Statistics for the log.
    pub stats: Stats,
}

impl Loss {
    /// A loss of scores; an error if it is not finite.
    pub(crate) fn of_scores(value: f64, grad: Vec<f64>, stats: Stats) -> Result<Self> {
        Self { value, grad, entropy_grad: Vec::new(), stats }.checked()
    }

    pub(super) fn checked(self) -> Result<Self> {
        if !self.value.is_finite() {
            return Err(FormulaError::Overflow { what: "the loss" });
        }
        if self.grad.iter().any(|slope| !slope.is_finite()) {
            let what = "a gradient";
            return Err(FormulaError::Overflow { what });
        }
        Ok(self)
    }
}
