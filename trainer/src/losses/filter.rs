//! PF-PPO (Policy Filtration for RLHF, 2409.06957): reward models are reliable at the extremes, so
//! only some of the scored responses to a prompt count.

use serde::{Deserialize, Serialize};

use super::error::{Result, finite, setting};

/// The responses to a prompt that count, by their rewards. The published code draws a batch with
/// replacement in proportion to weights; here each response is weighted by its expected number of
/// draws, so that no randomness remains.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum ResponseFilter {
    /// `BoN`: the best alone.
    BestOfN {},
    /// BR: the best, and any other less often.
    BestRandom {
        /// The weight of the best; 0.4 in the published code.
        #[serde(default = "best")]
        best: f64,
        /// The weight of each other; 0.1 in the published code.
        #[serde(default = "other")]
        other: f64,
    },
    /// BW: the best and the worst, the default of the published code.
    BestWorst {},
    /// In proportion to a power of the reward's size.
    Reweight {
        /// The power; 2 in the published code.
        #[serde(default = "power")]
        power: f64,
    },
}

fn best() -> f64 {
    0.4
}

fn other() -> f64 {
    0.1
}

fn power() -> f64 {
    2.0
}

impl Default for ResponseFilter {
    fn default() -> Self {
        Self::BestWorst {}
    }
}

impl ResponseFilter {
    /// Checks the options.
    ///
    /// # Errors
    /// A negative weight or power, or none above 0.
    pub fn check(&self) -> Result<()> {
        match *self {
            Self::BestOfN {} | Self::BestWorst {} => Ok(()),
            Self::BestRandom { best, other } => {
                let holds = best > 0.0 && best.is_finite() && other >= 0.0 && other.is_finite();
                setting("best and other", "0 or more, best above it", holds)
            }
            Self::Reweight { power } => {
                setting("power", "0 or more", power.is_finite() && power >= 0.0)
            }
        }
    }

    /// The weight of each response, 1 on average: a factor of the policy term of its tokens
    /// ([`Tokens::factors`](super::Tokens::factors)). Of equal rewards the earliest is the best and
    /// the worst. If every weight would be 0, all are 1; that is ours.
    ///
    /// # Errors
    /// An invalid filter, a reward that is not finite, or one whose power is not.
    pub fn weights(&self, rewards: &[f64]) -> Result<Vec<f64>> {
        self.check()?;
        finite("reward", rewards)?;
        let extreme = |is_better: fn(f64, f64) -> bool| {
            (1..rewards.len()).fold(0, |found, at| {
                if is_better(rewards[at], rewards[found]) { at } else { found }
            })
        };
        let most = extreme(|a, b| a > b);
        let mut weights = match *self {
            Self::BestOfN {} | Self::BestWorst {} => vec![0.0; rewards.len()],
            Self::BestRandom { other, .. } => vec![other; rewards.len()],
            Self::Reweight { power } => rewards.iter().map(|r| r.abs().powf(power)).collect(),
        };
        if weights.is_empty() {
            return Ok(weights);
        }
        match *self {
            Self::BestOfN {} => weights[most] = 1.0,
            Self::BestRandom { best, .. } => weights[most] = best,
            Self::BestWorst {} => {
                weights[most] = 1.0;
                weights[extreme(|a, b| a < b)] = 1.0;
            }
            Self::Reweight { .. } => {}
        }
        finite("weight of response", &weights)?;
        let sum: f64 = weights.iter().sum();
        finite("sum of weights of response", &[sum])?;
        if sum == 0.0 {
            return Ok(vec![1.0; rewards.len()]);
        }
        let scale = rewards.len() as f64 / sum;
        Ok(weights.into_iter().map(|weight| weight * scale).collect())
    }
}
