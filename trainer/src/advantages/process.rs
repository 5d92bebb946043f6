//! Process-aware advantages. The formulas of CAPO, TP-GRPO and PPR are those of
//! [`rubrics::combine`], which the server's process scorers use.

use rubrics::combine::Variance;
use rubrics::combine::critique::{Weights, step_rewards, token_advantages};
use rubrics::combine::group::{Normalisation, advantages};
use rubrics::combine::renorm::{OutcomeAt, renorm};
use rubrics::combine::thoughts;
use serde::{Deserialize, Serialize};

use super::group::{check_epsilon, check_normalisation, outcomes};
use super::steps::{check_gamma, over_steps, token_returns, towards_steps};
use super::{ScoredResponse, Signal};
use crate::losses::error::{FormulaError, Result, setting};

/// Division of a group's numbers by their standard deviation; our choice for papers that only say
/// "normalised".
pub(super) const STANDARD: Normalisation =
    Normalisation::Grpo { variance: Variance::Unbiased, epsilon: 1e-4 };

/// CAPO (2508.02298): a token earns `r W_whole - wrong W_process`, and all token rewards of a group
/// are normalised together. Rewards are 0 or 1; signals are [`Signal::Wrong`]. Tokens outside steps
/// count as not wrong.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Capo {
    /// Weight of a right response; 2 in the paper.
    pub whole: f64,
    /// Weight of a wrong step; 1 in the paper.
    pub process: f64,
    /// The normalisation of token rewards. The unbiased standard deviation and 1e-4 are ours.
    pub normalise: Normalisation,
}

/// TP-GRPO (2507.23317): outcomes are standardised over the group, thoughts add or take
/// `r_c = alpha acc_G`. Rewards are 0 or 1; signals are [`Signal::Label`]. Tokens outside thoughts
/// have the outcome's advantage, which is ours.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TpGrpo {
    /// Penalty of a wrong thought if every response of the group is right. The paper's value is not
    /// known, so there is no default.
    pub alpha: f64,
    /// The standardisation of outcomes. The unbiased standard deviation and 1e-4 are ours.
    #[serde(default = "standard")]
    pub normalise: Normalisation,
}

/// PPR (2509.25598): process and outcome rewards in [0, 1] are combined by `ReNorm`, and a step's
/// tokens have the return from that step on. Signals are [`Signal::Reward`].
///
/// The paper trains a critic and uses GAE; this trainer has none, so that returns relative to all
/// steps of the group replace it, which is ours. In a group without steps, such as of judgements, tokens
/// have the advantage of the outcome.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Ppr {
    /// The steps at which the outcome enters. Both readings are ours; at every step by default.
    pub outcome: OutcomeAt,
    /// The discount from step to step; 1 by default.
    pub gamma: f64,
    /// The normalisation of returns over all steps of the group.
    pub normalise: Normalisation,
}

/// iStar (2509.19199): `A_E + alpha A_S`, the outcome standardised over the responses of the group
/// and a step's own reward over all steps of the group. Signals are [`Signal::Reward`], from
/// [`implicit_rewards`](super::steps::implicit_rewards). Tokens outside steps have `A_E`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct IStar {
    /// Weight of steps; 1 in the paper.
    pub alpha: f64,
    /// The standardisation of both. The unbiased standard deviation is ours.
    pub variance: Variance,
    /// 1e-4, which is ours.
    pub epsilon: f64,
}

fn standard() -> Normalisation {
    STANDARD
}

impl Default for Capo {
    fn default() -> Self {
        let Weights { whole, process } = Weights::default();
        Self { whole, process, normalise: STANDARD }
    }
}

impl Default for Ppr {
    fn default() -> Self {
        Self { outcome: OutcomeAt::default(), gamma: 1.0, normalise: STANDARD }
    }
}

impl Default for IStar {
    fn default() -> Self {
        Self { alpha: 1.0, variance: Variance::Unbiased, epsilon: 1e-4 }
    }
}

impl Capo {
    pub(super) fn check(&self) -> Result<()> {
        let holds =
            [self.whole, self.process].iter().all(|weight| weight.is_finite() && *weight >= 0.0);
        setting("whole and process", "0 or more", holds)?;
        check_normalisation(self.normalise)
    }

    pub(super) fn group(&self, group: &[ScoredResponse<'_>]) -> Result<Vec<Vec<f64>>> {
        let weights = Weights { whole: self.whole, process: self.process };
        let mut rewards = Vec::with_capacity(group.len());
        for (index, response) in group.iter().enumerate() {
            let is_right = right(index, response)?;
            let wrong = signals(index, response, "how wrong it is", |signal| match signal {
                Signal::Wrong(wrong) => Some(wrong),
                Signal::Label(_) | Signal::Reward(_) => None,
            })?;
            let outside = step_rewards(is_right, &[0.0], weights)?[0];
            let steps = step_rewards(is_right, &wrong, weights)?;
            rewards.push(over_steps(response, &steps, outside));
        }
        if rewards.iter().all(Vec::is_empty) {
            return Ok(rewards);
        }
        Ok(token_advantages(&rewards, self.normalise)?)
    }
}

impl TpGrpo {
    pub(super) fn check(&self) -> Result<()> {
        let holds = self.alpha.is_finite() && self.alpha > 0.0;
        setting("alpha", "above 0", holds)?;
        check_normalisation(self.normalise)
    }

    pub(super) fn group(&self, group: &[ScoredResponse<'_>]) -> Result<Vec<Vec<f64>>> {
        let accuracy =
            group.iter().map(|response| response.reward).sum::<f64>() / group.len() as f64;
        let mut tokens = Vec::with_capacity(group.len());
        for ((index, response), outcome) in
            group.iter().enumerate().zip(outcomes(group, self.normalise)?)
        {
            let is_right = right(index, response)?;
            let labels = signals(index, response, "its label", |signal| match signal {
                Signal::Label(label) if fits(label, is_right) => Some(label),
                Signal::Label(_) | Signal::Wrong(_) | Signal::Reward(_) => None,
            })?;
            let cost = thoughts::capability(self.alpha, accuracy)?;
            let mut thought = Vec::with_capacity(labels.len());
            for label in labels {
                thought.push(thoughts::advantage(label, outcome, cost)?);
            }
            tokens.push(over_steps(response, &thought, outcome));
        }
        Ok(tokens)
    }
}

/// Whether a label is possible for a right, or a wrong, solution.
fn fits(label: thoughts::ThoughtLabel, is_right: bool) -> bool {
    match label {
        thoughts::ThoughtLabel::Right | thoughts::ThoughtLabel::Wrong => is_right,
        thoughts::ThoughtLabel::Matching | thoughts::ThoughtLabel::Mismatched => !is_right,
    }
}

impl Ppr {
    pub(super) fn check(&self) -> Result<()> {
        check_gamma(self.gamma)?;
        check_normalisation(self.normalise)
    }

    pub(super) fn group(&self, group: &[ScoredResponse<'_>]) -> Result<Vec<Vec<f64>>> {
        if has_no_steps(group) {
            return by_outcomes(group, self.normalise);
        }
        let mut rewards = Vec::with_capacity(group.len());
        for (index, response) in group.iter().enumerate() {
            let own = own_rewards(index, response)?;
            rewards.push(match own.as_slice() {
                [] => Vec::new(),
                own => renorm(own, response.reward, self.outcome)?,
            });
        }
        relative_returns(group, &rewards, self.gamma, self.normalise)
    }
}

impl IStar {
    pub(super) fn check(&self) -> Result<()> {
        setting("alpha", "finite", self.alpha.is_finite())?;
        check_epsilon(self.epsilon)
    }

    pub(super) fn group(&self, group: &[ScoredResponse<'_>]) -> Result<Vec<Vec<f64>>> {
        let how = Normalisation::Grpo { variance: self.variance, epsilon: self.epsilon };
        let rewards = all_own_rewards(group)?;
        let steps = together(&rewards, how)?;
        let tokens = |((response, steps), outcome): ((&ScoredResponse<'_>, Vec<f64>), f64)| {
            let sums: Vec<f64> = steps.iter().map(|own| outcome + self.alpha * own).collect();
            over_steps(response, &sums, outcome)
        };
        Ok(group.iter().zip(steps).zip(outcomes(group, how)?).map(tokens).collect())
    }
}

/// Whether no response has steps: judgements and reflections never do.
pub(super) fn has_no_steps(group: &[ScoredResponse<'_>]) -> bool {
    group.iter().all(|response| response.steps.is_empty())
}

/// Gives every token of a response the advantage of its outcome.
pub(super) fn by_outcomes(
    group: &[ScoredResponse<'_>],
    how: Normalisation,
) -> Result<Vec<Vec<f64>>> {
    let outcomes = group.iter().zip(outcomes(group, how)?);
    Ok(outcomes.map(|(response, own)| vec![own; response.n_tokens]).collect())
}

pub(super) fn relative_returns(
    group: &[ScoredResponse<'_>],
    rewards: &[Vec<f64>],
    gamma: f64,
    how: Normalisation,
) -> Result<Vec<Vec<f64>>> {
    let mut returns = Vec::with_capacity(rewards.len());
    for steps in rewards {
        returns.push(token_returns(steps, gamma)?);
    }
    let relative = together(&returns, how)?;
    let tokens =
        |(response, steps): (&ScoredResponse<'_>, Vec<f64>)| towards_steps(response, &steps);
    Ok(group.iter().zip(relative).map(tokens).collect())
}

/// Normalises numbers of steps over all steps of the group.
fn together(steps: &[Vec<f64>], how: Normalisation) -> Result<Vec<Vec<f64>>> {
    let all = steps.concat();
    if all.is_empty() {
        return Ok(steps.to_vec());
    }
    let mut left = advantages(&all, how)?.into_iter();
    let take = |own: &Vec<f64>| left.by_ref().take(own.len()).collect();
    Ok(steps.iter().map(take).collect())
}

pub(super) fn all_own_rewards(group: &[ScoredResponse<'_>]) -> Result<Vec<Vec<f64>>> {
    let own = group.iter().enumerate().map(|(index, response)| own_rewards(index, response));
    own.collect()
}

pub(super) fn own_rewards(index: usize, response: &ScoredResponse<'_>) -> Result<Vec<f64>> {
    signals(index, response, "its reward", |signal| match signal {
        Signal::Reward(reward) => Some(reward),
        Signal::Wrong(_) | Signal::Label(_) => None,
    })
}

fn signals<T>(
    index: usize,
    response: &ScoredResponse<'_>,
    range: &'static str,
    of: impl Fn(Signal) -> Option<T>,
) -> Result<Vec<T>> {
    let signals = response.steps.iter().map(|step| of(step.signal)).collect();
    let what = "the signal of every step of response";
    Option::ok_or(signals, FormulaError::OutOfRange { what, index, range })
}

pub(super) fn right(index: usize, response: &ScoredResponse<'_>) -> Result<bool> {
    #[expect(clippy::float_cmp, reason = "a verifier gives these very numbers")]
    let (is_right, is_wrong) = (response.reward == 1.0, response.reward == 0.0);
    if is_right || is_wrong {
        return Ok(is_right);
    }
    let (what, range) = ("reward", "0 or 1");
    Err(FormulaError::OutOfRange { what, index, range })
}
