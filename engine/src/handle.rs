//! The handle that callers hold, and the ticket they get for work.

use std::sync::Arc;

use models::Forward;
use models::adapter::Adapter;
use models::kv::BLOCK;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot, watch};

use crate::check;
use crate::error::{LoadError, RequestError, SubmitError};
use crate::sampling::Sampler;
use crate::scheduler::TaskState;
use crate::thread;
use crate::update::WeightUpdateGuard;
use crate::work::{Request, RequestEvent, RequestOutput, RequestParams, Task};

/// What an engine needs to know of its model and its memory.
#[derive(Clone, Copy, Debug)]
pub struct EngineConfig {
    /// KV blocks that the forward has.
    pub n_blocks: usize,
    /// Tokens in one step at most.
    pub batch_tokens: usize,
    /// Sequences that are computed at a time, at most.
    pub max_sequences: usize,
    /// Input tokens of all work in hand, at most.
    pub queue_tokens: usize,
    /// Positions that the model has.
    pub max_positions: usize,
    /// Logits that it gives.
    pub vocab_size: usize,
    /// Whether it has a vocabulary head.
    pub has_vocabulary: bool,
    /// Outputs of its own score head, where it has one.
    pub head_labels: Option<usize>,
}

/// What a request is held against before it is taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Positions that the model has.
    pub max_positions: usize,
    /// Tokens that the KV memory holds.
    pub kv_tokens: usize,
    /// Input tokens of all work in hand, at most.
    pub queue_tokens: usize,
    /// Logits that the model gives.
    pub vocab_size: usize,
    /// Whether it has a vocabulary head.
    pub has_vocabulary: bool,
    /// Outputs of its own score head, where it has one.
    pub head_labels: Option<usize>,
}

impl Limits {
    /// The longest sequence, generated tokens included.
    pub fn context(&self) -> usize {
        self.max_positions.min(self.kv_tokens)
    }
}

/// What the engine is doing, as of its last step.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EngineStatus {
    /// Sequences that wait.
    pub queued: usize,
    /// Sequences that are being computed.
    pub running: usize,
    /// KV blocks that hold nothing.
    pub free_blocks: usize,
    /// KV blocks that sequences are using.
    pub held_blocks: usize,
    /// KV blocks that hold prefixes which nobody is using.
    pub cached_blocks: usize,
    /// Steps since the start.
    pub steps: u64,
    /// Steps that failed.
    pub failed_steps: u64,
    /// Tokens run through the model since the start.
    pub computed_tokens: u64,
    /// Input tokens that came from cache.
    pub cached_tokens: u64,
    /// Tokens generated.
    pub output_tokens: u64,
    /// Sequences that were pre-empted.
    pub preemptions: u64,
    /// How often the weights were changed: see [`Engine::update_weights`].
    pub revision: u64,
    /// The adapters in service.
    pub adapters: Vec<AdapterStatus>,
}

/// An adapter in service.
#[derive(Clone, Debug, PartialEq)]
pub struct AdapterStatus {
    /// The name that work uses.
    pub name: Arc<str>,
    /// Digest of its content.
    pub digest: Arc<str>,
    /// Outputs of its own score head, where it has one.
    pub head_labels: Option<usize>,
}

/// A handle to the engine's thread. The thread ends when the last handle is dropped and its work
/// is done.
#[derive(Clone, Debug)]
pub struct Engine {
    commands: mpsc::Sender<Command>,
    status: watch::Receiver<EngineStatus>,
    /// A permit for each token in hand travels with the work, so that the bound holds without a
    /// counter that somebody must remember to lower.
    tokens: Arc<Semaphore>,
    /// Half of them: what jobs that nobody waits for may hold together, see [`Engine::reserve_batch_capacity`].
    batch_tokens: Arc<Semaphore>,
    limits: Arc<Limits>,
}

/// What the thread is told.
#[derive(Debug)]
pub(crate) enum Command {
    Submit(Submission),
    Insert {
        name: Arc<str>,
        adapter: Arc<Adapter>,
        reply: oneshot::Sender<()>,
    },
    Remove {
        name: Arc<str>,
        reply: oneshot::Sender<bool>,
    },
    /// Nothing is to be computed until the standstill ends.
    PauseForWeightUpdate {
        reply: oneshot::Sender<WeightUpdateGuard>,
    },
    /// Some ticket was dropped before its works were done.
    Abandoned,
}

/// Works that arrived together.
#[derive(Debug)]
pub(crate) struct Submission {
    pub(crate) requests: Vec<CheckedRequest>,
    pub(crate) terms: RequestParams,
    pub(crate) updates: mpsc::Sender<RequestEvent>,
}

/// A work that was found good.
#[derive(Debug)]
pub(crate) struct CheckedRequest {
    pub(crate) token_ids: Arc<[u32]>,
    pub(crate) adapter: Option<Arc<str>>,
    pub(crate) task: TaskState,
    /// Room in the queue, given back when the work is done.
    pub(crate) permit: OwnedSemaphorePermit,
}

/// Submissions that may wait for the thread to look at them. It looks before every step.
const EVENTS: usize = 4096;

impl Engine {
    /// Starts the thread.
    ///
    /// # Errors
    /// [`LoadError::Thread`].
    pub fn start(
        forward: impl Forward + Send + 'static,
        config: EngineConfig,
    ) -> Result<Engine, LoadError> {
        let limits = Arc::new(Limits {
            max_positions: config.max_positions,
            kv_tokens: config.n_blocks * BLOCK,
            queue_tokens: config.queue_tokens,
            vocab_size: config.vocab_size,
            has_vocabulary: config.has_vocabulary,
            head_labels: config.head_labels,
        });
        let (events, inbox) = mpsc::channel(EVENTS);
        let tokens = Arc::new(Semaphore::new(config.queue_tokens));
        let patient = Arc::new(Semaphore::new(config.queue_tokens / 2));
        let status = thread::start(forward, &config, inbox).map_err(LoadError::Thread)?;
        Ok(Engine { commands: events, status, tokens, batch_tokens: patient, limits })
    }

    /// Submits works that belong together. They are queued at once, and answered one by one.
    ///
    /// # Errors
    /// [`SubmitError`]; then nothing was queued.
    pub fn submit(
        &self,
        mut works: Vec<Request>,
        terms: RequestParams,
    ) -> Result<Ticket, SubmitError> {
        let adapters = self.status.borrow().adapters.clone();
        check::works(&mut works, &self.limits, &adapters)?;
        let n_works = works.len();
        let most_updates = works.iter().map(most_updates).sum();
        let orders = self.checked_requests(works)?;
        let (updates, inbox) = mpsc::channel(most_updates);
        let submission = Submission { requests: orders, terms, updates };
        match self.commands.try_send(Command::Submit(submission)) {
            Ok(()) => {
                Ok(Ticket { updates: inbox, commands: self.commands.clone(), n_works, n_done: 0 })
            }
            Err(mpsc::error::TrySendError::Full(_)) => Err(self.overloaded()),
            Err(mpsc::error::TrySendError::Closed(_)) => Err(SubmitError::ShuttingDown),
        }
    }

    /// Waits for room for a submission of so many tokens, among all who wait here; to be held until
    /// it is answered. They are given half of the queue between them, in the order in which they
    /// came, so that jobs of any size neither are refused nor leave no room for who will not wait.
    pub async fn reserve_batch_capacity(&self, tokens: usize) -> OwnedSemaphorePermit {
        let most = (self.limits.queue_tokens / 2).min(tokens);
        let count = u32::try_from(most).unwrap_or(u32::MAX);
        let permit = self.batch_tokens.clone().acquire_many_owned(count).await;
        permit.expect("the semaphore is never closed")
    }

    /// Works with their permits, everything that can be refused refused.
    fn checked_requests(&self, works: Vec<Request>) -> Result<Vec<CheckedRequest>, SubmitError> {
        let total: usize = works.iter().map(|work| work.token_ids.len()).sum();
        let max = self.limits.queue_tokens;
        let too_long = SubmitError::TooLong { what: "the queue", max, given: total };
        if total > max {
            return Err(too_long);
        }
        let count = u32::try_from(total).map_err(|_| too_long)?;
        let mut permit =
            self.tokens.clone().try_acquire_many_owned(count).map_err(|_| self.overloaded())?;
        let order = |(at, work): (usize, Request)| {
            let permit = permit.split(work.token_ids.len());
            Ok(CheckedRequest {
                task: self.task(at, &work.token_ids, work.task)?,
                token_ids: work.token_ids,
                adapter: work.adapter,
                permit: permit.expect("the total is the sum of the lengths"),
            })
        };
        works.into_iter().enumerate().map(order).collect()
    }

    fn task(&self, at: usize, token_ids: &[u32], want: Task) -> Result<TaskState, SubmitError> {
        match want {
            Task::Rows(reads) => Ok(TaskState::rows(reads)),
            Task::Generate(sampling) => Sampler::new(*sampling, token_ids, self.limits.vocab_size)
                .map(TaskState::generation)
                .map_err(|what| SubmitError::Invalid { what: format!("work {at}: {what}") }),
        }
    }

    fn overloaded(&self) -> SubmitError {
        SubmitError::Overloaded { queued: self.queued_tokens(), max: self.limits.queue_tokens }
    }

    /// Input tokens of the work in hand.
    pub fn queued_tokens(&self) -> usize {
        self.limits.queue_tokens.saturating_sub(self.tokens.available_permits())
    }

    /// Whether the thread is there: it ends only with its last handle, or by a fault.
    pub fn is_alive(&self) -> bool {
        !self.commands.is_closed()
    }

    /// How often the weights were changed: see [`Engine::update_weights`].
    pub fn revision(&self) -> u64 {
        self.status.borrow().revision
    }

    pub(crate) fn commands(&self) -> &mpsc::Sender<Command> {
        &self.commands
    }

    /// What a request is held against.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// What the engine was doing after its last step.
    pub fn status(&self) -> EngineStatus {
        self.status.borrow().clone()
    }

    /// Serves an adapter under a name. One that went by it before is replaced: work that was
    /// submitted earlier still runs under the old one, later work under the new one, and neither
    /// meets the other's cache.
    ///
    /// # Errors
    /// [`LoadError::Refused`] when the engine is stopping.
    pub async fn insert_adapter(
        &self,
        name: Arc<str>,
        adapter: Arc<Adapter>,
    ) -> Result<(), LoadError> {
        let (reply, answer) = oneshot::channel();
        self.call(Command::Insert { name, adapter, reply }, answer).await
    }

    /// Takes an adapter out of service; work under way ends under it. Says whether there was one.
    ///
    /// # Errors
    /// [`LoadError::Refused`] when the engine is stopping.
    pub async fn remove_adapter(&self, name: Arc<str>) -> Result<bool, LoadError> {
        let (reply, answer) = oneshot::channel();
        self.call(Command::Remove { name, reply }, answer).await
    }

    async fn call<T>(&self, event: Command, answer: oneshot::Receiver<T>) -> Result<T, LoadError> {
        let gone = || LoadError::Refused("the engine is shutting down".to_owned());
        self.commands.send(event).await.map_err(|_| gone())?;
        answer.await.map_err(|_| gone())
    }
}

/// The channel has room for all that will ever be said about a work: every token and the end.
/// Memory is taken as messages are sent, so that a high bound costs nothing, and the thread never
/// waits for a slow reader.
fn most_updates(work: &Request) -> usize {
    match &work.task {
        Task::Rows(_) => 1,
        Task::Generate(sampling) => sampling.max_tokens + 1,
    }
}

/// Work in hand. Dropping it cancels what is not done.
#[derive(Debug)]
pub struct Ticket {
    updates: mpsc::Receiver<RequestEvent>,
    commands: mpsc::Sender<Command>,
    n_works: usize,
    n_done: usize,
}

impl Ticket {
    /// What is new, or none when every work is done.
    pub async fn next(&mut self) -> Option<RequestEvent> {
        if self.n_done == self.n_works {
            return None;
        }
        let update = self.updates.recv().await;
        self.count(update)
    }

    /// As [`Ticket::next`], blocking the thread.
    pub fn wait_next(&mut self) -> Option<RequestEvent> {
        if self.n_done == self.n_works {
            return None;
        }
        let update = self.updates.blocking_recv();
        self.count(update)
    }

    /// What is new already, without waiting. Whoever stops a generation takes what there is by
    /// this, and drops the ticket: with [`crate::SamplingParams::resumed`] the work is submitted again
    /// later, and goes on as if it had never been stopped.
    pub fn try_next(&mut self) -> Option<RequestEvent> {
        let update = self.updates.try_recv().ok();
        self.count(update)
    }

    fn count(&mut self, update: Option<RequestEvent>) -> Option<RequestEvent> {
        if let Some(RequestEvent::Done { .. }) = &update {
            self.n_done += 1;
        }
        update
    }

    /// The answers of all works, in order.
    pub async fn all(mut self) -> Vec<Result<RequestOutput, RequestError>> {
        let mut answers = vec![Err(RequestError::ShuttingDown); self.n_works];
        while let Some(update) = self.next().await {
            put(&mut answers, update);
        }
        answers
    }

    /// As [`Ticket::all`], blocking the thread.
    pub fn wait(mut self) -> Vec<Result<RequestOutput, RequestError>> {
        let mut answers = vec![Err(RequestError::ShuttingDown); self.n_works];
        while let Some(update) = self.wait_next() {
            put(&mut answers, update);
        }
        answers
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if self.n_done < self.n_works {
            // The thread then looks for callers who left. Where the channel is full it finds this
            // one when its work comes up.
            self.updates.close();
            let _ = self.commands.try_send(Command::Abandoned);
        }
    }
}

fn put(answers: &mut [Result<RequestOutput, RequestError>], update: RequestEvent) {
    match update {
        RequestEvent::Tokens { .. } => {}
        RequestEvent::Done { request: work, result } => answers[work] = result,
    }
}
