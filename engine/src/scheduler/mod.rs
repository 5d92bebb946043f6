//! Which tokens run next: continuous batching as plain data.
//!
//! A step takes, under a budget of tokens: the next token of every generation, then prompts, in
//! pieces where they are long. Interactive work goes before batch work, which keeps an eighth of
//! the budget; while an interactive generation goes on, prompts take an eighth of a step, so that its
//! tokens do not come seconds apart. A sequence whose beginning another one is computing waits for it instead of
//! computing it too. When blocks run out, the least urgent sequence gives its own back and is
//! computed anew later; the most urgent one can always go on, because a sequence that would not fit
//! alone is never admitted.
//!
//! Nothing here knows a channel, a clock or a tensor.

mod admit;
mod plan;
mod queue;
mod sequence;

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use models::batch::{Outputs, RaggedBatch};

use crate::cache::{BlockCounts, BlockManager, SequenceId};
use crate::error::RequestError;
use crate::sampling::SampledToken;
use crate::work::{Priority, TaskOutput, Usage};

use self::queue::Queue;
use self::sequence::{Progress, SequenceState, SequenceStatus};

pub use self::sequence::{GenerationState, RowsState, Sequence, TaskState};

/// What bounds a step.
#[derive(Clone, Copy, Debug)]
pub struct SchedulerConfig {
    /// KV blocks.
    pub n_blocks: usize,
    /// Tokens in one step at most.
    pub batch_tokens: usize,
    /// Sequences that hold blocks at a time, at most; as many more may wait for their beginnings.
    pub max_sequences: usize,
}

/// The part of the budget that batch work keeps: one in so many tokens.
const BATCH_PRIORITY_DIVISOR: usize = 8;

/// The part of a step that prompts take while an interactive generation goes on: one in so many
/// tokens of the budget.
const PREFILL_DIVISOR: usize = 8;

/// All sequences in hand.
#[derive(Debug)]
pub struct Scheduler {
    config: SchedulerConfig,
    cache: BlockManager,
    sequences: HashMap<SequenceId, SequenceState>,
    /// By priority.
    queues: [Queue; 2],
    /// By priority, what goes before the queues: sequences that were admitted before.
    ready: [BTreeSet<SequenceId>; 2],
    /// By the sequence that is waited for: how many of its tokens must be computed, and by whom
    /// they are needed.
    waiting: HashMap<SequenceId, Vec<(usize, SequenceId)>>,
    n_waiting: usize,
    /// Sequences that hold blocks, in order of admission.
    running: Vec<SequenceId>,
    totals: Totals,
    /// How often everything was forgotten.
    revision: u64,
}

/// Counts since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Tokens run through the model.
    pub computed_tokens: u64,
    /// Input tokens that came from cache.
    pub cached_tokens: u64,
    /// Tokens generated.
    pub output_tokens: u64,
    /// Sequences that gave their blocks back before they were done.
    pub preemptions: u64,
    /// Steps that gave nothing.
    pub failed_steps: u64,
}

/// One forward, and whose rows are whose.
#[derive(Debug)]
pub struct Step {
    /// What to run.
    pub batch: RaggedBatch,
    members: Vec<Member>,
}

impl Step {
    /// The sequences of the step, and which of their tokens run.
    pub fn spans(&self) -> impl Iterator<Item = (SequenceId, Range<usize>)> {
        let starts = self.batch.cu_seqlens_q.iter();
        starts.zip(&self.members).map(|(row, member)| {
            let start = self.batch.positions[*row as usize] as usize;
            (member.id, start..start + member.n_tokens)
        })
    }
}

#[derive(Debug)]
struct Member {
    id: SequenceId,
    n_tokens: usize,
    n_rows: usize,
}

/// What a step came to for one sequence.
#[derive(Debug, PartialEq)]
pub enum Event {
    /// A generation has one more token, and goes on.
    Token(SequenceId, SampledToken),
    /// A sequence is done; nothing follows. A last token comes with it.
    Done {
        /// Which.
        id: SequenceId,
        /// What was wanted and what it took.
        result: Result<(TaskOutput, Usage), RequestError>,
        /// The token that ended it.
        last: Option<SampledToken>,
    },
}

impl Scheduler {
    /// An empty scheduler.
    pub fn new(config: SchedulerConfig) -> Scheduler {
        Scheduler {
            cache: BlockManager::new(config.n_blocks),
            // Every generation under way has its token in every step.
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
        }
    }

    /// Queues a sequence. It has tokens, fits the KV memory alone, and its id is larger than all
    /// before.
    pub fn add(&mut self, sequence: Sequence) {
        let (id, client, priority) = (sequence.id, sequence.client, sequence.priority);
        self.sequences.insert(id, SequenceState::new(sequence));
        self.queues[class(priority)].push(client, id);
    }

    /// The next forward, or none where nothing can run.
    pub fn schedule(&mut self) -> Option<Step> {
        let mut plan = self.plan();
        if plan.scheduled.is_empty() && plan.preempted {
            // The only sequence gave its blocks back, and begins anew.
            plan = self.plan();
        }
        self.step(plan)
    }

    /// Takes what a step gave, or why it failed, and says what that means for its sequences.
    pub fn finish(&mut self, step: Step, outcome: Result<Outputs, String>) -> Vec<Event> {
        let asked: usize = step.members.iter().map(|member| member.n_rows).sum();
        let outcome = outcome.and_then(|outputs| match outputs.rows.len() {
            given if given == asked => Ok(outputs.rows),
            given => Err(format!("it gave {given} outputs for {asked} rows")),
        });
        match outcome {
            Ok(rows) => {
                let mut rows = rows.into_iter();
                let mut events = Vec::new();
                for member in step.members {
                    let own = rows.by_ref().take(member.n_rows).collect();
                    events.extend(self.advance(&member, own));
                }
                events
            }
            Err(what) => {
                tracing::error!(what, "a step failed");
                self.totals.failed_steps += 1;
                let fail = |member: Member| self.fail(member.id, RequestError::Model(what.clone()));
                step.members.into_iter().filter_map(fail).collect()
            }
        }
    }

    /// Ends a sequence without an answer, wherever it is. Says whether it was there.
    pub fn cancel(&mut self, id: SequenceId) -> bool {
        self.remove(id).is_some()
    }

    /// To be called when the weights have changed, between a finished step and the next: no prefix
    /// that is cached is used again, sequences under way are computed anew, and the revision is one
    /// more.
    pub fn invalidate_cache(&mut self) {
        self.revision += 1;
        self.cache.invalidate();
        for id in std::mem::take(&mut self.running) {
            self.requeue(id);
        }
        // Also of those that had to give way and wait: they may have read some of their rows.
        for running in self.sequences.values_mut() {
            running.reset_rows();
        }
    }

    /// Which weights these are: how often everything was forgotten.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// The sequences that hold blocks.
    pub fn running(&self) -> &[SequenceId] {
        &self.running
    }

    /// Whether nothing is in hand.
    pub fn is_empty(&self) -> bool {
        self.sequences.is_empty()
    }

    /// Sequences that do not hold blocks.
    pub fn n_queued(&self) -> usize {
        self.sequences.len() - self.running.len()
    }

    /// Sequences that hold blocks.
    pub fn n_running(&self) -> usize {
        self.running.len()
    }

    /// KV blocks by what they hold.
    pub fn counts(&self) -> BlockCounts {
        self.cache.counts()
    }

    /// Counts since the start.
    pub fn totals(&self) -> Totals {
        self.totals
    }

    fn get(&mut self, id: SequenceId) -> &mut SequenceState {
        self.sequences.get_mut(&id).expect("ids in lists are those of sequences in hand")
    }

    /// One sequence's part of a step that went well. It may have been cancelled meanwhile.
    fn advance(&mut self, member: &Member, rows: Vec<models::Output>) -> Option<Event> {
        let running = self.sequences.get_mut(&member.id)?;
        if running.status != SequenceStatus::Running {
            return None;
        }
        let end = running.computed + member.n_tokens;
        running.usage.computed_tokens += member.n_tokens;
        self.totals.computed_tokens += member.n_tokens as u64;
        let progress = match running.accept(rows, end, self.revision) {
            Ok(progress) => progress,
            // What gave no number is not kept for others either.
            Err(failure) => return self.fail(member.id, failure),
        };
        running.computed = end;
        let table = running.table.as_mut().expect("members of a step hold blocks");
        self.cache.commit(table, end);
        self.wake(member.id, end);
        match progress {
            Progress::InProgress => None,
            Progress::Token(sampled) => {
                self.totals.output_tokens += 1;
                Some(Event::Token(member.id, sampled))
            }
            Progress::Done(last) => {
                self.totals.output_tokens += u64::from(last.is_some());
                let running = self.remove(member.id).expect("it is in hand");
                Some(Event::Done { id: member.id, result: Ok(running.into_output()), last })
            }
        }
    }

    fn fail(&mut self, id: SequenceId, failure: RequestError) -> Option<Event> {
        self.remove(id)?;
        Some(Event::Done { id, result: Err(failure), last: None })
    }

    /// Removes a sequence from every list, gives its blocks back, and wakes who waited for it.
    fn remove(&mut self, id: SequenceId) -> Option<SequenceState> {
        let mut running = self.sequences.remove(&id)?;
        let sequence = &running.sequence;
        match running.status {
            SequenceStatus::Queued => {
                self.queues[class(sequence.priority)].remove(sequence.client, id)
            }
            SequenceStatus::Ready => {
                self.ready[class(sequence.priority)].remove(&id);
            }
            SequenceStatus::Waiting(owner) => self.remove_waiter(owner, id),
            SequenceStatus::Running => self.running.retain(|other| *other != id),
        }
        if let Some(table) = running.table.take() {
            self.cache.release(table, &running.sequence.token_ids);
            self.wake(id, usize::MAX);
        }
        Some(running)
    }

    /// Takes a running sequence's blocks back. It goes on, computed anew, when there is room.
    fn requeue(&mut self, id: SequenceId) {
        let running = self.get(id);
        running.computed = 0;
        running.status = SequenceStatus::Ready;
        let class = class(running.sequence.priority);
        let table = running.table.take().expect("running sequences hold blocks");
        let token_ids = std::mem::take(&mut running.sequence.token_ids);
        self.cache.release(table, &token_ids);
        self.get(id).sequence.token_ids = token_ids;
        self.ready[class].insert(id);
        self.wake(id, usize::MAX);
    }

    /// Makes those ready that waited for at most `computed` tokens of a sequence.
    fn wake(&mut self, owner: SequenceId, computed: usize) {
        let Some(waiting) = self.waiting.get_mut(&owner) else {
            return;
        };
        let mut woken = Vec::new();
        waiting.retain(|(upto, id)| {
            let waits = *upto > computed;
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
            let running = self.get(id);
            running.status = SequenceStatus::Ready;
            let class = class(running.sequence.priority);
            self.ready[class].insert(id);
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

    /// Every invariant, walked in full.
    ///
    /// # Errors
    /// Says which is broken.
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
        for (id, running) in &self.sequences {
            if running.table.is_some() != (running.status == SequenceStatus::Running) {
                return Err(format!("{id:?} is {:?} with wrong blocks", running.status));
            }
        }
        match self.waiting.keys().find(|owner| !self.running.contains(owner)) {
            Some(owner) => Err(format!("{owner:?} is waited for and does not run")),
            None => Ok(()),
        }
    }
}

/// Index of a priority's lists.
fn class(priority: Priority) -> usize {
    match priority {
        Priority::Interactive => 0,
        Priority::Batch => 1,
    }
}
