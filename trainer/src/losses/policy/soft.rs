//! SAPO, a sigmoid in place of a clip, and DPPO, a bound on probabilities in place of ratios.

use serde::{Deserialize, Serialize};

use super::term::{Cut, TokenLoss};
use crate::losses::error::{Result, setting};
use crate::losses::logistic::sigmoid;
use crate::losses::tokens::{Ratio, View};

/// SAPO (Soft Adaptive Policy Optimization, 2511.20347): `-A sigma(tau (r - 1)) 4 / tau`, whose
/// gradient is that of the ratio at 1 and decays on both sides of it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Sapo {
    /// The temperature for positive advantages; 1, as in trainers.
    pub positive: f64,
    /// The temperature for all others; 1.05, as in trainers.
    pub negative: f64,
}

/// DPPO (2602.04879) as in prime-rl: a token is dropped if its probability has moved too far in the
/// direction of its advantage, and the others add `-A p / q + kl_weight log^2(p / q)` with the
/// probability `q` under the weights that sampled it. The square is over all tokens.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Dppo {
    /// With a negative advantage: dropped if `p - q` is below minus this; 0.2.
    pub low: f64,
    /// With a positive advantage: dropped if `p - q` is above this; 0.2.
    pub high: f64,
    /// The coefficient of the square; 1e-3.
    pub kl_weight: f64,
}

impl Default for Sapo {
    fn default() -> Self {
        Self { positive: 1.0, negative: 1.05 }
    }
}

impl Default for Dppo {
    fn default() -> Self {
        Self { low: 0.2, high: 0.2, kl_weight: 1e-3 }
    }
}

impl Sapo {
    pub(super) fn check(&self) -> Result<()> {
        let holds = [self.positive, self.negative].iter().all(|tau| tau.is_finite() && *tau > 0.0);
        setting("a temperature of SAPO", "above 0", holds)
    }

    pub(super) fn terms(&self, view: &View<'_>) -> Vec<TokenLoss> {
        view.map(TokenLoss::NONE, |at| {
            let advantage = view.advantages[at];
            let tau = if advantage > 0.0 { self.positive } else { self.negative };
            let ratio = Ratio::of(view.logp[at] - view.old_logprobs[at]);
            let gate = sigmoid(tau * (ratio.value - 1.0));
            TokenLoss {
                value: -advantage * gate * 4.0 / tau,
                slope: -advantage * 4.0 * gate * (1.0 - gate) * ratio.slope,
                cut: Cut::No,
            }
        })
    }
}

impl Dppo {
    pub(super) fn check(&self) -> Result<()> {
        let share = |value: f64| (0.0..=1.0).contains(&value);
        setting("low and high of DPPO", "from 0 to 1", share(self.low) && share(self.high))?;
        let holds = self.kl_weight.is_finite() && self.kl_weight >= 0.0;
        setting("kl_weight", "0 or more", holds)
    }

    pub(super) fn terms(&self, view: &View<'_>) -> Vec<TokenLoss> {
        let sampled = view.sampled();
        view.map(TokenLoss::NONE, |at| {
            let advantage = view.advantages[at];
            let moved = view.logp[at].exp() - sampled[at].exp();
            let cut = match moved {
                _ if advantage > 0.0 && moved > self.high => Cut::High,
                _ if advantage < 0.0 && moved < -self.low => Cut::Low,
                _ => Cut::No,
            };
            let log_ratio = view.logp[at] - sampled[at];
            let ratio = Ratio::of(log_ratio);
            let (gain, gain_slope) = match cut {
                Cut::No => (ratio.value * advantage, ratio.slope * advantage),
                Cut::Low | Cut::High | Cut::Dual | Cut::Dropped => (0.0, 0.0),
            };
            TokenLoss {
                value: self.kl_weight * log_ratio * log_ratio - gain,
                slope: 2.0 * self.kl_weight * log_ratio - gain_slope,
                cut,
            }
        })
    }
}
