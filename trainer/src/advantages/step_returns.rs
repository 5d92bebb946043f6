//! Returns of shaped step rewards and the outcome.

use rubrics::combine::group::Normalisation;
use rubrics::combine::shaping::{Ending, Shaping, shape};
use serde::{Deserialize, Serialize};

use super::ScoredResponse;
use super::group::check_normalisation;
use super::process::{STANDARD, all_own_rewards, by_outcomes, has_no_steps, relative_returns};
use super::steps::check_gamma;
use crate::losses::error::{FormulaError, Result, finite, lengths, setting};

/// Returns of step rewards, relative to those of all steps of the group: On Designing Effective RL
/// Reward at Training Time for LLM Reasoning (2410.15115), and SPA-RL (2505.20732) with its rewards
/// ([`grounded_rewards`](super::steps::grounded_rewards)). Signals are [`Signal::Reward`], made by
/// [`StepReturns::rewards`]. The papers' PPO has a critic; the group in its place is ours. In a group
/// without steps, such as of judgements, tokens have the advantage of the outcome.
///
/// [`Signal::Reward`]: super::Signal::Reward
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StepReturns {
    /// The map from step scores to step rewards.
    pub shaping: StepShaping,
    /// Clip's threshold, 0.5 by default; for `clip` and `clip_delta` alone.
    pub eta: Option<f64>,
    /// The last two steps under Delta, `success_only` by default; for `delta` and `clip_delta` alone.
    pub ending: Option<Ending>,
    /// Weight of the reward of the response, which the last step earns; 1 by default. 0 suits
    /// contributions of steps that add up to it already.
    pub outcome: f64,
    /// Weight of step rewards; 1 by default. The paper's value is not known.
    pub alpha: f64,
    /// The discount from step to step; 1 by default.
    pub gamma: f64,
    /// The normalisation of returns.
    pub normalise: Normalisation,
}

/// The map from step scores to step rewards.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepShaping {
    /// Rewards that the scorer shaped by its own `shaping`; a scorer without it is refused.
    #[default]
    Scorer,
    /// `min(q_k - eta, 0)`.
    Clip,
    /// `q_k - q_(k+1)`.
    Delta,
    /// Delta of the clipped scores, the best of the three in the paper.
    ClipDelta,
    /// The scores themselves. Each further step adds to their sum, so that a policy learns to write
    /// many steps, right or not, and no answer.
    RawMoreStepsEarnMore,
}

/// The default of `eta`.
const ETA: f64 = 0.5;

impl Default for StepReturns {
    fn default() -> Self {
        Self {
            shaping: StepShaping::default(),
            eta: None,
            ending: None,
            outcome: 1.0,
            alpha: 1.0,
            gamma: 1.0,
            normalise: STANDARD,
        }
    }
}

impl StepReturns {
    pub(super) fn check(&self) -> Result<()> {
        let (clips, differs) = match self.shaping {
            StepShaping::Scorer | StepShaping::RawMoreStepsEarnMore => (false, false),
            StepShaping::Clip => (true, false),
            StepShaping::Delta => (false, true),
            StepShaping::ClipDelta => (true, true),
        };
        setting("eta", "unset without `clip` or `clip_delta`", clips || self.eta.is_none())?;
        setting("eta", "finite", self.eta.is_none_or(f64::is_finite))?;
        setting(
            "ending",
            "unset without `delta` or `clip_delta`",
            differs || self.ending.is_none(),
        )?;
        setting("outcome", "finite", self.outcome.is_finite())?;
        setting("alpha", "finite", self.alpha.is_finite())?;
        check_gamma(self.gamma)?;
        check_normalisation(self.normalise)
    }

    /// Rewards of the steps of a response with these step scores: shaped, times `alpha`, and the
    /// reward of the response, `outcome`, added to the last step. A response without steps is one
    /// step. `shaped` has the rewards of a scorer with `shaping`.
    ///
    /// # Errors
    /// [`FormulaError::Missing`] if shaped rewards are missing; numbers that are not finite.
    pub fn rewards(
        &self,
        scores: &[f64],
        shaped: Option<&[f64]>,
        outcome: f64,
    ) -> Result<Vec<f64>> {
        finite("reward", &[outcome])?;
        let eta = self.eta.unwrap_or(ETA);
        let ending = self.ending.unwrap_or_default();
        let how = match self.shaping {
            StepShaping::Scorer | StepShaping::RawMoreStepsEarnMore => None,
            StepShaping::Clip => Some(Shaping::Clip { eta }),
            StepShaping::Delta => Some(Shaping::Delta { ending }),
            StepShaping::ClipDelta => Some(Shaping::ClipThenDelta { eta, ending }),
        };
        let mut rewards = match (how, self.shaping, shaped) {
            (Some(how), _, _) => shape(scores, how)?,
            (None, StepShaping::RawMoreStepsEarnMore, _) => scores.to_vec(),
            (None, _, Some(shaped)) => shaped.to_vec(),
            (None, _, None) if scores.is_empty() => Vec::new(),
            (None, _, None) => {
                return Err(FormulaError::Missing {
                    method: "step_returns",
                    what: "shaped step rewards: raw sums of step scores are refused, because more \
                           steps earn more; set `shaping` of the scorer, or `shaping` of the \
                           advantage to \"clip\", \"delta\" or \"clip_delta\"",
                });
            }
        };
        lengths("step rewards", rewards.len(), scores.len())?;
        for reward in &mut rewards {
            *reward *= self.alpha;
        }
        match rewards.last_mut() {
            Some(last) => *last += self.outcome * outcome,
            None => rewards.push(self.outcome * outcome),
        }
        finite("step reward", &rewards)?;
        Ok(rewards)
    }

    pub(super) fn group(&self, group: &[ScoredResponse<'_>]) -> Result<Vec<Vec<f64>>> {
        if has_no_steps(group) {
            return by_outcomes(group, self.normalise);
        }
        let rewards = all_own_rewards(group)?;
        relative_returns(group, &rewards, self.gamma, self.normalise)
    }
}
