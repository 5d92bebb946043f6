//! Divergence from a reference, estimated at the sampled tokens.
//!
//! With `d = log pi - log pi_ref` at a token that `pi` sampled, `k1 = d`, `k2 = d^2 / 2` and
//! `k3 = exp(-d) + d - 1` (Approximating KL Divergence, J. Schulman's note of 2020) have about the
//! same mean and very different gradients. As a loss, `k1` has a gradient whose mean is 0: put it
//! in the reward, or use `k2`, whose gradient is that of the divergence.

use serde::{Deserialize, Serialize};

use super::error::{Result, finite, lengths, setting};
use super::tokens::{MAX_LOG_RATIO, Ratio};

/// The estimator of a divergence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Estimator {
    /// `d`.
    K1,
    /// `d^2 / 2`.
    K2,
    /// `exp(-d) + d - 1`, never negative. SPARK (2509.22624) and RLVR trainers in general.
    #[default]
    K3,
    /// The value of `k3` with the gradient of `k2`.
    K3Plus,
    /// `r k3` with the ratio of the step, whose gradient is unbiased if `r` is not 1, as reported
    /// for DeepSeek-V3.2 (2512.02556).
    Unbiased,
}

/// A divergence term of a loss.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kl {
    /// Its coefficient. It has no default; 1e-3 in SPARK.
    pub weight: f64,
    /// Its estimator; `k3` by default.
    #[serde(default)]
    pub estimator: Estimator,
}

impl Kl {
    /// Checks the options.
    ///
    /// # Errors
    /// A weight that is negative or not finite.
    pub fn check(&self) -> Result<()> {
        let holds = self.weight.is_finite() && self.weight >= 0.0;
        setting("kl.weight", "0 or more", holds)
    }
}

impl Estimator {
    /// The estimator for tokens that have no ratio of a step.
    pub(crate) fn without_step(self) -> Self {
        match self {
            Self::Unbiased => Self::K3,
            Self::K1 | Self::K2 | Self::K3 | Self::K3Plus => self,
        }
    }

    /// The estimate at a token and its derivative with respect to `logp`. `step` is the ratio to
    /// the policy that sampled. Differences are limited to ±20 nats in the exponential.
    pub(crate) fn at(self, logp: f64, reference: f64, step: Ratio) -> (f64, f64) {
        let d = logp - reference;
        let inverse = Ratio::of(-d);
        let k3 = inverse.value + d.clamp(-MAX_LOG_RATIO, MAX_LOG_RATIO) - 1.0;
        let inside = d.abs() <= MAX_LOG_RATIO;
        let k3_slope = if inside { 1.0 - inverse.value } else { 0.0 };
        match self {
            Self::K1 => (d, 1.0),
            Self::K2 => (0.5 * d * d, d),
            Self::K3 => (k3, k3_slope),
            Self::K3Plus => (k3, d),
            Self::Unbiased => (step.value * k3, step.slope * k3 + step.value * k3_slope),
        }
    }
}

/// `-weight k` at each token: the divergence as part of the reward, where it has no gradient.
/// `logp` is under the policy that sampled, for which [`Estimator::Unbiased`] is `k3`.
///
/// # Errors
/// Lists of different lengths, or a number that is not finite.
pub fn penalties(kl: &Kl, logp: &[f64], reference: &[f64]) -> Result<Vec<f64>> {
    kl.check()?;
    lengths("reference log-probabilities", reference.len(), logp.len())?;
    finite("log-probability", logp)?;
    finite("reference log-probability", reference)?;
    let sampled = Ratio::of(0.0);
    let penalty = |(logp, reference): (&f64, &f64)| {
        -kl.weight * kl.estimator.at(*logp, *reference, sampled).0
    };
    Ok(logp.iter().zip(reference).map(penalty).collect())
}
