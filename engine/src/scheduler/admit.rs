//! Admission: sequences that were running before, then those from the queues.

use base::Priority;

use crate::cache::{Allocation, SequenceId};

use super::sequence::SequenceStatus;
use super::state::{Scheduler, class};
use super::step::StepPlan;

/// The result of trying to admit a sequence.
enum Admission {
    Admitted,
    AwaitsPrefix,
    NoBlocks,
}

impl Scheduler {
    /// Admits interactive sequences. False if one was not admitted because blocks are lacking.
    pub(super) fn admit_interactive(&mut self, plan: &mut StepPlan) -> bool {
        self.admit(Priority::Interactive, usize::MAX, plan)
    }

    /// Admits batch sequences.
    pub(super) fn admit_batch(&mut self, plan: &mut StepPlan) {
        self.admit(Priority::Batch, usize::MAX, plan);
    }

    /// Admits a batch sequence if none runs, while an interactive sequence lacks blocks. If more
    /// were admitted, they would take the blocks that others free, one by one, and the interactive
    /// sequence would never find enough. If none were, steady interactive load would starve them.
    pub(super) fn admit_single_batch(&mut self, plan: &mut StepPlan) {
        let is_batch = |id| self.sequences[id].sequence.priority == Priority::Batch;
        if !self.running.iter().any(is_batch) {
            self.admit(Priority::Batch, 1, plan);
        }
    }

    /// Admits at most `n_most` sequences of a priority while there is budget, a free slot and
    /// blocks. False if one was not admitted because blocks are lacking.
    fn admit(&mut self, priority: Priority, n_most: usize, plan: &mut StepPlan) -> bool {
        let mut n_tried = 0;
        while n_tried < n_most
            && plan.budget > 0
            && !plan.preempted
            && self.running.len() < self.config.max_sequences
            && self.n_waiting < self.config.max_sequences
        {
            let Some(id) = self.next_queued(priority) else {
                return true;
            };
            n_tried += 1;
            match self.try_admit(id, plan) {
                Admission::Admitted => {
                    let others_wait = self.n_queued() > 0;
                    self.schedule_chunk(id, others_wait, plan);
                }
                Admission::AwaitsPrefix => {}
                // Those behind it do not overtake: a long sequence would starve.
                Admission::NoBlocks => return false,
            }
        }
        true
    }

    fn next_queued(&mut self, priority: Priority) -> Option<SequenceId> {
        let at = class(priority);
        if let Some(id) = self.ready[at].pop_first() {
            return Some(id);
        }
        let sequences = &self.sequences;
        self.queues[at].pop(|id| sequences[&id].len() as u64)
    }

    fn try_admit(&mut self, id: SequenceId, plan: &mut StepPlan) -> Admission {
        let state = &self.sequences[&id];
        let sequence = &state.sequence;
        let max_cached = state.max_cached();
        let prefix = self.cache.match_prefix(&sequence.namespace, &sequence.token_ids, max_cached);
        if let Some(pending) = prefix.pending {
            self.wait_for(pending.owner, pending.n_tokens, id);
            return Admission::AwaitsPrefix;
        }
        if self.allocate(id, max_cached, plan) {
            return Admission::Admitted;
        }
        // Alone it fits without the cache, because then every cached block can be evicted.
        if self.running.is_empty() && self.allocate(id, 0, plan) {
            return Admission::Admitted;
        }
        self.set_ready(id);
        Admission::NoBlocks
    }

    /// Allocates blocks for a sequence and starts it, taking at most `max_cached` tokens from
    /// cache. False, without effect, if there are not enough blocks.
    fn allocate(&mut self, id: SequenceId, max_cached: usize, plan: &mut StepPlan) -> bool {
        let state =
            self.sequences.get_mut(&id).expect("ids in lists are those of sequences in the map");
        let sequence = &state.sequence;
        let allocated = self.cache.allocate(Allocation {
            owner: id,
            namespace: &sequence.namespace,
            token_ids: &sequence.token_ids,
            max_cached,
            n_positions: sequence.token_ids.len(),
        });
        let Some(allocated) = allocated else {
            return false;
        };
        let cached = allocated.table.cached();
        if state.usage.computed_tokens == 0 {
            state.usage.cached_tokens = cached;
        }
        self.totals.cached_tokens += cached as u64;
        state.computed = cached;
        state.table = Some(allocated.table);
        state.status = SequenceStatus::Running;
        state.urgency = state.sequence.priority;
        plan.copies.extend(allocated.copies);
        self.running.push(id);
        true
    }
}
