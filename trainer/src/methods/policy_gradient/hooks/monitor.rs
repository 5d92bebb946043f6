//! Monitored rewards (`[method.monitor]`; `CoT Monitor+`, 2505.18807): responses that report a problem
//! of their own in the comment that they write before the answer lose a penalty, whose weight rises
//! while there are too many of them.

use std::sync::{Arc, Mutex, PoisonError};

use rubrics::FailureKind;

use super::super::config::MonitorSection;
use super::super::hook::{Hook, HookContext, StepData};
use super::super::monitor_state::MonitorState;
use super::super::rollouts::{RewardHook, Rollouts};
use super::super::state::PolicyGradientState;
use crate::error::Result;
use crate::item::{Group, ItemRole, Rollout, TrainingItem};
use crate::methods::context::StepContext;
use crate::metrics::Metrics;

/// Lowers the rewards of flagged responses.
#[derive(Debug)]
pub(in super::super) struct MonitorRewards {
    section: MonitorSection,
    state: Arc<Mutex<MonitorState>>,
}

/// Moves the weight of the penalty once in a step.
#[derive(Debug)]
pub(in super::super) struct MonitorHook {
    section: MonitorSection,
    state: Arc<Mutex<MonitorState>>,
}

/// Both parts of a section.
pub(in super::super) fn monitor(section: &MonitorSection) -> (MonitorHook, MonitorRewards) {
    let state = Arc::new(Mutex::new(MonitorState::new(section)));
    (
        MonitorHook { section: section.clone(), state: state.clone() },
        MonitorRewards { section: section.clone(), state },
    )
}

/// The state, which one thread uses at a time.
fn read(state: &Mutex<MonitorState>) -> std::sync::MutexGuard<'_, MonitorState> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl RewardHook for MonitorRewards {
    fn reward(
        &self,
        rollouts: &Rollouts,
        step: &StepContext<'_>,
        groups: &mut [Group],
        metrics: &mut Metrics,
    ) -> Result<()> {
        let mut pairs: Vec<(&TrainingItem, &mut Rollout)> = Vec::new();
        for group in groups.iter_mut().filter(|group| group.item.role == ItemRole::Policy) {
            let Group { item, rollouts } = group;
            pairs.extend(rollouts.iter_mut().map(|rollout| (&**item, rollout)));
        }
        let outcomes = rollouts.rewards.judge(&self.section.scorer, &pairs, step.seed)?;
        let mut state = read(&self.state);
        let loss = state.weight * self.section.penalty;
        for ((_, rollout), outcome) in pairs.iter_mut().zip(outcomes) {
            match outcome {
                Ok(scored) => {
                    let flagged = f64::from(u8::from(scored.score >= self.section.flagged_from));
                    rollout.reward = rollout.reward.map(|reward| reward + loss * flagged);
                    state.flagged += flagged;
                    state.rollouts += 1.0;
                }
                // A comment without a verdict is no comment that finds nothing.
                Err(failure) => {
                    rollout.reward = rollout.reward.and(Err::<f64, FailureKind>(failure.kind));
                }
            }
        }
        if state.rollouts > 0.0 {
            metrics.set("monitor/flagged", state.flagged / state.rollouts);
        }
        Ok(())
    }
}

impl Hook for MonitorHook {
    fn after_scoring(&mut self, cx: &mut HookContext<'_>, _data: &mut StepData) -> Result<()> {
        let mut state = read(&self.state);
        cx.metrics.set("monitor/weight", state.weight);
        state.learn(&self.section);
        Ok(())
    }

    fn save(&self, state: &mut PolicyGradientState) {
        state.monitor = Some(*read(&self.state));
    }

    fn restore(&mut self, state: &PolicyGradientState) -> Result<()> {
        if let Some(saved) = state.monitor {
            *read(&self.state) = saved;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn h3_weight_of_the_penalty() {
        let section = |tolerance: f64, cap: f64| MonitorSection {
            scorer: "flags".to_owned(),
            flagged_from: 0.5,
            penalty: -1.0,
            start: 0.5,
            rate: 0.5,
            tolerance,
            cap,
        };
        let check = |section: MonitorSection, flagged: f64, expected: f64| {
            let start = MonitorState::new(&section);
            let mut state = MonitorState { flagged, rollouts: 4.0, ..start };
            state.learn(&section);
            assert!((state.weight - expected).abs() < 1e-12, "{section:?} {flagged}: {state:?}");
            assert_eq!(MonitorState { weight: 0.0, ..state }, MonitorState::default());
        };
        check(section(0.0, 9.0), 1.0, 0.625);
        check(section(0.25, 9.0), 1.0, 0.5);
        check(section(0.25, 9.0), 0.0, 0.375);
        check(section(2.0, 9.0), 0.0, 0.0);
        check(section(0.0, 0.6), 4.0, 0.6);
        let mut idle = MonitorState::new(&section(0.0, 1.0));
        idle.learn(&section(1.0, 1.0));
        assert!((idle.weight - 0.5).abs() < 1e-12);
    }
}
