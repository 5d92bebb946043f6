//! Sources of the policy's groups.

use std::fmt::Debug;
use std::sync::Arc;

use super::prompts::{Prompts, ReadContext};
use super::rollouts::{Phase, Rollouts, SampledGroup};
use super::state::PolicyGradientState;
use crate::error::Result;
use crate::item::ItemRole;
use crate::methods::context::StepContext;
use crate::metrics::Metrics;
use crate::rollout::RolloutParams;

/// Samples complete groups of responses.
pub(super) trait GroupSource: Debug + Send {
    /// Samples at most `round.want` groups.
    fn sample(
        &mut self,
        round: &Round<'_>,
        prompts: &mut Prompts,
        metrics: &mut Metrics,
    ) -> Result<Vec<SampledGroup>>;

    /// Receives the number of sampled groups that are trained on.
    fn after_scoring(&mut self, _trained: usize, _all: usize) -> Result<()> {
        Ok(())
    }

    /// Waits for what is sampled beside the update and returns the seconds of waiting; runs before
    /// the weights change.
    fn before_update(&mut self) -> Result<f64> {
        Ok(0.0)
    }

    /// Runs after a step of the optimiser.
    fn after_update(&mut self) {}

    /// Writes its state into a checkpoint; `revision` is that of the weights.
    fn save(&self, _state: &mut PolicyGradientState, _revision: u64) {}

    /// Restores its state from a checkpoint.
    fn restore(&mut self, _state: &PolicyGradientState, _revision: u64) {}
}

/// One round of sampling.
pub(super) struct Round<'a> {
    pub(super) rollouts: &'a Rollouts,
    /// Groups to return.
    pub(super) want: usize,
    pub(super) params: RolloutParams,
    pub(super) step: &'a StepContext<'a>,
}

impl<'a> Round<'a> {
    pub(super) fn new(
        rollouts: &'a Rollouts,
        step: &'a StepContext<'a>,
        phase: Phase,
        want: usize,
    ) -> Round<'a> {
        Round { rollouts, want, params: rollouts.params(step, phase), step }
    }

    /// What a model of values needs to read prompts.
    pub(super) fn context(&self) -> ReadContext<'a> {
        (&self.rollouts.sampler, self.step)
    }

    /// Responses to each prompt.
    pub(super) fn group(&self) -> usize {
        self.rollouts.config.group
    }

    /// The adapter that is sampled; `None` is the model itself.
    pub(super) fn adapter(&self) -> Option<Arc<str>> {
        self.rollouts.adapter(ItemRole::Policy)
    }
}

/// Draws new prompts and waits for all responses.
#[derive(Debug)]
pub(super) struct NewGroups;

impl GroupSource for NewGroups {
    fn sample(
        &mut self,
        round: &Round<'_>,
        prompts: &mut Prompts,
        _metrics: &mut Metrics,
    ) -> Result<Vec<SampledGroup>> {
        let items = prompts.draw(round.want, round.context())?;
        round.rollouts.sample(items, round.params, round.step)
    }
}
