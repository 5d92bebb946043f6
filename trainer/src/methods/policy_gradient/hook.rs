//! Extensions of the training loop.

use std::fmt::Debug;

use super::config::PolicyGradientConfig;
use super::rollouts::{Rollouts, ScoredGroups};
use super::state::PolicyGradientState;
use super::update_batch::{Apply, UpdateBatch};
use crate::curriculum::KeepCounts;
use crate::error::Result;
use crate::item::Group;
use crate::judge_data::{ReplayBuffer, StepSeed};
use crate::methods::context::StepContext;
use crate::metrics::Metrics;

/// An extension of the training loop. Hooks are called in the order in which they are registered.
pub(super) trait Hook: Debug + Send {
    /// Runs before a step samples; `new_pass` is true if the prompts started another pass.
    fn before_sampling(&mut self, _cx: &mut HookContext<'_>, _new_pass: bool) -> Result<()> {
        Ok(())
    }

    /// Number of problems among a batch of `batch` items; `None` leaves the number to others.
    fn problems(&self, _step: u64, _batch: usize) -> Option<usize> {
        None
    }

    /// Reads the scored groups of a step and may add groups or labels to the batch.
    fn after_scoring(&mut self, _cx: &mut HookContext<'_>, _data: &mut StepData) -> Result<()> {
        Ok(())
    }

    /// Runs after the step of the optimiser, and may take further ones. The revision of the context is
    /// that of the updated weights.
    fn after_update(&mut self, _cx: &mut HookContext<'_>, _apply: &mut Apply<'_>) -> Result<()> {
        Ok(())
    }

    /// Writes its state into a checkpoint.
    fn save(&self, _state: &mut PolicyGradientState) {}

    /// Restores its state from a checkpoint.
    fn restore(&mut self, _state: &PolicyGradientState) -> Result<()> {
        Ok(())
    }
}

/// Access of a hook to the loop.
pub(super) struct HookContext<'a> {
    pub(super) step: &'a StepContext<'a>,
    pub(super) config: &'a PolicyGradientConfig,
    pub(super) rollouts: &'a Rollouts,
    pub(super) replay_buffer: &'a ReplayBuffer,
    pub(super) metrics: &'a mut Metrics,
}

impl HookContext<'_> {
    /// Seed of random draws in this step.
    pub(super) fn seed(&self) -> StepSeed {
        StepSeed { seed: self.step.seed, step: self.step.step }
    }

    /// Mistakes of earlier steps; `None` if the run keeps none.
    pub(super) fn mistakes(&self) -> Option<&ReplayBuffer> {
        Some(self.replay_buffer).filter(|_| self.config.replay_buffer > 0)
    }
}

/// The scored groups of a step and its batch.
#[derive(Debug)]
pub(super) struct StepData {
    /// All groups with their rewards, including those that hooks add.
    pub(super) groups: Vec<Group>,
    /// The policy's groups without self-given rewards: the source of labels for judge data.
    pub(super) verified: Vec<Group>,
    /// Counts by fate, for the rule that ends a run without progress.
    pub(super) counts: KeepCounts,
    /// The batch to train on.
    pub(super) batch: UpdateBatch,
}

impl StepData {
    pub(super) fn new(scored: ScoredGroups, rollouts: &Rollouts) -> Result<StepData> {
        Ok(StepData {
            verified: rollouts.without_self_rewards(&scored.groups)?,
            groups: scored.groups,
            counts: scored.counts,
            batch: UpdateBatch { train_groups: scored.train_groups, labels: Vec::new() },
        })
    }

    /// Adds groups that are trained on and counted with the policy's.
    pub(super) fn extend(&mut self, scored: ScoredGroups) {
        self.groups.extend(scored.groups);
        self.counts.add(scored.counts);
        self.batch.train_groups.extend(scored.train_groups);
    }
}
