//! Several reward models as one (Reward Model Ensembles Help Mitigate Overoptimization,
//! 2310.02743).

use serde::Serialize;

use super::numbers::{CombineError, finite, not_negative, result, some_finite};
use super::spread::Variance;
use super::spread::{all_equal, moments};

/// The authors' λ in best-of-n, with [`Variance::Population`].
pub const LAMBDA_BEST_OF_N: f64 = 0.5;

/// Returns the mean of the members' rewards.
///
/// # Errors
/// No member, or a number that is not finite.
pub fn mean(rewards: &[f64]) -> Result<f64, CombineError> {
    some_finite("reward", rewards)?;
    super::spread::finite_mean(rewards)
}

/// Returns the mean less `lambda` times the variance between members: uncertainty-weighted
/// optimisation (UWO).
///
/// # Errors
/// No member, one member where the variance needs two, a negative `lambda`, or a number that is
/// not finite.
pub fn uncertainty_weighted(
    rewards: &[f64],
    lambda: f64,
    variance: Variance,
) -> Result<f64, CombineError> {
    some_finite("reward", rewards)?;
    not_negative("lambda", &[lambda])?;
    let (mean, spread) = moments(rewards, variance)?;
    let spread = if all_equal(rewards) { 0.0 } else { spread };
    result(mean - lambda * spread)
}

/// Mean and standard deviation of one member's rewards on a reference set that all members have
/// scored. Models whose logits have different scales are comparable only after standardisation; the
/// authors' code leaves this step to the user.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Standard {
    mean: f64,
    std: f64,
}

impl Standard {
    /// Creates a scale from known numbers.
    ///
    /// # Errors
    /// A number that is not finite, or a standard deviation that is not above 0.
    pub fn new(mean: f64, std: f64) -> Result<Self, CombineError> {
        finite("mean", &[mean])?;
        finite("standard deviation", &[std])?;
        if std <= 0.0 {
            return Err(CombineError::OutOfRange {
                what: "standard deviation",
                index: 0,
                range: "above 0",
            });
        }
        Ok(Self { mean, std })
    }

    /// Computes the scale of a member from its rewards on the reference set.
    ///
    /// # Errors
    /// Fewer than two rewards, a reward that is not finite, or rewards that are all equal.
    pub fn of(reference: &[f64], variance: Variance) -> Result<Self, CombineError> {
        super::numbers::at_least(2, "rewards of the reference set", reference.len())?;
        finite("reward of the reference set", reference)?;
        let (mean, spread) = moments(reference, variance)?;
        let spread = if all_equal(reference) { 0.0 } else { spread };
        Self::new(mean, spread.sqrt())
    }

    /// Returns `(reward - mean) / std`.
    ///
    /// # Errors
    /// A reward that is not finite, or a quotient that is not.
    pub fn apply(&self, reward: f64) -> Result<f64, CombineError> {
        finite("reward", &[reward])?;
        result((reward - self.mean) / self.std)
    }
}
