//! Losses `-c A logp` with a constant coefficient: REINFORCE, CISPO and AIPO.

use serde::{Deserialize, Serialize};

use super::term::{Cut, TokenLoss};
use crate::losses::error::{Result, setting};
use crate::losses::tokens::{Ratio, View};

/// REINFORCE (R. J. Williams, 1992): `-A logp`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reinforce {}

/// CISPO (MiniMax-M1, 2506.13585), `-sg[clip(r)] A logp`, with the bound of TRL: `r` is clipped
/// from above only, at `high` itself.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CispoTrl {
    /// The largest ratio; 5, which TRL recommends.
    pub high: f64,
}

/// CISPO with the bounds of verl: `r` is clipped to `[1 - low, 1 + high]`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CispoVerl {
    /// 0.2, the trainer's default for every clipped loss.
    pub low: f64,
    /// 0.2, the trainer's default for every clipped loss.
    pub high: f64,
}

/// CISPO with the bounds of `SkyRL`, `[1 - low, 1 + high]`, and defaults that make them `[0, 5]`:
/// no lower bound.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CispoSkyrl {
    /// 1.
    pub low: f64,
    /// 4.
    pub high: f64,
}

/// AIPO (`LlamaRL`, 2505.24034): `-sg[min(pi / mu, cap)] A logp`, truncated from above only.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Aipo {
    /// The largest ratio. The paper reports 2 to 10; the default of 2 is ours.
    pub cap: f64,
}

impl Default for CispoTrl {
    fn default() -> Self {
        Self { high: 5.0 }
    }
}

impl Default for CispoVerl {
    fn default() -> Self {
        Self { low: 0.2, high: 0.2 }
    }
}

impl Default for CispoSkyrl {
    fn default() -> Self {
        Self { low: 1.0, high: 4.0 }
    }
}

impl Default for Aipo {
    fn default() -> Self {
        Self { cap: 2.0 }
    }
}

/// The bounds of a ratio with a stopped gradient.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Bounds {
    pub(super) least: f64,
    pub(super) most: f64,
}

impl Bounds {
    pub(super) fn check(&self) -> Result<()> {
        let holds = self.most.is_finite() && self.most >= 1.0 && self.least <= 1.0;
        setting("the bounds of a ratio", "finite, and on either side of 1", holds)
    }

    /// Tokens weighted by the constant ratio to `below`, limited to the bounds.
    pub(super) fn terms(&self, view: &View<'_>, below: &[f64]) -> Vec<TokenLoss> {
        view.map(TokenLoss::NONE, |at| {
            let ratio = Ratio::of(view.logp[at] - below[at]).value;
            let cut = match ratio {
                _ if ratio < self.least => Cut::Low,
                _ if ratio > self.most => Cut::High,
                _ => Cut::No,
            };
            let held = ratio.clamp(self.least, self.most);
            TokenLoss::linear(held * view.advantages[at], view.logp[at], cut)
        })
    }
}

impl CispoTrl {
    pub(super) fn bounds(self) -> Bounds {
        Bounds { least: 0.0, most: self.high }
    }
}

impl CispoVerl {
    pub(super) fn bounds(self) -> Bounds {
        Bounds { least: 1.0 - self.low, most: 1.0 + self.high }
    }
}

impl CispoSkyrl {
    pub(super) fn bounds(self) -> Bounds {
        Bounds { least: 1.0 - self.low, most: 1.0 + self.high }
    }
}

impl Aipo {
    pub(super) fn bounds(self) -> Bounds {
        Bounds { least: 0.0, most: self.cap }
    }
}

impl Reinforce {
    pub(super) fn terms(view: &View<'_>) -> Vec<TokenLoss> {
        view.map(TokenLoss::NONE, |at| {
            TokenLoss::linear(view.advantages[at], view.logp[at], Cut::No)
        })
    }
}
