//! Mean and variance, with the divisor that a method uses.

use base::stats::from_count;
use serde::{Deserialize, Serialize};

use super::numbers::{CombineError, at_least, result};

/// Divisor of the squared deviations. Papers and their code differ, so there is no default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Variance {
    /// n: the variance of these numbers.
    Population,
    /// n - 1: the estimate for their distribution. It needs two numbers.
    Unbiased,
}

/// Returns the mean; `values` is not empty and finite.
pub(super) fn finite_mean(values: &[f64]) -> Result<f64, CombineError> {
    result(values.iter().sum::<f64>() / from_count(values.len()))
}

/// Returns mean and variance; `values` is not empty and finite.
pub(super) fn moments(values: &[f64], how: Variance) -> Result<(f64, f64), CombineError> {
    let (divisor, least) = match how {
        Variance::Population => (values.len(), 1),
        Variance::Unbiased => (values.len() - 1, 2),
    };
    at_least(least, "numbers for a variance", values.len())?;
    let mean = finite_mean(values)?;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    Ok((mean, result(squares / from_count(divisor))?))
}

/// Whether all numbers are equal. Their spread is then exactly 0; computed, it could be a rounding
/// error, which a division would magnify.
pub(super) fn all_equal(values: &[f64]) -> bool {
    #[expect(clippy::float_cmp, reason = "the very same number is meant")]
    values.windows(2).all(|pair| pair[0] == pair[1])
}
