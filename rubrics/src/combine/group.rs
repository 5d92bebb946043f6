//! Rewards relative to their group: the responses to one prompt.

use base::stats::from_count;
use serde::{Deserialize, Serialize};

use super::numbers::{CombineError, at_least, finite, not_negative, results, some_finite};
use super::spread::Variance;
use super::spread::{all_equal, finite_mean, moments};

/// How a group's rewards become advantages.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Normalisation {
    /// `(r_i - mean) / (std + epsilon)`, as in GRPO.
    Grpo {
        /// The divisor of the standard deviation.
        variance: Variance,
        /// 0 or more.
        epsilon: f64,
    },
    /// `r_i - mean`.
    Mean,
    /// `r_i` less the mean of the others, as OREAL (2502.06781) does.
    LeaveOneOut,
}

/// SPARK's normalisation (2509.22624): unbiased variance, epsilon 1e-9.
pub const SPARK: Normalisation =
    Normalisation::Grpo { variance: Variance::Unbiased, epsilon: 1e-9 };

/// Computes the advantage of each reward. A group of one and a group of equal rewards do not rank
/// responses: every advantage is then exactly 0, under every normalisation.
///
/// # Errors
/// No reward, a negative epsilon, or a number that is not finite.
pub fn advantages(rewards: &[f64], how: Normalisation) -> Result<Vec<f64>, CombineError> {
    some_finite("reward", rewards)?;
    if let Normalisation::Grpo { epsilon, .. } = how {
        not_negative("epsilon", &[epsilon])?;
    }
    if all_equal(rewards) {
        return Ok(vec![0.0; rewards.len()]);
    }
    let centred = |centre: f64| rewards.iter().map(move |reward| reward - centre);
    let values = match how {
        Normalisation::Grpo { variance, epsilon } => {
            let (mean, spread) = moments(rewards, variance)?;
            let scale = spread.sqrt() + epsilon;
            centred(mean).map(|value| value / scale).collect()
        }
        Normalisation::Mean => centred(finite_mean(rewards)?).collect(),
        Normalisation::LeaveOneOut => {
            let n = from_count(rewards.len());
            // r - (S - r) / (n - 1) is (r - S / n) n / (n - 1).
            centred(finite_mean(rewards)?).map(|value| value * (n / (n - 1.0))).collect()
        }
    };
    results(values)
}

/// Returns the share of rewards that are at least `least`.
///
/// # Errors
/// No reward, or a number that is not finite.
pub fn pass_rate(rewards: &[f64], least: f64) -> Result<f64, CombineError> {
    at_least(1, "rewards", rewards.len())?;
    finite("reward", rewards)?;
    finite("threshold", &[least])?;
    let passed = rewards.iter().filter(|reward| **reward >= least).count();
    Ok(from_count(passed) / from_count(rewards.len()))
}
