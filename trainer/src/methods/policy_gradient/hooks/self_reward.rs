//! Guards against wrong self-given rewards (`[method.guard]`). [`GuardHook`] scores a share of them
//! again, against reference answers, and stops the run if they stay too high. With `tau`,
//! [`ConfidentRewards`] removes rollouts whose reward, as a probability of being right, is near one
//! half.

use super::super::config::GuardSection;
use super::super::hook::{Hook, HookContext, StepData};
use super::super::rollouts::{RewardHook, Rollouts};
use super::super::state::PolicyGradientState;
use crate::error::{Result, TrainError};
use crate::item::{Group, Rollout, TrainingItem};
use crate::judge_data::self_reward::{GapStop, audited, opinion, reward_gap};
use crate::metrics::Metrics;

/// Compares a share of self-given rewards with the truth, for the log and the stop rule.
#[derive(Debug)]
pub(in super::super) struct GuardHook {
    scorer: String,
    share: f64,
    stop: GapStop,
}

impl GuardHook {
    pub(in super::super) fn new(section: &GuardSection) -> Result<GuardHook> {
        if !section.stop.limit.is_finite() {
            return Err(TrainError::Invalid("`guard.stop.limit` is finite".to_owned()));
        }
        let GuardSection { scorer, share, stop, .. } = section.clone();
        Ok(GuardHook { scorer, share, stop })
    }

    /// Groups to audit, with the known answer as their reference.
    fn audits(
        &self,
        cx: &HookContext<'_>,
        groups: &[Group],
    ) -> Result<Vec<(TrainingItem, Vec<Rollout>)>> {
        let mut audits = Vec::new();
        for (number, group) in (0..).zip(groups) {
            let Some(truth) = &group.item.audit else {
                continue;
            };
            if cx.rollouts.is_self_rewarded(group)?
                && audited(self.share, cx.step.seed, cx.step.step, number)
            {
                let item = TrainingItem {
                    gold: Some(truth.clone()),
                    scorer: self.scorer.as_str().into(),
                    ..(*group.item).clone()
                };
                audits.push((item, group.rollouts.clone()));
            }
        }
        Ok(audits)
    }
}

impl Hook for GuardHook {
    fn after_scoring(&mut self, cx: &mut HookContext<'_>, data: &mut StepData) -> Result<()> {
        let mut audits = self.audits(cx, &data.groups)?;
        let self_given: Vec<Option<f64>> = audits
            .iter()
            .flat_map(|(_, rollouts)| rollouts.iter().map(|rollout| rollout.reward.ok()))
            .collect();
        let mut pairs: Vec<(&TrainingItem, &mut Rollout)> = Vec::new();
        for (item, rollouts) in &mut audits {
            let item = &*item;
            pairs.extend(rollouts.iter_mut().map(|rollout| (item, rollout)));
        }
        cx.rollouts.rewards.reward(&mut pairs, cx.step.seed)?;
        let both: Vec<(f64, f64)> = self_given
            .iter()
            .zip(&pairs)
            .filter_map(|(given, (_, rollout))| Some(((*given)?, rollout.reward.ok()?)))
            .collect();
        cx.metrics.add("audited", both.len() as f64);
        let gap = reward_gap(&both);
        if let Some(gap) = gap {
            cx.metrics.set("self_reward_gap", gap);
        }
        self.stop.observe(gap)
    }

    fn save(&self, state: &mut PolicyGradientState) {
        state.reward_gap = Some(self.stop);
    }

    fn restore(&mut self, state: &PolicyGradientState) -> Result<()> {
        self.stop = state.reward_gap.unwrap_or(self.stop);
        Ok(())
    }
}

/// Reads self-given rewards as probabilities of being right: rollouts near one half leave their
/// group, the others get 1 or 0.
#[derive(Debug)]
pub(in super::super) struct ConfidentRewards {
    tau: f64,
    weigh: bool,
}

impl ConfidentRewards {
    /// `None` if the section has no `tau`.
    pub(in super::super) fn new(section: &GuardSection) -> Option<ConfidentRewards> {
        section.tau.map(|tau| ConfidentRewards { tau, weigh: section.weigh })
    }
}

impl RewardHook for ConfidentRewards {
    fn weights(
        &self,
        rollouts: &Rollouts,
        group: &mut Group,
        metrics: &mut Metrics,
    ) -> Result<Option<Vec<f64>>> {
        if !rollouts.is_self_rewarded(group)? {
            return Ok(None);
        }
        let mut weights = Vec::with_capacity(group.rollouts.len());
        let mut sure = Vec::with_capacity(group.rollouts.len());
        for mut rollout in std::mem::take(&mut group.rollouts) {
            // A missing reward stays missing, so the group is dropped.
            let Ok(p) = rollout.reward else {
                weights.push(1.0);
                sure.push(rollout);
                continue;
            };
            match opinion(p, self.tau)? {
                Some(opinion) => {
                    rollout.reward = Ok(f64::from(u8::from(opinion.right)));
                    weights.push(if self.weigh { opinion.weight } else { 1.0 });
                    sure.push(rollout);
                }
                None => metrics.add("abstained", 1.0),
            }
        }
        group.rollouts = sure;
        Ok(Some(weights))
    }
}
