//! Letting sequences in: from who was in before, then from the callers' lines.

use super::plan::Plan;
use super::sequence::SequenceStatus;
use super::{Scheduler, class};
use crate::cache::{Allocation, SequenceId};
use crate::work::Priority;

/// What became of a sequence that was to be let in.
enum Admission {
    Admitted,
    AwaitsPrefix,
    NoBlocks,
}

impl Scheduler {
    /// Opens sequences of a priority while there are tokens left in the step, places and blocks.
    pub(super) fn admit(&mut self, priority: Priority, plan: &mut Plan) {
        while plan.budget > 0
            && !plan.preempted
            && self.running.len() < self.config.max_sequences
            && self.n_waiting < self.config.max_sequences
        {
            let Some(id) = self.next_queued(priority) else {
                return;
            };
            match self.try_admit(id, plan) {
                Admission::Admitted => {
                    let others = self.n_queued() > 0;
                    self.schedule_chunk(id, others, plan);
                }
                Admission::AwaitsPrefix => {}
                // Those behind it do not pass: a long sequence would wait for ever.
                Admission::NoBlocks => return,
            }
        }
    }

    fn next_queued(&mut self, priority: Priority) -> Option<SequenceId> {
        let at = class(priority);
        if let Some(id) = self.ready[at].pop_first() {
            return Some(id);
        }
        let sequences = &self.sequences;
        self.queues[at].pop(|id| sequences[&id].len() as u64)
    }

    fn try_admit(&mut self, id: SequenceId, plan: &mut Plan) -> Admission {
        let running = &self.sequences[&id];
        let sequence = &running.sequence;
        let limit = running.max_cached();
        let prefix = self.cache.match_prefix(&sequence.namespace, &sequence.token_ids, limit);
        if let Some(awaited) = prefix.pending {
            self.wait_for(awaited.owner, awaited.upto, id);
            return Admission::AwaitsPrefix;
        }
        if self.allocate(id, limit, plan) {
            return Admission::Admitted;
        }
        // Alone, it fits if it takes nothing from the cache: then all of that can go.
        if self.running.is_empty() && self.allocate(id, 0, plan) {
            return Admission::Admitted;
        }
        let running = self.get(id);
        running.status = SequenceStatus::Ready;
        let class = class(running.sequence.priority);
        self.ready[class].insert(id);
        Admission::NoBlocks
    }

    fn allocate(&mut self, id: SequenceId, limit: usize, plan: &mut Plan) -> bool {
        let running =
            self.sequences.get_mut(&id).expect("ids in lists are those of sequences in hand");
        let sequence = &running.sequence;
        let opened = self.cache.allocate(Allocation {
            owner: id,
            namespace: &sequence.namespace,
            token_ids: &sequence.token_ids,
            max_cached: limit,
            n_positions: sequence.token_ids.len(),
        });
        let Some(opened) = opened else {
            return false;
        };
        let cached = opened.table.cached();
        if running.usage.computed_tokens == 0 {
            running.usage.cached_tokens = cached;
        }
        self.totals.cached_tokens += cached as u64;
        running.computed = cached;
        running.table = Some(opened.table);
        running.status = SequenceStatus::Running;
        running.urgency = running.sequence.priority;
        plan.copies.extend(opened.copies);
        self.running.push(id);
        true
    }

    /// Lets a sequence wait for another, which becomes as urgent as it.
    fn wait_for(&mut self, owner: SequenceId, upto: usize, id: SequenceId) {
        let running = self.get(id);
        running.status = SequenceStatus::Waiting(owner);
        let priority = running.sequence.priority;
        let other = self.get(owner);
        other.urgency = other.urgency.min(priority);
        self.waiting.entry(owner).or_default().push((upto, id));
        self.n_waiting += 1;
    }
}
