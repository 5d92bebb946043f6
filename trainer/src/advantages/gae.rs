//! Generalised advantage estimation: advantages against a value model.

use rubrics::combine::Variance;
use rubrics::combine::renorm::{OutcomeAt, renorm};
use serde::{Deserialize, Serialize};

use super::batch::{Whitening, flat, shaped_as};
use super::process::own_rewards;
use super::steps::check_gamma;
use super::{ScoredResponse, TokenAdvantages};
use crate::losses::error::{FormulaError, Result, finite, lengths, setting};
use crate::losses::kl::Kl;

/// GAE (High-Dimensional Continuous Control Using Generalized Advantage Estimation, 1506.02438), as
/// PPO for language models has it: `A_t = delta_t + gamma lambda A_(t+1)` with `delta_t = r_t + gamma
/// V_(t+1) - V_t`, and a value of 0 after the last token, that of a truncated response included.
/// Values are [`ScoredResponse::values`]. The reward of the response is that of its last token.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Gae {
    /// The discount from token to token; 1 as in TRL and verl.
    pub gamma: f64,
    /// The weight of later tokens; 0.95 as in TRL (verl has 1).
    pub lambda: f64,
    /// Whether advantages are whitened over the tokens of the batch: mean 0, unbiased variance 1.
    pub whiten: bool,
    /// The divergence from the reference that is taken off the reward of each token; `None` by
    /// default. TRL has the estimator `k1` with a weight of 0.05.
    pub kl: Option<Kl>,
    /// Adds rewards of steps by `ReNorm` (PPR, 2509.25598) at the last token of each, in the place
    /// of the reward of the response, which enters as this says. Both are then in [0, 1].
    pub renorm: Option<OutcomeAt>,
    /// Rewards of steps at the last token of each, in the place of the reward of the response
    /// (`PRLCoder`, 2502.01715), which a response without steps keeps. Not beside `renorm`.
    pub steps: Option<StepReward>,
}

/// The reward of a step by its score, from 0 for wrong to 1 for right. Which of both `PRLCoder` has is not
/// known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepReward {
    /// The score.
    Score,
    /// 1 above one half, else -1.
    Signed,
}

impl StepReward {
    fn of(self, score: f64) -> f64 {
        match self {
            StepReward::Score => score,
            StepReward::Signed if score > 0.5 => 1.0,
            StepReward::Signed => -1.0,
        }
    }
}

/// Advantages of one response before whitening, and its returns, which its values are trained on.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    /// One per token.
    pub advantages: Vec<f64>,
    /// Advantage plus value of each token.
    pub returns: Vec<f64>,
}

/// verl's and TRL's whitening, whose variance is at least 1e-8 here and gets 1e-8 added there.
const WHITENING: Whitening = Whitening { variance: Variance::Unbiased, floor: 1e-8 };

impl Default for Gae {
    fn default() -> Self {
        Self { gamma: 1.0, lambda: 0.95, whiten: true, kl: None, renorm: None, steps: None }
    }
}

impl Gae {
    pub(super) fn check(&self) -> Result<()> {
        check_gamma(self.gamma)?;
        setting("lambda", "from 0 to 1", (0.0..=1.0).contains(&self.lambda))?;
        setting("steps", "without `renorm`", self.steps.is_none() || self.renorm.is_none())?;
        self.kl.map_or(Ok(()), |kl| kl.check())
    }

    /// Whether it reads the scores of steps.
    pub fn reads_steps(&self) -> bool {
        self.renorm.is_some() || self.steps.is_some()
    }

    /// The advantages and returns of a response.
    ///
    /// # Errors
    /// [`FormulaError::Missing`] without values; steps or rewards that do not fit, and numbers that
    /// are not finite.
    pub fn estimate(&self, index: usize, response: &ScoredResponse<'_>) -> Result<Estimate> {
        let n = response.n_tokens;
        let values = response.values;
        if values.is_empty() && n > 0 {
            return Err(FormulaError::Missing { method: "gae", what: "a value of each token" });
        }
        lengths("values", values.len(), n)?;
        finite("value", values)?;
        let rewards = self.rewards(index, response)?;
        let mut advantages = vec![0.0; n];
        let (mut later, mut value_after) = (0.0, 0.0);
        for at in (0..n).rev() {
            let delta = rewards[at] + self.gamma * value_after - values[at];
            later = delta + self.gamma * self.lambda * later;
            advantages[at] = later;
            value_after = values[at];
        }
        let returns: Vec<f64> =
            advantages.iter().zip(values).map(|(own, value)| own + value).collect();
        finite("return", &returns)?;
        Ok(Estimate { advantages, returns })
    }

    /// The reward of each token.
    fn rewards(&self, index: usize, response: &ScoredResponse<'_>) -> Result<Vec<f64>> {
        let mut rewards = match response.token_rewards {
            [] => vec![0.0; response.n_tokens],
            given => given.to_vec(),
        };
        let own = if self.reads_steps() { own_rewards(index, response)? } else { Vec::new() };
        let shares = match (self.renorm, self.steps) {
            _ if own.is_empty() => Vec::new(),
            (Some(at), _) => renorm(&own, response.reward, at)?,
            (None, Some(reward)) => own.iter().map(|score| reward.of(*score)).collect(),
            (None, None) => Vec::new(),
        };
        for (step, share) in response.steps.iter().zip(&shares) {
            rewards[step.tokens.end - 1] += share;
        }
        if let (Some(last), []) = (rewards.last_mut(), shares.as_slice()) {
            *last += response.reward;
        }
        Ok(rewards)
    }

    pub(super) fn evaluate(&self, groups: &[Vec<ScoredResponse<'_>>]) -> Result<TokenAdvantages> {
        let mut advantages = Vec::with_capacity(groups.len());
        for group in groups {
            let own = group.iter().enumerate().map(|(index, response)| {
                self.estimate(index, response).map(|estimate| estimate.advantages)
            });
            advantages.push(own.collect::<Result<Vec<_>>>()?);
        }
        if !self.whiten {
            return Ok(advantages);
        }
        let (whitened, _) = WHITENING.apply(&flat(&advantages))?;
        Ok(shaped_as(&advantages, whitened))
    }
}
