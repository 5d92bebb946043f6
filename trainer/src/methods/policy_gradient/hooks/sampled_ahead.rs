//! Groups of several steps sampled at once (`sample_ahead`; TP-GRPO, arXiv 2507.23317): the weights at
//! the beginning sample them all, and each step trains on its own with ratios to those weights.

use std::collections::VecDeque;

use super::super::group_source::{GroupSource, Round};
use super::super::prompts::Prompts;
use super::super::rollouts::SampledGroup;
use super::super::state::{PolicyGradientState, StoredGroup};
use crate::error::Result;
use crate::metrics::Metrics;

/// Samples the groups of some steps whenever none is left.
#[derive(Debug)]
pub(in super::super) struct SampledAhead {
    steps: usize,
    held: VecDeque<SampledGroup>,
}

impl SampledAhead {
    pub(in super::super) fn new(steps: usize) -> SampledAhead {
        SampledAhead { steps, held: VecDeque::new() }
    }
}

impl GroupSource for SampledAhead {
    fn sample(
        &mut self,
        round: &Round<'_>,
        prompts: &mut Prompts,
        metrics: &mut Metrics,
    ) -> Result<Vec<SampledGroup>> {
        if self.held.is_empty() {
            let items = prompts.draw(self.steps * round.want, round.context())?;
            self.held = round.rollouts.sample(items, round.params, round.step)?.into();
        }
        let taken = self.held.drain(..round.want.min(self.held.len())).collect();
        metrics.set("ahead/waiting", self.held.len() as f64);
        Ok(taken)
    }

    fn save(&self, state: &mut PolicyGradientState, revision: u64) {
        let stored = |(id, (item, responses)): (u64, &SampledGroup)| {
            StoredGroup::new(id, item, responses, revision)
        };
        state.sampled_ahead = (0..).zip(&self.held).map(stored).collect();
    }

    fn restore(&mut self, state: &PolicyGradientState, revision: u64) {
        let group = |stored: &StoredGroup| (stored.item.clone(), stored.responses(revision));
        self.held = state.sampled_ahead.iter().map(group).collect();
    }
}
