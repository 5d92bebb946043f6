//! Trust in self-given rewards (`[method.trust]`): every few steps the judge is measured on answers to
//! held-out problems with a reference, and the rewards that it gives to others count for as much as it
//! tells right from wrong answers to one problem.

use std::sync::{Arc, Mutex, PoisonError};

use rand::seq::SliceRandom as _;
use rubrics::calibration::Prediction;

use super::super::config::TrustSection;
use super::super::hook::{Hook, HookContext};
use super::super::rollouts::{Phase, RewardHook, Rollouts};
use super::super::state::PolicyGradientState;
use crate::error::{Result, TrainError};
use crate::figures::within_problems;
use crate::item::{Group, ItemRole, Rollout, RowFields, TrainingItem};
use crate::judge_data::trust::{Trust, TrustConfig, lower_bound};
use crate::metrics::Metrics;
use base::seeded::decision;

/// The gate, and the step that it is read in.
#[derive(Clone, Copy, Debug, Default)]
struct State {
    trust: Trust,
    step: u64,
}

/// Measures the judge.
#[derive(Debug)]
pub(in super::super) struct TrustHook {
    section: TrustSection,
    held_out: Vec<TrainingItem>,
    state: Arc<Mutex<State>>,
}

/// Weighs self-given rewards.
#[derive(Debug)]
pub(in super::super) struct TrustedRewards {
    options: TrustConfig,
    state: Arc<Mutex<State>>,
}

/// Both parts of a section. The held-out problems are taken from those of the run.
///
/// # Errors
/// No problem with a reference is left to train on.
pub(in super::super) fn trust(
    section: &TrustSection,
    problems: &mut Vec<TrainingItem>,
    seed: u64,
) -> Result<(TrustHook, TrustedRewards)> {
    let (mut known, others): (Vec<_>, Vec<_>) =
        std::mem::take(problems).into_iter().partition(TrainingItem::has_reference);
    if known.len() <= section.held_out {
        return Err(TrainError::Invalid(format!(
            "trust: `held_out` is {}, and {} problems have a reference answer: some must be left to \
             train on",
            section.held_out,
            known.len()
        )));
    }
    known.shuffle(&mut decision(seed, "trust held out", &[]));
    let held_out = known.split_off(known.len() - section.held_out);
    *problems = known.into_iter().chain(others).collect();
    let state = Arc::new(Mutex::new(State::default()));
    let rewards = TrustedRewards { options: section.options, state: state.clone() };
    Ok((TrustHook { section: section.clone(), held_out, state }, rewards))
}

/// The state, which one thread uses at a time.
fn read(state: &Mutex<State>) -> std::sync::MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The item as a judge reads it.
fn without_reference(item: &TrainingItem) -> TrainingItem {
    let fields = RowFields { reference: None, ..(*item.fields).clone() };
    TrainingItem { gold: None, fields: Arc::new(fields), ..item.clone() }
}

impl TrustHook {
    /// The judge's scores of answers to the held-out problems, beside whether they are right.
    fn measure(&self, cx: &mut HookContext<'_>) -> Result<Vec<Vec<Prediction>>> {
        let rollouts = cx.rollouts;
        let params = rollouts.params(cx.step, Phase::Trust);
        let sampled = rollouts.sample(self.held_out.clone(), params, cx.step)?;
        let mut groups = rollouts.groups(sampled)?;
        let mut pairs: Vec<(&TrainingItem, &mut Rollout)> = Vec::new();
        for Group { item, rollouts } in &mut groups {
            pairs.extend(rollouts.iter_mut().map(|rollout| (&**item, rollout)));
        }
        rollouts.rewards.reward(&mut pairs, cx.step.seed)?;
        // The judge reads what it reads of problems without a reference.
        let blind: Vec<TrainingItem> =
            pairs.iter().map(|(item, _)| without_reference(item)).collect();
        let judged: Vec<(&TrainingItem, &mut Rollout)> =
            blind.iter().zip(pairs).map(|(item, (_, rollout))| (item, rollout)).collect();
        let outcomes = rollouts.rewards.judge(&self.section.scorer, &judged, cx.step.seed)?;
        let mut missing = 0.0;
        let mut answers = judged.iter().zip(outcomes);
        let mut predictions = Vec::with_capacity(self.held_out.len());
        for _ in &self.held_out {
            let mut group = Vec::with_capacity(cx.config.group);
            for ((_, rollout), outcome) in answers.by_ref().take(cx.config.group) {
                match (rollout.right, outcome) {
                    (Some(right), Ok(scored)) => {
                        group.push(Prediction { probability: scored.score, right });
                    }
                    _ => missing += 1.0,
                }
            }
            predictions.push(group);
        }
        cx.metrics.set("trust/without_verdict", missing);
        Ok(predictions)
    }
}

impl Hook for TrustHook {
    fn before_sampling(&mut self, cx: &mut HookContext<'_>, _new_pass: bool) -> Result<()> {
        let step = cx.step.step;
        if (step - 1).is_multiple_of(self.section.every) {
            let groups = self.measure(cx)?;
            let bound = lower_bound(&groups, self.section.options.confidence, cx.step.seed);
            if let Some((share, bound)) = within_problems(&groups).zip(bound) {
                cx.metrics.set("trust/within_problems", share);
                cx.metrics.set("trust/lower_bound", bound);
            }
            read(&self.state).trust.observe(step, bound);
        }
        let mut state = read(&self.state);
        state.step = step;
        cx.metrics.set("trust/weight", state.trust.weight(step, &self.section.options));
        Ok(())
    }

    fn save(&self, state: &mut PolicyGradientState) {
        state.trust = Some(read(&self.state).trust);
    }

    fn restore(&mut self, state: &PolicyGradientState) -> Result<()> {
        read(&self.state).trust = state.trust.unwrap_or_default();
        Ok(())
    }
}

impl RewardHook for TrustedRewards {
    fn weights(
        &self,
        rollouts: &Rollouts,
        group: &mut Group,
        _metrics: &mut Metrics,
    ) -> Result<Option<Vec<f64>>> {
        if group.item.role != ItemRole::Policy || !rollouts.is_self_rewarded(group)? {
            return Ok(None);
        }
        let state = read(&self.state);
        let weight = state.trust.weight(state.step, &self.options);
        // A missing reward stays missing, so that the group is dropped and counted.
        let tells = group.rewards().is_none_or(|rewards| self.options.tells_apart(&rewards));
        let weight = if tells { weight } else { 0.0 };
        Ok(Some(vec![weight; group.rollouts.len()]))
    }
}
