//! Planning a step: decodes first, then prefill chunks by priority, within the token budget.

use base::Priority;
use models::{PackItem, pack};

use crate::cache::SequenceId;

use super::state::{Scheduler, class};
use super::step::{Member, Step, StepPlan};

/// Batch sequences keep one in this many tokens of the budget.
const BATCH_PRIORITY_DIVISOR: usize = 8;

/// While an interactive generation decodes, prefill takes one in this many tokens of the budget.
const PREFILL_DIVISOR: usize = 8;

impl Scheduler {
    /// The next step; `None` if nothing can run.
    pub fn schedule(&mut self) -> Option<Step> {
        let mut plan = self.plan();
        if plan.scheduled.is_empty() && plan.preempted {
            // The only running sequence was preempted, and is admitted again.
            plan = self.plan();
        }
        self.step(plan)
    }

    fn plan(&mut self) -> StepPlan {
        let mut plan = StepPlan::new(self.config.batch_tokens);
        self.schedule_decodes(&mut plan);
        if self.has_interactive_decode(&plan) {
            // A step takes as long as its prefill, and every generation waits for it.
            let most = (self.config.batch_tokens / PREFILL_DIVISOR).max(1);
            plan.budget = plan.budget.min(most);
        }
        plan.max_chunk = plan.budget.div_ceil(2);
        // Taken before admission: a sequence that gets its first waiter in this step moves up in
        // the next.
        let [interactive, batch] = self.prefilling();
        // Batch sequences keep their share of what decodes leave.
        let at = class(Priority::Batch);
        let has_batch =
            !batch.is_empty() || !self.ready[at].is_empty() || self.queues[at].len() > 0;
        let reserved = if has_batch { plan.budget / BATCH_PRIORITY_DIVISOR } else { 0 };
        plan.budget -= reserved;
        self.schedule_prefills(&interactive, &mut plan);
        let fitted = self.admit_interactive(&mut plan);
        plan.budget += reserved;
        self.schedule_prefills(&batch, &mut plan);
        if fitted {
            self.admit_batch(&mut plan);
            // Interactive sequences take what batch sequences left of their share.
            self.admit_interactive(&mut plan);
        } else {
            self.admit_single_batch(&mut plan);
        }
        self.fill_budget(&mut plan);
        plan
    }

    /// Packs a plan into a batch; `None` if it is empty.
    fn step(&mut self, plan: StepPlan) -> Option<Step> {
        if plan.scheduled.is_empty() {
            return None;
        }
        let (mut members, mut items, mut draws) = (Vec::new(), Vec::new(), Vec::new());
        for (id, n_tokens) in plan.scheduled {
            let item = self.pack_item(id, n_tokens);
            if self.draws_tokens {
                let state = self.get(id);
                draws.extend(item.outputs.iter().map(|(_, spec)| state.draw(spec)));
            }
            members.push(Member { id, n_tokens, n_rows: item.outputs.len() });
            items.push(item);
        }
        let mut batch = pack(&items).expect("items have tokens, blocks and rows of their own");
        if let Some(paging) = &mut batch.paging {
            paging.copies = plan.copies;
        }
        Some(Step { batch, draws, members })
    }

    /// Schedules the next token of every generation, most urgent first.
    fn schedule_decodes(&mut self, plan: &mut StepPlan) {
        let mut ids: Vec<SequenceId> = self.running.clone();
        ids.retain(|id| self.sequences[id].is_decoding());
        ids.sort_by_key(|id| (self.sequences[id].sequence.priority, *id));
        for id in ids {
            if plan.budget > 0 && self.try_extend_or_preempt(id, plan) {
                plan.schedule(id, 1);
            }
        }
    }

    /// Whether an interactive generation decodes in this step.
    fn has_interactive_decode(&self, plan: &StepPlan) -> bool {
        plan.scheduled
            .iter()
            .any(|(id, _)| self.sequences[id].sequence.priority == Priority::Interactive)
    }

    /// Extends the block table by the sequence's next token, preempting less urgent sequences if
    /// blocks are lacking. False if the sequence itself was preempted.
    fn try_extend_or_preempt(&mut self, id: SequenceId, plan: &mut StepPlan) -> bool {
        loop {
            let Some(state) = self.sequences.get_mut(&id) else {
                return false;
            };
            let Some(table) = state.table.as_mut() else {
                return false;
            };
            if self.cache.extend(table, state.sequence.token_ids.len()) {
                return true;
            }
            plan.preempted = true;
            let victim = self.preemption_victim();
            if self.running.len() == 1 {
                // It is alone, and shared blocks take more memory than its own would.
                self.get(victim).unshared = true;
            }
            self.preempt(victim);
        }
    }

    /// The running sequence to preempt: the last one by priority and then by id. The order uses the
    /// sequence's own priority and not its urgency, so that it never changes; the first sequence in
    /// this order is never preempted for another.
    fn preemption_victim(&self) -> SequenceId {
        let order = |id: &&SequenceId| (self.sequences[id].sequence.priority, **id);
        let last = self.running.iter().max_by_key(order);
        *last.expect("a sequence that lacks blocks is running")
    }

    /// The running sequences in prefill, by urgency and then by id.
    fn prefilling(&self) -> [Vec<SequenceId>; 2] {
        let mut prefilling = [Vec::new(), Vec::new()];
        for id in &self.running {
            let state = &self.sequences[id];
            if !state.is_decoding() {
                prefilling[class(state.urgency)].push(*id);
            }
        }
        for ids in &mut prefilling {
            ids.sort_unstable();
        }
        prefilling
    }

    fn schedule_prefills(&self, ids: &[SequenceId], plan: &mut StepPlan) {
        for (at, id) in ids.iter().enumerate() {
            let others_wait = at + 1 < ids.len() || self.n_queued() > 0;
            self.schedule_chunk(*id, others_wait, plan);
        }
    }

    /// Schedules a prefill chunk as large as the budget allows. While others wait it is at most
    /// half of the prefill budget, so that a long prompt does not hold up short ones.
    pub(super) fn schedule_chunk(&self, id: SequenceId, others_wait: bool, plan: &mut StepPlan) {
        let most = if others_wait { plan.max_chunk } else { usize::MAX };
        let n = self.sequences[&id].remaining().min(most).min(plan.budget);
        if n > 0 {
            plan.schedule(id, n);
        }
    }

    /// Extends the scheduled chunks into the remaining budget, which no waiting sequence could use.
    fn fill_budget(&self, plan: &mut StepPlan) {
        for (id, n) in &mut plan.scheduled {
            let more = (self.sequences[id].remaining() - *n).min(plan.budget);
            *n += more;
            plan.budget -= more;
        }
    }

    /// The next `n_tokens` of a sequence.
    fn pack_item(&self, id: SequenceId, n_tokens: usize) -> PackItem {
        let state = &self.sequences[&id];
        let span = state.computed..state.computed + n_tokens;
        let table = state.table.as_ref().expect("running sequences hold blocks");
        PackItem {
            token_ids: state.sequence.token_ids[span.clone()].to_vec(),
            start: span.start,
            adapter: state.sequence.slot,
            outputs: state.specs_in(&span),
            blocks: table.blocks().to_vec(),
        }
    }
}
