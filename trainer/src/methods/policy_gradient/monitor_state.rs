//! The weight of a monitored penalty, as a checkpoint keeps it.

use serde::{Deserialize, Serialize};

use super::config::MonitorSection;

/// The weight of the penalty, and what the rollouts since its last change say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MonitorState {
    pub(super) weight: f64,
    #[serde(skip)]
    pub(super) flagged: f64,
    #[serde(skip)]
    pub(super) rollouts: f64,
}

impl MonitorState {
    pub(super) fn new(section: &MonitorSection) -> MonitorState {
        MonitorState { weight: section.start, ..MonitorState::default() }
    }

    /// The dual step `weight <- max(0, weight - rate (J + tolerance))` with the mean penalty `J`, at
    /// most `cap`; without rollouts the weight stays.
    pub(super) fn learn(&mut self, section: &MonitorSection) {
        if self.rollouts > 0.0 {
            let mean = section.penalty * self.flagged / self.rollouts;
            let moved = self.weight - section.rate * (mean + section.tolerance);
            self.weight = moved.clamp(0.0, section.cap);
        }
        *self = MonitorState { weight: self.weight, ..MonitorState::default() };
    }
}
