//! The clipped surrogate of PPO and the papers that kept it.
//!
//! `-min(r A, clip(r, 1 - low, 1 + high) A)`, from Proximal Policy Optimization Algorithms
//! (1707.06347). GRPO, Dr.GRPO and DAPO are this surrogate with other bounds and other
//! aggregations; their other differences are in their advantages.

use serde::{Deserialize, Serialize};

use super::term::{Cut, TokenLoss};
use crate::losses::error::{Result, setting};
use crate::losses::tokens::{Ratio, View};

/// PPO (1707.06347), by default aggregated over all tokens.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Ppo {
    /// A ratio is clipped below 1 - this; 0.2 as in the paper.
    pub low: f64,
    /// A ratio is clipped above 1 + this; 0.2 as in the paper.
    pub high: f64,
    /// Maximum ratio of the unclipped term, which bounds the loss of tokens with a negative
    /// advantage: the two-sided clipping of INTELLECT-2 (2505.07291), `delta` in trainers. Above
    /// `1 + high`; `None` by default.
    pub ratio_cap: Option<f64>,
    /// Maximum loss of a token with a negative advantage, times that advantage: dual-clip PPO
    /// (1912.09729), which has 3. Above 1; `None` by default.
    pub dual_clip: Option<f64>,
}

/// GRPO (`DeepSeekMath`, 2402.03300), aggregated over tokens and then over sequences.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Grpo {
    /// As for PPO; 0.2 by common practice.
    pub low: f64,
    /// As for PPO; 0.2 by common practice.
    pub high: f64,
    /// As for PPO; `None` by default.
    pub ratio_cap: Option<f64>,
}

/// Dr.GRPO (Understanding R1-Zero-Like Training, 2503.20783): the sum over tokens by a constant.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DrGrpo {
    /// As for PPO; 0.2 by common practice.
    pub low: f64,
    /// As for PPO; 0.2 by common practice.
    pub high: f64,
}

/// DAPO (2503.14476): the upper bound is wider than the lower one, and every token of the batch has
/// the same weight.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Dapo {
    /// The paper's 0.2.
    pub low: f64,
    /// The paper's 0.28.
    pub high: f64,
}

/// `StableReinforce` (R1-Reward, 2505.02835): the log-ratio is clipped before the exponential, and
/// PPO follows. Its filter of advantages is
/// [`AdvantageKind::StableReinforce`](crate::advantages::AdvantageKind::StableReinforce).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StableReinforce {
    /// Minimum ratio before any other step; 1e-3 in the published code.
    pub least_ratio: f64,
    /// Maximum ratio before any other step; 1e3 in the published code.
    pub most_ratio: f64,
    /// As for PPO; 0.2 in the published code.
    pub low: f64,
    /// As for PPO; 0.2 in the published code.
    pub high: f64,
}

impl Default for Ppo {
    fn default() -> Self {
        Self { low: 0.2, high: 0.2, ratio_cap: None, dual_clip: None }
    }
}

impl Default for Grpo {
    fn default() -> Self {
        Self { low: 0.2, high: 0.2, ratio_cap: None }
    }
}

impl Default for DrGrpo {
    fn default() -> Self {
        Self { low: 0.2, high: 0.2 }
    }
}

impl Default for Dapo {
    fn default() -> Self {
        Self { low: 0.2, high: 0.28 }
    }
}

impl Default for StableReinforce {
    fn default() -> Self {
        Self { least_ratio: 1e-3, most_ratio: 1e3, low: 0.2, high: 0.2 }
    }
}

/// The bounds of a clipped surrogate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Clip {
    pub(crate) low: f64,
    pub(crate) high: f64,
    pub(crate) cap: Option<f64>,
    pub(crate) dual: Option<f64>,
}

impl Clip {
    pub(crate) fn plain(low: f64, high: f64) -> Self {
        Self { low, high, cap: None, dual: None }
    }

    pub(crate) fn check(&self) -> Result<()> {
        setting("low", "from 0 to 1", (0.0..=1.0).contains(&self.low))?;
        let high = self.high.is_finite() && self.high >= 0.0;
        setting("high", "0 or more", high)?;
        if let Some(cap) = self.cap {
            let holds = cap.is_finite() && cap > 1.0 + self.high;
            setting("ratio_cap", "above 1 + high", holds)?;
        }
        if let Some(dual) = self.dual {
            setting("dual_clip", "above 1", dual.is_finite() && dual > 1.0)?;
        }
        Ok(())
    }

    /// If both terms are equal, the ratio lies within the bounds and has its full gradient.
    pub(crate) fn term(&self, ratio: Ratio, advantage: f64) -> TokenLoss {
        let (least, most) = (1.0 - self.low, 1.0 + self.high);
        let capped = self.cap.filter(|cap| ratio.value > *cap);
        let free = capped.unwrap_or(ratio.value) * advantage;
        let clipped = ratio.value.clamp(least, most) * advantage;
        let free_slope = match capped {
            Some(_) => 0.0,
            None => ratio.slope * advantage,
        };
        let term = if free <= clipped {
            TokenLoss {
                value: -free,
                slope: -free_slope,
                cut: capped.map_or(Cut::No, |_| Cut::High),
            }
        } else {
            let cut = if ratio.value < least { Cut::Low } else { Cut::High };
            let (value, slope) = (-clipped, 0.0);
            TokenLoss { value, slope, cut }
        };
        match self.dual {
            Some(dual) if advantage < 0.0 && term.value > -dual * advantage => {
                TokenLoss { value: -dual * advantage, slope: 0.0, cut: Cut::Dual }
            }
            Some(_) | None => term,
        }
    }
}

impl Ppo {
    pub(crate) fn clip(&self) -> Clip {
        Clip { low: self.low, high: self.high, cap: self.ratio_cap, dual: self.dual_clip }
    }
}

impl Grpo {
    pub(crate) fn clip(&self) -> Clip {
        let cap = self.ratio_cap;
        Clip { cap, ..Clip::plain(self.low, self.high) }
    }
}

impl StableReinforce {
    pub(super) fn check(&self) -> Result<()> {
        let holds = self.least_ratio > 0.0
            && self.least_ratio < 1.0
            && self.most_ratio > 1.0
            && self.most_ratio.is_finite();
        setting("least_ratio and most_ratio", "above 0, and on either side of 1", holds)?;
        Clip::plain(self.low, self.high).check()
    }

    pub(super) fn terms(&self, view: &View<'_>) -> Vec<TokenLoss> {
        let clip = Clip::plain(self.low, self.high);
        let (low, high) = (self.least_ratio.ln(), self.most_ratio.ln());
        view.map(TokenLoss::NONE, |at| {
            let ratio = Ratio::within(view.logp[at] - view.old_logprobs[at], low, high);
            clip.term(ratio, view.advantages[at])
        })
    }
}

/// The terms of tokens that each have their own ratio.
pub(super) fn terms(clip: Clip, view: &View<'_>) -> Vec<TokenLoss> {
    view.map(TokenLoss::NONE, |at| {
        let ratio = Ratio::of(view.logp[at] - view.old_logprobs[at]);
        clip.term(ratio, view.advantages[at])
    })
}
