//! Negative-aware fine-tuning: supervised learning on right and wrong responses.

use serde::{Deserialize, Serialize};

use super::term::{Cut, TokenLoss};
use crate::losses::error::{FormulaError, Result, setting};
use crate::losses::tokens::{Ratio, View};

/// NFT (Bridging Supervised Learning and Reinforcement Learning in Math Reasoning, 2505.18116). With
/// the pass rate `p` of the group and `R = pi / pi_old`, a token of a right response has the loss
/// `-w log R`, and one of a wrong response `-w log max(x, floor)` with `x = (1 - p R) / (1 - p)`, the
/// implicit policy of wrong responses; below the floor `x` keeps its gradient. Advantages are not
/// read.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Nft {
    /// The weight `w` of a group.
    pub weight: GroupWeight,
    /// Weight of wrong responses: 1 is NFT, 0 leaves right ones alone (RFT).
    pub negative: f64,
    /// The least `x`, above 0; 1 in the published code.
    pub floor: f64,
}

/// The weight of a group in NFT by its pass rate `p`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GroupWeight {
    /// `1 - p`, with which a step on policy is that of Dr.GRPO.
    #[default]
    Hardness,
    /// `sqrt((1 - p) / p)`, with which it is that of GRPO.
    Deviation,
    /// 1.
    Even,
}

/// Log-ratios above it are constant, as in the published code.
const MOST_LOG_RATIO: f64 = 10.0;

/// Bounds of a pass rate, as in the published code.
const PASS_RATES: (f64, f64) = (0.02, 0.98);

impl Default for Nft {
    fn default() -> Self {
        Self { weight: GroupWeight::default(), negative: 1.0, floor: 1.0 }
    }
}

impl GroupWeight {
    fn of(self, p: f64) -> f64 {
        match self {
            GroupWeight::Hardness => 1.0 - p,
            GroupWeight::Deviation => ((1.0 - p) / p).sqrt(),
            GroupWeight::Even => 1.0,
        }
    }
}

impl Nft {
    pub(super) fn check(&self) -> Result<()> {
        let negative = self.negative.is_finite() && self.negative >= 0.0;
        setting("negative", "0 or more", negative)?;
        setting("floor", "above 0", self.floor.is_finite() && self.floor > 0.0)
    }

    pub(super) fn terms(&self, view: &View<'_>) -> Result<Vec<TokenLoss>> {
        let missing = |what| FormulaError::Missing { method: "nft", what };
        let positive = view.positive.ok_or(missing("to know which responses are right"))?;
        let pass_rate = view.pass_rate.ok_or(missing("the pass rate of each group"))?;
        let p = pass_rate.clamp(PASS_RATES.0, PASS_RATES.1);
        let weight = self.weight.of(p);
        Ok(view.map(TokenLoss::NONE, |at| {
            let log_ratio = view.logp[at] - view.old_logprobs[at];
            let cut = if log_ratio > MOST_LOG_RATIO { Cut::High } else { Cut::No };
            if positive {
                let slope = if cut == Cut::No { -weight } else { 0.0 };
                return TokenLoss { value: -weight * log_ratio.min(MOST_LOG_RATIO), slope, cut };
            }
            let ratio = Ratio::within(log_ratio, f64::NEG_INFINITY, MOST_LOG_RATIO);
            let x = (1.0 - p * ratio.value) / (1.0 - p);
            let held = x.max(self.floor);
            let own = self.negative * weight;
            TokenLoss {
                value: -own * held.ln(),
                slope: own * p * ratio.slope / ((1.0 - p) * held),
                cut: if x < self.floor { Cut::Low } else { cut },
            }
        }))
    }
}
