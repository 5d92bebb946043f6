//! Filling a step: generations first, then prompts by priority, within the budget.

use models::batch::BlockCopy;
use models::{PackItem, pack};

use super::{BATCH_PRIORITY_DIVISOR, Member, PREFILL_DIVISOR, Scheduler, Step, class};
use crate::cache::SequenceId;
use crate::work::Priority;

/// A step in the making.
#[derive(Debug)]
pub(super) struct Plan {
    /// Tokens that still fit.
    pub(super) budget: usize,
    /// The most that one prompt takes of it while others wait.
    max_chunk: usize,
    /// Whether a sequence had to give its blocks back: then none is admitted in this step, since
    /// it would take them again.
    pub(super) preempted: bool,
    pub(super) copies: Vec<BlockCopy>,
    /// Who runs how many tokens.
    pub(super) scheduled: Vec<(SequenceId, usize)>,
}

impl Plan {
    fn schedule(&mut self, id: SequenceId, n_tokens: usize) {
        self.budget -= n_tokens;
        self.scheduled.push((id, n_tokens));
    }
}

impl Scheduler {
    /// Everything that runs in the next step.
    pub(super) fn plan(&mut self) -> Plan {
        let mut plan = Plan {
            budget: self.config.batch_tokens,
            max_chunk: 0,
            preempted: false,
            copies: Vec::new(),
            scheduled: Vec::new(),
        };
        self.schedule_decodes(&mut plan);
        if self.has_interactive_decode(&plan) {
            // A step is as long as its prompts, and every generation waits for it.
            let most = (self.config.batch_tokens / PREFILL_DIVISOR).max(1);
            plan.budget = plan.budget.min(most);
        }
        plan.max_chunk = plan.budget.div_ceil(2);
        // As they are now: who begins to be waited for in this step is not moved up in it.
        let [interactive, batch] = self.prefilling();
        // Batch work keeps its share of what generations leave.
        let at = class(Priority::Batch);
        let has_batch =
            !batch.is_empty() || !self.ready[at].is_empty() || self.queues[at].len() > 0;
        let kept = if has_batch { plan.budget / BATCH_PRIORITY_DIVISOR } else { 0 };
        plan.budget -= kept;
        self.schedule_prefills(&interactive, &mut plan);
        self.admit(Priority::Interactive, &mut plan);
        plan.budget += kept;
        self.schedule_prefills(&batch, &mut plan);
        self.admit(Priority::Batch, &mut plan);
        // What batch work left of its share.
        self.admit(Priority::Interactive, &mut plan);
        self.fill_budget(&mut plan);
        plan
    }

    /// The step that a plan comes to.
    pub(super) fn step(&self, plan: Plan) -> Option<Step> {
        if plan.scheduled.is_empty() {
            return None;
        }
        let (mut members, mut items) = (Vec::new(), Vec::new());
        for (id, n_tokens) in plan.scheduled {
            let item = self.item(id, n_tokens);
            members.push(Member { id, n_tokens, n_rows: item.reads.len() });
            items.push(item);
        }
        let mut batch = pack(&items).expect("items have tokens, blocks and rows of their own");
        if let Some(paging) = &mut batch.paging {
            paging.copies = plan.copies;
        }
        Some(Step { batch, members })
    }

    /// The next token of every generation under way, most urgent first.
    fn schedule_decodes(&mut self, plan: &mut Plan) {
        let mut ids: Vec<SequenceId> = self.running.clone();
        ids.retain(|id| self.sequences[id].is_decoding());
        ids.sort_by_key(|id| (self.sequences[id].sequence.priority, *id));
        for id in ids {
            if plan.budget > 0 && self.try_extend_or_preempt(id, plan) {
                plan.schedule(id, 1);
            }
        }
    }

    /// Whether an interactive generation goes on in this step.
    fn has_interactive_decode(&self, plan: &Plan) -> bool {
        let priority = |id: &SequenceId| self.sequences[id].sequence.priority;
        let shares = plan.scheduled.iter();
        shares.map(|(id, _)| priority(id)).any(|priority| priority == Priority::Interactive)
    }

    /// Makes room for the sequence's next token, at the cost of less urgent ones or of itself.
    fn try_extend_or_preempt(&mut self, id: SequenceId, plan: &mut Plan) -> bool {
        loop {
            let Some(running) = self.sequences.get_mut(&id) else {
                return false;
            };
            let Some(table) = running.table.as_mut() else {
                return false;
            };
            if self.cache.extend(table, running.sequence.token_ids.len()) {
                return true;
            }
            plan.preempted = true;
            let victim = self.least_urgent();
            if self.running.len() == 1 {
                // Alone, and what it shares with the cache takes more blocks than it needs.
                self.get(victim).unshared = true;
            }
            self.preempt(victim);
        }
    }

    fn least_urgent(&self) -> SequenceId {
        let urgency = |id: &&SequenceId| (self.sequences[id].sequence.priority, **id);
        let last = self.running.iter().max_by_key(urgency);
        *last.expect("a sequence that lacks room is running")
    }

    fn preempt(&mut self, id: SequenceId) {
        self.totals.preemptions += 1;
        self.running.retain(|other| *other != id);
        self.requeue(id);
    }

    /// The prompts under way by urgency, earliest first.
    fn prefilling(&self) -> [Vec<SequenceId>; 2] {
        let mut prompts = [Vec::new(), Vec::new()];
        for id in &self.running {
            let running = &self.sequences[id];
            if !running.is_decoding() {
                prompts[class(running.urgency)].push(*id);
            }
        }
        for ids in &mut prompts {
            ids.sort_unstable();
        }
        prompts
    }

    /// More of prompts under way.
    fn schedule_prefills(&self, ids: &[SequenceId], plan: &mut Plan) {
        for (at, id) in ids.iter().enumerate() {
            let others = at + 1 < ids.len() || self.n_queued() > 0;
            self.schedule_chunk(*id, others, plan);
        }
    }

    /// As much of a sequence as the budget allows. While others wait, a prompt takes at most half
    /// of what prompts may take, so that a long one does not keep short ones from beginning.
    pub(super) fn schedule_chunk(&self, id: SequenceId, others: bool, plan: &mut Plan) {
        let most = if others { plan.max_chunk } else { usize::MAX };
        let n = self.sequences[&id].remaining().min(most).min(plan.budget);
        if n > 0 {
            plan.schedule(id, n);
        }
    }

    /// What is left of the budget goes to prompts that would have run longer, had others not been
    /// waiting: those could not run after all.
    fn fill_budget(&self, plan: &mut Plan) {
        for (id, n) in &mut plan.scheduled {
            let more = (self.sequences[id].remaining() - *n).min(plan.budget);
            *n += more;
            plan.budget -= more;
        }
    }

    /// The next `n_tokens` of a sequence.
    fn item(&self, id: SequenceId, n_tokens: usize) -> PackItem {
        let running = &self.sequences[&id];
        let span = running.computed..running.computed + n_tokens;
        let table = running.table.as_ref();
        let table = table.expect("sequences hold blocks from being opened to being taken out");
        PackItem {
            token_ids: running.sequence.token_ids[span.clone()].to_vec(),
            start: span.start,
            adapter: running.sequence.slot,
            reads: running.specs_in(&span),
            blocks: table.blocks().to_vec(),
        }
    }
}
