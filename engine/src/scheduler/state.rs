//! The sequences in the scheduler and the list that each is on.

use std::collections::{BTreeSet, HashMap};

use base::Priority;

use crate::cache::{BlockCounts, BlockManager, SequenceId};

use super::queue::Queue;
use super::sequence::{Sequence, SequenceState, SequenceStatus};

/// Bounds of a step.
#[derive(Clone, Copy, Debug)]
pub struct SchedulerConfig {
    /// KV blocks.
    pub n_blocks: usize,
    /// The most tokens in one step.
    pub batch_tokens: usize,
    /// The most sequences that hold blocks at a time; as many more may wait for a prefix.
    pub max_sequences: usize,
}

/// All sequences, and the prefix cache.
#[derive(Debug)]
pub struct Scheduler {
    pub(super) config: SchedulerConfig,
    pub(super) cache: BlockManager,
    pub(super) sequences: HashMap<SequenceId, SequenceState>,
    /// New sequences, by priority.
    pub(super) queues: [Queue; 2],
    /// Sequences that were admitted before and go ahead of the queues, by priority.
    pub(super) ready: [BTreeSet<SequenceId>; 2],
    /// Sequences that wait for a prefix, by the sequence that computes it: how many of its tokens
    /// they need.
    pub(super) waiting: HashMap<SequenceId, Vec<(usize, SequenceId)>>,
    pub(super) n_waiting: usize,
    /// Sequences that hold blocks, in order of admission.
    pub(super) running: Vec<SequenceId>,
    pub(super) totals: Totals,
    /// Number of weight updates.
    pub(super) revision: u64,
    /// Whether the forward draws tokens.
    pub(super) draws_tokens: bool,
}

/// Counts since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Tokens run through the model.
    pub computed_tokens: u64,
    /// Input tokens that came from the prefix cache.
    pub cached_tokens: u64,
    /// Tokens generated.
    pub output_tokens: u64,
    /// Preemptions.
    pub preemptions: u64,
    /// Steps that failed.
    pub failed_steps: u64,
}

impl Scheduler {
    /// An empty scheduler.
    pub fn new(config: SchedulerConfig) -> Scheduler {
        Scheduler {
            cache: BlockManager::new(config.n_blocks),
            // Each step has the next token of every generation, so there are no more of these than
            // tokens in a step.
            config: SchedulerConfig {
                max_sequences: config.max_sequences.clamp(1, config.batch_tokens.max(1)),
                batch_tokens: config.batch_tokens.max(1),
                ..config
            },
            sequences: HashMap::new(),
            queues: Default::default(),
            ready: Default::default(),
            waiting: HashMap::new(),
            n_waiting: 0,
            running: Vec::new(),
            totals: Totals::default(),
            revision: 0,
            draws_tokens: false,
        }
    }

    /// Plans steps for a forward that draws tokens itself: see [`Step::draws`](super::Step::draws).
    #[must_use]
    pub fn drawing(self, draws_tokens: bool) -> Scheduler {
        Scheduler { draws_tokens, ..self }
    }

    /// Queues a sequence. It must have tokens, fit into the KV memory alone, and have a larger id
    /// than all before it.
    pub fn add(&mut self, sequence: Sequence) {
        let (id, client, priority) = (sequence.id, sequence.client, sequence.priority);
        self.sequences.insert(id, SequenceState::new(sequence));
        self.queues[class(priority)].push(client, id);
    }

    /// Removes a sequence without an event. Returns whether it was there.
    pub fn cancel(&mut self, id: SequenceId) -> bool {
        self.remove(id).is_some()
    }

    /// Invalidates everything computed so far, because the weights have changed; to be called
    /// between a finished step and the next. Cached prefixes are not used again, running sequences
    /// are recomputed, and the revision goes up by one.
    pub fn invalidate_cache(&mut self) {
        self.revision += 1;
        self.cache.invalidate();
        for id in std::mem::take(&mut self.running) {
            self.requeue(id);
        }
        // Sequences that were preempted earlier may have rows of the old revision too.
        for state in self.sequences.values_mut() {
            state.reset_rows();
        }
    }

    /// Number of weight updates.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// The sequences that hold blocks.
    pub fn running(&self) -> &[SequenceId] {
        &self.running
    }

    /// Whether there are no sequences.
    pub fn is_empty(&self) -> bool {
        self.sequences.is_empty()
    }

    /// Number of sequences that hold no blocks.
    pub fn n_queued(&self) -> usize {
        self.sequences.len() - self.running.len()
    }

    /// Number of sequences that hold blocks.
    pub fn n_running(&self) -> usize {
        self.running.len()
    }

    /// KV blocks by use.
    pub fn counts(&self) -> BlockCounts {
        self.cache.counts()
    }

    /// Counts since the start.
    pub fn totals(&self) -> Totals {
        self.totals
    }

    pub(super) fn get(&mut self, id: SequenceId) -> &mut SequenceState {
        self.sequences.get_mut(&id).expect("ids in lists are those of sequences in the map")
    }

    /// Removes a sequence from every list, releases its blocks and wakes the sequences that wait
    /// for it.
    pub(super) fn remove(&mut self, id: SequenceId) -> Option<SequenceState> {
        let mut state = self.sequences.remove(&id)?;
        let sequence = &state.sequence;
        match state.status {
            SequenceStatus::Queued => {
                self.queues[class(sequence.priority)].remove(sequence.client, id);
            }
            SequenceStatus::Ready => {
                self.ready[class(sequence.priority)].remove(&id);
            }
            SequenceStatus::Waiting(owner) => self.remove_waiter(owner, id),
            SequenceStatus::Running => self.running.retain(|other| *other != id),
        }
        if let Some(table) = state.table.take() {
            self.cache.release(table, &state.sequence.token_ids);
            self.wake(id, usize::MAX);
        }
        Some(state)
    }

    /// Preempts a running sequence: releases its blocks, to be recomputed when there are blocks
    /// again.
    pub(super) fn preempt(&mut self, id: SequenceId) {
        self.totals.preemptions += 1;
        self.running.retain(|other| *other != id);
        self.requeue(id);
    }

    /// Releases the blocks of a sequence that was taken off the running list, and puts it ahead of
    /// the queues.
    fn requeue(&mut self, id: SequenceId) {
        let state = self.get(id);
        state.computed = 0;
        let table = state.table.take().expect("running sequences hold blocks");
        let token_ids = std::mem::take(&mut state.sequence.token_ids);
        self.cache.release(table, &token_ids);
        self.get(id).sequence.token_ids = token_ids;
        self.set_ready(id);
        self.wake(id, usize::MAX);
    }

    /// Puts a sequence that is on no list ahead of the queues.
    pub(super) fn set_ready(&mut self, id: SequenceId) {
        let state = self.get(id);
        state.status = SequenceStatus::Ready;
        let class = class(state.sequence.priority);
        self.ready[class].insert(id);
    }

    /// Makes sequence `id` wait until `owner` has computed `n_tokens`. `owner` becomes as urgent as
    /// its waiter.
    pub(super) fn wait_for(&mut self, owner: SequenceId, n_tokens: usize, id: SequenceId) {
        let state = self.get(id);
        state.status = SequenceStatus::Waiting(owner);
        let priority = state.sequence.priority;
        let other = self.get(owner);
        other.urgency = other.urgency.min(priority);
        self.waiting.entry(owner).or_default().push((n_tokens, id));
        self.n_waiting += 1;
    }

    /// Readies the sequences that wait for at most `computed` tokens of `owner`.
    pub(super) fn wake(&mut self, owner: SequenceId, computed: usize) {
        let Some(waiting) = self.waiting.get_mut(&owner) else {
            return;
        };
        let mut woken = Vec::new();
        waiting.retain(|(n_tokens, id)| {
            let waits = *n_tokens > computed;
            if !waits {
                woken.push(*id);
            }
            waits
        });
        if waiting.is_empty() {
            self.waiting.remove(&owner);
        }
        self.n_waiting -= woken.len();
        for id in woken {
            self.set_ready(id);
        }
    }

    fn remove_waiter(&mut self, owner: SequenceId, id: SequenceId) {
        if let Some(waiting) = self.waiting.get_mut(&owner) {
            waiting.retain(|(_, other)| *other != id);
            self.n_waiting -= 1;
            if waiting.is_empty() {
                self.waiting.remove(&owner);
            }
        }
    }

    /// Checks every invariant of the scheduler and its cache; for tests, because it visits
    /// everything.
    ///
    /// # Errors
    /// The first broken invariant.
    pub fn audit(&self) -> Result<(), String> {
        self.cache.audit()?;
        let n_ready: usize = self.ready.iter().map(BTreeSet::len).sum();
        let n_queued: usize = self.queues.iter().map(Queue::len).sum();
        let listed: usize = self.waiting.values().map(Vec::len).sum();
        let total = n_queued + n_ready + listed + self.running.len();
        if listed != self.n_waiting || total != self.sequences.len() {
            return Err(format!(
                "{} sequences: {n_queued} queued, {n_ready} ready, {listed} ({}) waiting, {} running",
                self.sequences.len(),
                self.n_waiting,
                self.running.len()
            ));
        }
        for (id, state) in &self.sequences {
            if state.table.is_some() != (state.status == SequenceStatus::Running) {
                return Err(format!("{id:?} is {:?} with wrong blocks", state.status));
            }
        }
        match self.waiting.keys().find(|owner| !self.running.contains(owner)) {
            Some(owner) => Err(format!("{owner:?} is waited for and does not run")),
            None => Ok(()),
        }
    }
}

/// Index of a priority's lists.
pub(super) fn class(priority: Priority) -> usize {
    match priority {
        Priority::Interactive => 0,
        Priority::Batch => 1,
    }
}
