//! Decoupled PPO: the policy that sampled and the proximal policy differ.

use serde::{Deserialize, Serialize};

use super::clip::Clip;
use super::term::{Cut, TokenLoss};
use crate::losses::error::{Result, setting};
use crate::losses::tokens::{Ratio, View};

/// Decoupled PPO of `AReaL` (2505.24298): `w max(-rho A, -clip(rho) A)` with `rho` the ratio of the
/// current weights to the proximal ones and `w` that of the proximal ones to the weights that
/// sampled. Rejected tokens stay in the denominators, as in the published code.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DecoupledPpo {
    /// As for PPO; 0.2. The paper's runs have 0.4.
    pub low: f64,
    /// As for PPO; 0.2. The paper's runs have 0.4.
    pub high: f64,
    /// As for PPO; `None` by default.
    pub dual_clip: Option<f64>,
    /// The largest `w`; 5 as in the published code.
    pub weight_cap: f64,
    /// The rule for tokens above it; they are rejected by default.
    pub beyond_cap: BeyondCap,
    /// Whether ratios belong to tokens or to sequences; to tokens by default.
    pub level: Level,
    /// The proximal policy; by default the weights at the beginning of the step.
    pub proximal: Proximal,
}

/// The rule for a token whose `w` is above the cap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BeyondCap {
    /// It adds nothing.
    #[default]
    Reject,
    /// Its `w` is the cap.
    Clamp,
}

/// The unit of a ratio.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Each token has its own.
    #[default]
    Token,
    /// All tokens of a sequence have the geometric mean of their ratios, for `w` as well as `rho`,
    /// and the mean of their advantages. The gradient is distributed over the tokens as in
    /// [`Gspo`](super::Gspo).
    Sequence,
}

/// The proximal policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Proximal {
    /// The weights at the beginning of the step.
    #[default]
    StepStart,
    /// The weights that sampled: `w` is 1 and this is PPO on stale data.
    Behaviour,
}

impl Default for DecoupledPpo {
    fn default() -> Self {
        Self {
            low: 0.2,
            high: 0.2,
            dual_clip: None,
            weight_cap: 5.0,
            beyond_cap: BeyondCap::Reject,
            level: Level::Token,
            proximal: Proximal::StepStart,
        }
    }
}

impl DecoupledPpo {
    fn clip(&self) -> Clip {
        Clip { dual: self.dual_clip, ..Clip::plain(self.low, self.high) }
    }

    pub(super) fn check(&self) -> Result<()> {
        let holds = self.weight_cap.is_finite() && self.weight_cap >= 1.0;
        setting("weight_cap", "1 or more", holds)?;
        self.clip().check()
    }

    pub(super) fn terms(&self, view: &View<'_>) -> Result<Vec<TokenLoss>> {
        let rollout_logprobs = view.needs_rollout_logprobs("decoupled_ppo")?;
        let proximal = match self.proximal {
            Proximal::StepStart => view.old_logprobs,
            Proximal::Behaviour => rollout_logprobs,
        };
        let terms = match self.level {
            Level::Token => view.map(TokenLoss::NONE, |at| {
                let rho = view.logp[at] - proximal[at];
                self.term(rho, proximal[at] - rollout_logprobs[at], view.advantages[at])
            }),
            Level::Sequence => {
                let zeros = vec![0.0; view.mask.len()];
                let advantage = view.mean_log_ratio(view.advantages, &zeros);
                let rho = view.mean_log_ratio(view.logp, proximal);
                let weight = view.mean_log_ratio(proximal, rollout_logprobs);
                view.map(TokenLoss::NONE, |_| self.term(rho, weight, advantage))
            }
        };
        Ok(terms)
    }

    fn term(&self, log_rho: f64, log_weight: f64, advantage: f64) -> TokenLoss {
        let term = self.clip().term(Ratio::of(log_rho), advantage);
        let weight = Ratio::of(log_weight).value;
        match self.beyond_cap {
            BeyondCap::Reject if weight > self.weight_cap => {
                TokenLoss { cut: Cut::Dropped, ..TokenLoss::NONE }
            }
            BeyondCap::Reject | BeyondCap::Clamp => term.times(weight.min(self.weight_cap)),
        }
    }
}
