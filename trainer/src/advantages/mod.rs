//! Advantages from rewards, one function per paper: group, leave-one-out, mean-only, whitened over
//! the batch, and process-aware.
//!
//! A batch is groups of responses to one prompt. Every function returns one advantage
//! per token. If a method normalises numbers that are all equal, their advantages are exactly 0 and
//! not a rounding residue; whether such a group is dropped is decided elsewhere. The process part
//! of a process-aware method (a wrong thought, a step's own reward) does not become 0 for equal
//! outcomes, because it still distinguishes steps.
//!
//! | module | method |
//! |---|---|
//! | [`group`] | GRPO, Dr.GRPO's mean, RLOO, `MaxRL`: one number for each response |
//! | [`batch`] | REINFORCE++ and its baseline form, whitening, `StableReinforce`'s filter |
//! | [`canon`] | CANON: the other half of a group |
//! | [`w_reinforce`] | PSR, NSR, W-REINFORCE |
//! | [`gae`] | GAE against a value model, step rewards of PPR and `PRLCoder` |
//! | [`process`] | CAPO, TP-GRPO, PPR, iStar |
//! | [`step_returns`] | returns of shaped step rewards and the outcome |
//! | [`steps`] | step rewards: iStar's implicit ones, SPA-RL's; returns, and steps to tokens |
//!
//! To add an advantage estimator:
//!
//! 1. its options as a struct in the module of its kind, with the paper and every default;
//! 2. a variant of [`AdvantageKind`], with arms in [`AdvantageKind::check`] and
//!    [`AdvantageKind::evaluate`];
//! 3. an arm of `StepSignal::of` in `trainer/src/methods/policy_gradient/step_signals.rs`, which
//!    names the signal that it reads of steps;
//! 4. golden numbers and invariants in `trainer/src/advantages/tests.rs`;
//! 5. a row of `docs/papers.md`.

pub mod batch;
pub mod canon;
pub mod gae;
pub mod group;
pub mod process;
pub mod step_returns;
pub mod steps;
pub mod w_reinforce;

#[cfg(test)]
mod tests;

use std::ops::Range;

use rubrics::combine::thoughts::ThoughtLabel;
use serde::{Deserialize, Serialize};

pub use batch::{Middle, ReinforcePlusPlus, ReinforcePlusPlusBaseline, StableReinforce, Whitening};
pub use canon::{Canon, CanonAnneal, CanonMetric};
pub use gae::Gae;
pub use group::{Grpo, MaxRl, Mean, Rloo};
pub use process::{Capo, IStar, Ppr, TpGrpo};
pub use step_returns::{StepReturns, StepShaping};
pub use w_reinforce::WReinforce;

use crate::losses::error::{FormulaError, Result, finite, lengths};

/// A scored response to a prompt: its reward, length and steps.
#[derive(Clone, Copy, Debug)]
pub struct ScoredResponse<'a> {
    /// Its reward.
    pub reward: f64,
    /// Number of tokens.
    pub n_tokens: usize,
    /// Its steps, in order, for the process-aware methods.
    pub steps: &'a [ResponseStep],
    /// Rewards of single tokens beside the reward of the response, one per token or empty, such as
    /// [`penalties`](crate::losses::kl::penalties), which the training loop gives to GAE alone,
    /// because its other divergence is part of the loss. GAE and REINFORCE++ add them token by
    /// token, the methods of groups add their sum to the reward, and the process-aware methods
    /// refuse them.
    pub token_rewards: &'a [f64],
    /// The value of the state before each token under the weights of the rollout, one per token or
    /// empty; GAE reads it.
    pub values: &'a [f64],
    /// The mean entropy of its tokens in nats; CANON reads it by option.
    pub entropy: Option<f64>,
}

/// A step of a response.
#[derive(Clone, Debug, PartialEq)]
pub struct ResponseStep {
    /// Its tokens, counted from the response's first.
    pub tokens: Range<usize>,
    /// The verdict on it.
    pub signal: Signal,
}

/// A verdict on a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Signal {
    /// The degree of wrongness, from 0 to 1, by the votes of critiques: CAPO.
    Wrong(f64),
    /// Its relation to the solution: TP-GRPO.
    Label(ThoughtLabel),
    /// Its own reward: PPR, iStar, returns of steps.
    Reward(f64),
}

impl<'a> ScoredResponse<'a> {
    /// A response with a reward and no steps.
    pub fn new(reward: f64, n_tokens: usize) -> Self {
        Self { reward, n_tokens, steps: &[], token_rewards: &[], values: &[], entropy: None }
    }

    /// Sets the steps.
    #[must_use]
    pub fn with_steps(self, steps: &'a [ResponseStep]) -> Self {
        Self { steps, ..self }
    }

    fn check(&self, index: usize) -> Result<()> {
        if !self.reward.is_finite() {
            let what = "reward";
            return Err(FormulaError::NotFinite { what, index });
        }
        if !self.token_rewards.is_empty() {
            lengths("token rewards", self.token_rewards.len(), self.n_tokens)?;
            finite("token reward", self.token_rewards)?;
        }
        let mut end = 0;
        for step in self.steps {
            if step.tokens.start < end || step.tokens.is_empty() || step.tokens.end > self.n_tokens
            {
                return Err(FormulaError::OutOfRange {
                    what: "steps of response",
                    index,
                    range: "in order, apart and within its tokens",
                });
            }
            end = step.tokens.end;
        }
        Ok(())
    }

    /// The reward plus all token rewards.
    fn total(&self) -> f64 {
        self.reward + self.token_rewards.iter().sum::<f64>()
    }
}

/// Advantages of tokens, by group, response and token.
pub type TokenAdvantages = Vec<Vec<Vec<f64>>>;

/// The advantage method and its options.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum AdvantageKind {
    /// See [`Grpo`].
    Grpo(Grpo),
    /// See [`Mean`].
    Mean(Mean),
    /// See [`Rloo`].
    Rloo(Rloo),
    /// See [`MaxRl`].
    MaxRl(MaxRl),
    /// See [`ReinforcePlusPlus`].
    ReinforcePlusPlus(ReinforcePlusPlus),
    /// See [`ReinforcePlusPlusBaseline`].
    ReinforcePlusPlusBaseline(ReinforcePlusPlusBaseline),
    /// See [`StableReinforce`].
    StableReinforce(StableReinforce),
    /// See [`Capo`].
    Capo(Capo),
    /// See [`TpGrpo`].
    TpGrpo(TpGrpo),
    /// See [`Ppr`].
    Ppr(Ppr),
    /// See [`IStar`].
    #[serde(rename = "istar")]
    IStar(IStar),
    /// See [`StepReturns`].
    StepReturns(StepReturns),
    /// See [`Canon`].
    Canon(Canon),
    /// See [`WReinforce`].
    WReinforce(WReinforce),
    /// See [`Gae`].
    Gae(Gae),
}

impl Default for AdvantageKind {
    /// GRPO.
    fn default() -> Self {
        Self::Grpo(Grpo::default())
    }
}

impl AdvantageKind {
    /// Checks the options.
    ///
    /// # Errors
    /// An invalid option.
    pub fn check(&self) -> Result<()> {
        match self {
            Self::Grpo(grpo) => grpo.check(),
            Self::Mean(_) | Self::Rloo(_) | Self::MaxRl(_) => Ok(()),
            Self::ReinforcePlusPlus(kind) => kind.check(),
            Self::ReinforcePlusPlusBaseline(kind) => kind.check(),
            Self::StableReinforce(kind) => kind.check(),
            Self::Capo(capo) => capo.check(),
            Self::TpGrpo(kind) => kind.check(),
            Self::Ppr(ppr) => ppr.check(),
            Self::IStar(istar) => istar.check(),
            Self::StepReturns(kind) => kind.check(),
            Self::Canon(kind) => kind.check(),
            Self::WReinforce(kind) => kind.check(),
            Self::Gae(gae) => gae.check(),
        }
    }

    /// Whether it reads the entropies of tokens.
    pub fn reads_entropies(&self) -> bool {
        matches!(self, Self::Canon(Canon { metric: CanonMetric::Entropy, .. }))
    }

    /// The rewards of responses that it can read, in words; `None` for all numbers.
    pub fn reward_range(&self) -> Option<&'static str> {
        match self {
            Self::Capo(_) | Self::TpGrpo(_) | Self::WReinforce(_) => Some("0 or 1"),
            Self::Ppr(_) | Self::Gae(Gae { renorm: Some(_), .. }) => Some("from 0 to 1"),
            Self::MaxRl(_) => Some("0 or more"),
            Self::Grpo(_)
            | Self::Mean(_)
            | Self::Rloo(_)
            | Self::ReinforcePlusPlus(_)
            | Self::ReinforcePlusPlusBaseline(_)
            | Self::StableReinforce(_)
            | Self::IStar(_)
            | Self::StepReturns(_)
            | Self::Gae(Gae { renorm: None, .. })
            | Self::Canon(_) => None,
        }
    }

    /// Whether responses whose advantage is 0 are left out of the batch and its denominators.
    pub fn leaves_out_zeros(&self) -> bool {
        match self {
            Self::WReinforce(_) => true,
            Self::Grpo(_)
            | Self::Mean(_)
            | Self::Rloo(_)
            | Self::MaxRl(_)
            | Self::ReinforcePlusPlus(_)
            | Self::ReinforcePlusPlusBaseline(_)
            | Self::StableReinforce(_)
            | Self::Capo(_)
            | Self::TpGrpo(_)
            | Self::Ppr(_)
            | Self::IStar(_)
            | Self::StepReturns(_)
            | Self::Gae(_)
            | Self::Canon(_) => false,
        }
    }

    /// The kind with its options in one step of a run, counted from 1.
    #[must_use]
    pub fn at(&self, step: u64, steps: u64) -> AdvantageKind {
        let Self::Canon(kind) = self else {
            return *self;
        };
        Self::Canon(kind.at(step, steps))
    }

    /// The advantage of every token of a batch.
    ///
    /// # Errors
    /// Invalid options, steps or signals that do not fit, or numbers that are not finite.
    pub fn evaluate(&self, groups: &[Vec<ScoredResponse<'_>>]) -> Result<TokenAdvantages> {
        self.check()?;
        for group in groups {
            for (index, response) in group.iter().enumerate() {
                response.check(index)?;
            }
        }
        let advantages = match self {
            Self::Grpo(grpo) => group::of_outcomes(groups, grpo.normalisation()),
            Self::Mean(_) => group::of_outcomes(groups, Mean::NORMALISATION),
            Self::Rloo(_) => group::of_outcomes(groups, Rloo::NORMALISATION),
            Self::MaxRl(_) => MaxRl::evaluate(groups),
            Self::ReinforcePlusPlus(kind) => kind.evaluate(groups),
            Self::ReinforcePlusPlusBaseline(kind) => kind.evaluate(groups),
            Self::StableReinforce(kind) => kind.evaluate(groups),
            Self::Capo(capo) => each(groups, |group| capo.group(group)),
            Self::TpGrpo(kind) => each(groups, |group| kind.group(group)),
            Self::Ppr(ppr) => each(groups, |group| ppr.group(group)),
            Self::IStar(istar) => each(groups, |group| istar.group(group)),
            Self::StepReturns(kind) => each(groups, |group| kind.group(group)),
            Self::Canon(kind) => kind.evaluate(groups),
            Self::WReinforce(kind) => each(groups, |group| kind.group(group)),
            Self::Gae(gae) => gae.evaluate(groups),
        }?;
        let mut values = advantages.iter().flatten().flatten();
        if values.all(|value| value.is_finite()) {
            return Ok(advantages);
        }
        let what = "an advantage";
        Err(FormulaError::Overflow { what })
    }
}

/// Applies a process-aware method to each group; an empty group gives nothing.
fn each(
    groups: &[Vec<ScoredResponse<'_>>],
    of: impl Fn(&[ScoredResponse<'_>]) -> Result<Vec<Vec<f64>>>,
) -> Result<TokenAdvantages> {
    let group = |group: &Vec<ScoredResponse<'_>>| {
        if group.iter().any(|response| !response.token_rewards.is_empty()) {
            return Err(FormulaError::Setting {
                name: "token rewards of a process-aware method",
                range: "none: the divergence belongs in its loss",
            });
        }
        if group.is_empty() {
            return Ok(Vec::new());
        }
        of(group)
    };
    groups.iter().map(group).collect()
}
