//! Mean and variance, with the divisor that a method means.

use base::stats::from_count;
use serde::{Deserialize, Serialize};

use super::numbers::{CombineError, at_least, result};

/// What the squared deviations are divided by. Papers and their code differ, so nothing assumes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Variance {
    /// By n: the variance of these numbers.
    Population,
    /// By n - 1: the estimate for where they came from. It needs two numbers.
    Unbiased,
}

/// `values` is not empty and finite; the caller has looked.
pub(super) fn mean(values: &[f64]) -> Result<f64, CombineError> {
    result(values.iter().sum::<f64>() / from_count(values.len()))
}

/// Mean and variance; `values` is not empty and finite.
pub(super) fn moments(values: &[f64], how: Variance) -> Result<(f64, f64), CombineError> {
    let (divisor, least) = match how {
        Variance::Population => (values.len(), 1),
        Variance::Unbiased => (values.len() - 1, 2),
    };
    at_least(least, "numbers for a variance", values.len())?;
    let mean = mean(values)?;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    Ok((mean, result(squares / from_count(divisor))?))
}

/// Whether all numbers are the same one. Then their spread is 0 and not what rounding leaves of
/// it, which a division would blow up.
pub(super) fn all_equal(values: &[f64]) -> bool {
    #[expect(clippy::float_cmp, reason = "the very same number is meant")]
    values.windows(2).all(|pair| pair[0] == pair[1])
}
