//! The handle to an engine.

use std::sync::{Arc, OnceLock};
use std::time::Instant;

use models::Forward;
use models::adapter::Adapter;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot, watch};

use crate::check;
use crate::command::{CheckedRequest, Command, Submission};
use crate::config::{EngineConfig, RequestLimits};
use crate::error::{LoadError, RequestError, SubmitError};
use crate::request::{Request, RequestParams, Task, TokenMeter};
use crate::sampling::Sampler;
use crate::scheduler::TaskState;
use crate::status::EngineStatus;
use crate::thread;
use crate::ticket::Ticket;

/// A handle to an engine's thread. The thread ends when the last handle is dropped and all requests
/// are done.
#[derive(Clone, Debug)]
pub struct Engine {
    commands: mpsc::Sender<Command>,
    status: watch::Receiver<EngineStatus>,
    /// One permit per input token of unfinished requests. Permits travel with the requests, so that
    /// the queue bound needs no counter.
    tokens: Arc<Semaphore>,
    /// Half as many permits, for batch jobs: see [`Engine::reserve_batch_capacity`].
    batch_priority_permits: Arc<Semaphore>,
    limits: Arc<RequestLimits>,
    meter: Arc<OnceLock<Arc<dyn TokenMeter>>>,
}

/// Commands that may queue until the thread reads them, before each step.
const COMMANDS: usize = 4096;

impl Engine {
    /// Starts the thread.
    ///
    /// # Errors
    /// [`LoadError::Thread`] if the thread cannot be spawned.
    pub fn start(
        forward: impl Forward + Send + 'static,
        config: EngineConfig,
    ) -> Result<Engine, LoadError> {
        let (commands, inbox) = mpsc::channel(COMMANDS);
        let status = thread::start(forward, &config, inbox).map_err(LoadError::Thread)?;
        Ok(Engine {
            commands,
            status,
            tokens: Arc::new(Semaphore::new(config.queue_tokens)),
            batch_priority_permits: Arc::new(Semaphore::new(config.queue_tokens / 2)),
            limits: Arc::new(RequestLimits::of(&config)),
            meter: Arc::default(),
        })
    }

    /// Counts the tokens of later requests with `meter`; the first call stays in force.
    pub fn count_tokens(&self, meter: Arc<dyn TokenMeter>) {
        let _ = self.meter.set(meter);
    }

    /// Submits requests together. Each gets its own result.
    ///
    /// # Errors
    /// [`SubmitError`]; then none of them is queued.
    pub fn submit(
        &self,
        mut requests: Vec<Request>,
        params: RequestParams,
    ) -> Result<Ticket, SubmitError> {
        let count = self.check(&mut requests)?;
        let permit =
            self.tokens.clone().try_acquire_many_owned(count).map_err(|_| self.overloaded())?;
        let (submission, ticket) = self.submission(requests, params, permit)?;
        match self.commands.try_send(Command::Submit(submission)) {
            Ok(()) => {
                self.meter_input(params.client, count);
                Ok(ticket)
            }
            Err(mpsc::error::TrySendError::Full(_)) => Err(self.overloaded()),
            Err(mpsc::error::TrySendError::Closed(_)) => Err(SubmitError::ShuttingDown),
        }
    }

    /// As [`Engine::submit`], for a batch job: waits for queue capacity in place of
    /// [`SubmitError::Overloaded`]. The requests also take batch capacity, until the ticket is
    /// dropped: see [`Engine::reserve_batch_capacity`]. If the deadline passes first, each ends
    /// with [`RequestError::Deadline`].
    ///
    /// # Errors
    /// [`SubmitError`]; then none of them is queued.
    pub async fn submit_batch(
        &self,
        mut requests: Vec<Request>,
        params: RequestParams,
    ) -> Result<Ticket, SubmitError> {
        let count = self.check(&mut requests)?;
        let acquired = async {
            let batch = self.reserve_batch_capacity(count as usize).await;
            let permit = self.tokens.clone().acquire_many_owned(count).await;
            (batch, permit.expect("the semaphore is never closed"))
        };
        let acquired = tokio::select! {
            biased;
            acquired = acquired => Some(acquired),
            () = self.deadline_passed(params.deadline) => None,
        };
        let Some((batch, permit)) = acquired else {
            let commands = self.commands.clone();
            return Ok(Ticket::failed(commands, requests.len(), &RequestError::Deadline));
        };
        let (submission, ticket) = self.submission(requests, params, permit)?;
        let sent = self.commands.send(Command::Submit(submission)).await;
        sent.map_err(|_| SubmitError::ShuttingDown)?;
        self.meter_input(params.client, count);
        Ok(ticket.holding(batch))
    }

    /// Returns after the first step that ends past the deadline. It needs no timer: while capacity
    /// is lacking, the requests that hold it run.
    async fn deadline_passed(&self, deadline: Option<Instant>) {
        let Some(deadline) = deadline else {
            return std::future::pending().await;
        };
        let mut status = self.status.clone();
        while Instant::now() < deadline {
            if status.changed().await.is_err() {
                // The thread has ended, which returns all capacity.
                return std::future::pending().await;
            }
        }
    }

    /// Checks requests and returns the number of their tokens.
    fn check(&self, requests: &mut [Request]) -> Result<u32, SubmitError> {
        let adapters = self.status.borrow().adapters.clone();
        check::requests(requests, &self.limits, &adapters)?;
        let total: usize = requests.iter().map(|request| request.token_ids.len()).sum();
        let max = self.limits.queue_tokens;
        let too_long = SubmitError::TooLong { what: "the queue", max, given: total };
        if total > max {
            return Err(too_long);
        }
        u32::try_from(total).map_err(|_| too_long)
    }

    /// Checked requests as a command, and their ticket. `permit` has their tokens.
    fn submission(
        &self,
        requests: Vec<Request>,
        params: RequestParams,
        permit: OwnedSemaphorePermit,
    ) -> Result<(Submission, Ticket), SubmitError> {
        let n_requests = requests.len();
        let max_events = requests.iter().map(max_events).sum();
        let requests = self.with_permits(requests, permit)?;
        let (events, inbox) = mpsc::channel(max_events);
        let meter = self.meter.get().cloned();
        let submission = Submission { requests, params, events, meter };
        Ok((submission, Ticket::new(inbox, self.commands.clone(), n_requests)))
    }

    fn meter_input(&self, client: u64, n_tokens: u32) {
        if let Some(meter) = self.meter.get() {
            meter.input(client, n_tokens as usize);
        }
    }

    /// Reserves batch capacity for `tokens` tokens; hold the permit until the requests are done.
    /// Batch jobs share half of `queue_tokens`, first in first out, and so leave room for
    /// interactive requests. Interactive requests may still fill the queue, so that
    /// [`Engine::submit`] refuses: use [`Engine::submit_batch`] for requests that must wait.
    pub async fn reserve_batch_capacity(&self, tokens: usize) -> OwnedSemaphorePermit {
        let most = (self.limits.queue_tokens / 2).min(tokens);
        let count = u32::try_from(most).unwrap_or(u32::MAX);
        let permit = self.batch_priority_permits.clone().acquire_many_owned(count).await;
        permit.expect("the semaphore is never closed")
    }

    /// Gives each request its part of the permit and starts its task's state.
    fn with_permits(
        &self,
        requests: Vec<Request>,
        mut permit: OwnedSemaphorePermit,
    ) -> Result<Vec<CheckedRequest>, SubmitError> {
        let checked = |(at, request): (usize, Request)| {
            let permit = permit.split(request.token_ids.len());
            Ok(CheckedRequest {
                task: self.task_state(at, &request.token_ids, request.task)?,
                token_ids: request.token_ids,
                adapter: request.adapter,
                permit: permit.expect("the total is the sum of the lengths"),
            })
        };
        requests.into_iter().enumerate().map(checked).collect()
    }

    fn task_state(
        &self,
        at: usize,
        token_ids: &[u32],
        task: Task,
    ) -> Result<TaskState, SubmitError> {
        match task {
            Task::Rows(rows) => Ok(TaskState::rows(rows)),
            Task::Generate(params) => Sampler::new(*params, token_ids, self.limits.vocab_size)
                .map(TaskState::generation)
                .map_err(|what| SubmitError::Invalid { what: format!("request {at}: {what}") }),
        }
    }

    fn overloaded(&self) -> SubmitError {
        SubmitError::Overloaded { queued: self.queued_tokens(), max: self.limits.queue_tokens }
    }

    /// Input tokens of unfinished requests.
    pub fn queued_tokens(&self) -> usize {
        self.limits.queue_tokens.saturating_sub(self.tokens.available_permits())
    }

    /// Whether the thread runs. It ends with its last handle, or by a fault.
    pub fn is_alive(&self) -> bool {
        !self.commands.is_closed()
    }

    /// Number of weight updates so far: see [`Engine::update_weights`].
    pub fn revision(&self) -> u64 {
        self.status.borrow().revision
    }

    pub(crate) fn commands(&self) -> &mpsc::Sender<Command> {
        &self.commands
    }

    /// The limits that requests are checked against.
    pub fn limits(&self) -> &RequestLimits {
        &self.limits
    }

    /// State and counters as of the last step.
    pub fn status(&self) -> EngineStatus {
        self.status.borrow().clone()
    }

    /// Serves an adapter under a name, replacing one that had it. Requests submitted earlier still
    /// run under the replaced adapter; the two never share cached prefixes.
    ///
    /// # Errors
    /// [`LoadError::Refused`] when the engine is stopping, [`LoadError::Model`] for an adapter that
    /// the forward cannot take; a replaced one then stays in service.
    pub async fn insert_adapter(
        &self,
        name: Arc<str>,
        adapter: Arc<Adapter>,
    ) -> Result<(), LoadError> {
        let (reply, answer) = oneshot::channel();
        Ok(self.call(Command::InsertAdapter { name, adapter, reply }, answer).await??)
    }

    /// Takes an adapter out of service and returns whether there was one. Requests under way finish
    /// under it.
    ///
    /// # Errors
    /// [`LoadError::Refused`] when the engine is stopping.
    pub async fn remove_adapter(&self, name: Arc<str>) -> Result<bool, LoadError> {
        let (reply, answer) = oneshot::channel();
        self.call(Command::RemoveAdapter { name, reply }, answer).await
    }

    async fn call<T>(
        &self,
        command: Command,
        answer: oneshot::Receiver<T>,
    ) -> Result<T, LoadError> {
        let gone = || LoadError::Refused("the engine is shutting down".to_owned());
        self.commands.send(command).await.map_err(|_| gone())?;
        answer.await.map_err(|_| gone())
    }
}

/// Capacity of a request's event channel: one for each token and one for the end, so that the
/// thread never waits for a slow reader. The channel allocates as events are sent.
fn max_events(request: &Request) -> usize {
    match &request.task {
        Task::Rows(_) => 1,
        Task::Generate(params) => params.max_tokens + 1,
    }
}
