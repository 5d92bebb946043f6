//! Rewards by comparison (`compare` of `[method]`): a scorer that compares responses judges each
//! rollout beside the reference answer (Pairwise-RL, 2504.04950), or all rollouts of a group.

use std::collections::BTreeSet;
use std::sync::Arc;

use rubrics::{FailureKind, Outcome};

use super::super::config::{CompareSection, PairReward};
use super::super::rollouts::{RewardHook, Rollouts};
use crate::error::Result;
use crate::item::{Group, ItemRole, TrainingItem};
use crate::methods::context::StepContext;
use crate::metrics::Metrics;

/// Rewards rollouts by scorers that compare.
#[derive(Debug)]
pub(in super::super) struct CompareRewards {
    section: CompareSection,
    /// The scorers of the run's problems that compare responses.
    scorers: BTreeSet<Arc<str>>,
}

impl CompareRewards {
    pub(in super::super) fn new(section: CompareSection, scorers: BTreeSet<Arc<str>>) -> Self {
        CompareRewards { section, scorers }
    }
}

impl RewardHook for CompareRewards {
    fn rewards(&self, item: &TrainingItem) -> bool {
        item.role == ItemRole::Policy && self.scorers.contains(&item.scorer)
    }

    fn reward(
        &self,
        rollouts: &Rollouts,
        step: &StepContext<'_>,
        groups: &mut [Group],
        _metrics: &mut Metrics,
    ) -> Result<()> {
        for group in groups.iter_mut().filter(|group| self.rewards(&group.item)) {
            let rewards = match self.section {
                CompareSection::Reference { reward } => {
                    let outcomes = rollouts.rewards.against_reference(group, step.seed)?;
                    outcomes.iter().map(|outcome| reward.of(outcome)).collect::<Vec<_>>()
                }
                CompareSection::Group => {
                    let outcomes = rollouts.rewards.among(group, step.seed)?;
                    outcomes
                        .into_iter()
                        .map(|outcome| Ok(outcome.map_err(|f| f.kind)?.score))
                        .collect()
                }
            };
            for (rollout, reward) in group.rollouts.iter_mut().zip(rewards) {
                rollout.reward = reward;
            }
        }
        Ok(())
    }
}

impl PairReward {
    /// The reward of the first response of a pair.
    fn of(self, outcome: &Outcome) -> std::result::Result<f64, FailureKind> {
        let scored = outcome.as_ref().map_err(|failure| failure.kind)?;
        match self {
            PairReward::Probability => Ok(scored.score - 0.5),
            // A judge without log-odds is one that compares lists.
            PairReward::LogOdds => scored.raw.ok_or(FailureKind::Refused),
        }
    }
}
