//! What every loss returns.

use super::error::{FormulaError, Result};
use super::stats::Stats;

/// The value of a loss, its gradient, and what there is to log.
#[derive(Clone, Debug, PartialEq)]
pub struct Loss {
    /// The value: of a micro-batch its share, so that the shares of all add up.
    pub value: f64,
    /// The derivative with respect to each log-probability or score that was given, in order.
    pub grad: Vec<f64>,
    /// The derivative with respect to each entropy; empty where no entropies were given.
    pub entropy_grad: Vec<f64>,
    /// Sums for the log.
    pub stats: Stats,
}

impl Loss {
    /// A loss of scores, unless it left the finite numbers.
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
