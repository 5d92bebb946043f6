//! Rewards that the model gives itself: how sure it is, and whether they are true.

use rubrics::FailureKind;
use serde::{Deserialize, Serialize};

use super::{PolicyGradient, vote};
use crate::error::{Result, TrainError};
use crate::item::{Group, Item, Role, Rollout};
use crate::methods::Step;
use crate::metrics::Metrics;
use crate::recycle::guard::{GapStop, audited, opinion, reward_gap};
use crate::run::RunConfig;

/// `[method.guard]`, for problems whose right answer the rewards do not know.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GuardSection {
    /// The scorer that knows the truth: it is given the right answer (`audit`) of audited groups.
    pub scorer: String,
    /// The share of groups that are audited; 0.05.
    #[serde(default = "share")]
    pub share: f64,
    /// When the run ends.
    #[serde(default)]
    pub stop: GapStop,
    /// Where it is there, rewards are read as probabilities of being right: an answer for which
    /// |p - 1/2| is less abstains and leaves its group, and the others have a reward of 1 or 0.
    #[serde(default)]
    pub tau: Option<f64>,
    /// Whether what is left counts by how sure the judge is, |2p - 1|; needs `tau`.
    #[serde(default)]
    pub weigh: bool,
}

fn share() -> f64 {
    0.05
}

impl GuardSection {
    pub(super) fn check(&self, run: &RunConfig) -> Vec<String> {
        let mut problems = Vec::new();
        if !(0.0..=1.0).contains(&self.share) {
            problems.push("`guard.share` is between 0 and 1".to_owned());
        }
        if self.tau.is_some_and(|tau| !(0.0..=0.5).contains(&tau)) {
            problems.push("`guard.tau` is between 0 and 0.5".to_owned());
        }
        if self.weigh && self.tau.is_none() {
            problems.push("`guard.weigh` needs `guard.tau`".to_owned());
        }
        if run.scorers.get(&self.scorer).is_none() {
            let near = run.scorers.near(&self.scorer).join("', '");
            problems.push(format!("there is no scorer '{}'; near are '{near}'", self.scorer));
        }
        problems
    }
}

impl PolicyGradient {
    /// Whether a group's rewards are the model's own.
    fn is_own(&self, group: &Group) -> Result<bool> {
        let item = &group.item;
        let asks = match self.mixed {
            Some(_) if &*item.scorer == crate::recycle::urpo::SCORER => true,
            Some(_) | None if vote::votes(group) => true,
            Some(_) | None => self.judge.scorer(&item.scorer)?.asks_models(),
        };
        Ok(item.role == Role::Player && item.gold.is_none() && asks)
    }

    /// Takes away rewards that the model gave itself: no judging item has its label from them.
    pub(super) fn forget_own(&self, groups: &mut [Group]) -> Result<()> {
        for group in groups {
            if self.is_own(group)? {
                for rollout in &mut group.rollouts {
                    rollout.reward = Err(FailureKind::Abstain);
                }
            }
        }
        Ok(())
    }

    /// Holds a share of self-given rewards against the truth, for the log and the stop rule.
    pub(super) fn audit(
        &mut self,
        groups: &[Group],
        step: &Step<'_>,
        metrics: &mut Metrics,
    ) -> Result<()> {
        let Some(guard) = &self.config.guard else {
            return Ok(());
        };
        let mut audits: Vec<(Item, Vec<Rollout>)> = Vec::new();
        for (number, group) in (0..).zip(groups) {
            let Some(truth) = &group.item.audit else {
                continue;
            };
            if self.is_own(group)? && audited(guard.share, step.seed, step.step, number) {
                let item = Item {
                    gold: Some(truth.clone()),
                    scorer: guard.scorer.as_str().into(),
                    ..(*group.item).clone()
                };
                audits.push((item, group.rollouts.clone()));
            }
        }
        let own: Vec<Option<f64>> = audits
            .iter()
            .flat_map(|(_, rollouts)| rollouts.iter().map(|rollout| rollout.reward.ok()))
            .collect();
        let mut pairs: Vec<(&Item, &mut Rollout)> = Vec::new();
        for (item, rollouts) in &mut audits {
            let item = &*item;
            pairs.extend(rollouts.iter_mut().map(|rollout| (item, rollout)));
        }
        self.judge.reward(&mut pairs, step.seed)?;
        let both = own.iter().zip(&pairs);
        let both: Vec<(f64, f64)> =
            both.filter_map(|(own, (_, rollout))| Some(((*own)?, rollout.reward.ok()?))).collect();
        metrics.add("audited", both.len() as f64);
        let gap = reward_gap(&both);
        if let Some(gap) = gap {
            metrics.set("self_reward_gap", gap);
        }
        match &mut self.gap {
            Some(stop) => stop.observe(gap),
            None => Ok(()),
        }
    }

    /// What each answer of a group counts for. Of a group with self-given rewards those answers leave
    /// of which the judge is not sure.
    pub(super) fn trust(&self, group: &mut Group, metrics: &mut Metrics) -> Result<Vec<f64>> {
        let all = vec![1.0; group.rollouts.len()];
        let Some((guard, tau)) = self.config.guard.as_ref().and_then(|g| Some((g, g.tau?))) else {
            return Ok(all);
        };
        if !self.is_own(group)? {
            return Ok(all);
        }
        let mut trust = Vec::with_capacity(all.len());
        let mut sure = Vec::with_capacity(all.len());
        for mut rollout in std::mem::take(&mut group.rollouts) {
            // A reward that is missing stays so, and with it the group is dropped.
            let Ok(p) = rollout.reward else {
                trust.push(1.0);
                sure.push(rollout);
                continue;
            };
            let found = opinion(p, tau)?;
            match found {
                Some(found) => {
                    rollout.reward = Ok(f64::from(u8::from(found.right)));
                    trust.push(if guard.weigh { found.weight } else { 1.0 });
                    sure.push(rollout);
                }
                None => metrics.add("abstained", 1.0),
            }
        }
        group.rollouts = sure;
        Ok(trust)
    }
}

/// The rule of a run that has one.
pub(super) fn stop(guard: Option<&GuardSection>) -> Result<Option<GapStop>> {
    match guard {
        Some(guard) if !guard.stop.limit.is_finite() => {
            Err(TrainError::Invalid("`guard.stop.limit` is finite".to_owned()))
        }
        Some(guard) => Ok(Some(guard.stop)),
        None => Ok(None),
    }
}
