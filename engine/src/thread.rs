//! The engine's thread: the one place with channels, a clock and the forward.
//!
//! [`Core::tick`] is a plain method: it plans a step, runs it and sends the callers' events. The
//! thread calls it while there are requests, and blocks on its inbox while there are none.

use std::collections::{BTreeSet, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use models::adapter::Adapter;
use models::batch::AdapterSlot;
use models::live::is_live_digest;
use models::{Forward, ModelError, RowOutput};
use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot, watch};

use crate::cache::{CacheNamespace, CachedAdapter, SequenceId};
use crate::command::{CheckedRequest, Command, Submission, WeightUpdateGuard};
use crate::config::EngineConfig;
use crate::error::{RequestError, panic_message};
use crate::request::{RequestEvent, RequestOutput, RequestParams, TaskOutput, TokenMeter, Usage};
use crate::sampling::SampledToken;
use crate::scheduler::{Scheduler, SchedulerConfig, SchedulerEvent, Sequence, Step};
use crate::status::{AdapterStatus, EngineStatus};

/// Spawns the thread; it ends when all senders of `inbox` are gone, or the forward's device is lost.
pub(crate) fn start(
    forward: impl Forward + Send + 'static,
    config: &EngineConfig,
    mut inbox: mpsc::Receiver<Command>,
) -> std::io::Result<watch::Receiver<EngineStatus>> {
    let (status, receiver) = watch::channel(EngineStatus::default());
    let mut core = Core::new(forward, config, status);
    std::thread::Builder::new().name("engine".to_owned()).spawn(move || {
        while let Some(command) = inbox.blocking_recv() {
            core.handle(command);
            while core.has_work() && !core.lost {
                while let Ok(command) = inbox.try_recv() {
                    core.handle(command);
                }
                if !core.lost {
                    core.tick(Instant::now());
                }
            }
            core.publish();
            if core.lost {
                return;
            }
        }
    })?;
    Ok(receiver)
}

/// The state of the thread.
struct Core<F> {
    forward: F,
    scheduler: Scheduler,
    callers: HashMap<SequenceId, Caller>,
    deadlines: BTreeSet<(Instant, SequenceId)>,
    /// A ticket was dropped, and its sequences are not yet cancelled.
    ticket_dropped: bool,
    /// Adapters in service, by name.
    adapters: HashMap<Arc<str>, ServedAdapter>,
    /// Use of each adapter slot, including those of removed adapters with running sequences.
    slots: HashMap<AdapterSlot, SlotUse>,
    next_id: u64,
    /// Number of adapters inserted so far.
    n_insertions: u64,
    /// Whether the model has a score head of its own.
    has_head: bool,
    steps: u64,
    /// Whether the forward's device is lost, or has weights of two updates: no step can succeed
    /// before the program restarts.
    lost: bool,
    status: watch::Sender<EngineStatus>,
}

/// The destination of a sequence's events.
struct Caller {
    events: mpsc::Sender<RequestEvent>,
    /// Index of the request in its submission.
    request: usize,
    deadline: Option<Instant>,
    adapter: Option<ServedAdapter>,
    client: u64,
    meter: Option<Arc<dyn TokenMeter>>,
    /// Returned before the last event, so that a caller that submits again finds the capacity.
    permit: OwnedSemaphorePermit,
}

/// An adapter in service.
#[derive(Clone)]
struct ServedAdapter {
    slot: AdapterSlot,
    digest: Arc<str>,
    cached: CachedAdapter,
    head_labels: Option<usize>,
}

#[derive(Default)]
struct SlotUse {
    n_sequences: usize,
    retired: bool,
}

impl<F: Forward> Core<F> {
    fn new(forward: F, config: &EngineConfig, status: watch::Sender<EngineStatus>) -> Core<F> {
        let scheduler = Scheduler::new(SchedulerConfig {
            n_blocks: config.n_blocks,
            batch_tokens: config.batch_tokens,
            max_sequences: config.max_sequences,
        });
        let core = Core {
            scheduler: scheduler.drawing(forward.draws_tokens()),
            forward,
            callers: HashMap::new(),
            deadlines: BTreeSet::new(),
            ticket_dropped: false,
            adapters: HashMap::new(),
            slots: HashMap::new(),
            next_id: 0,
            n_insertions: 0,
            has_head: config.head_labels.is_some(),
            steps: 0,
            lost: false,
            status,
        };
        core.publish();
        core
    }

    fn has_work(&self) -> bool {
        !self.scheduler.is_empty()
    }

    fn handle(&mut self, command: Command) {
        match command {
            Command::Submit(submission) => self.submit(submission),
            Command::TicketDropped => self.ticket_dropped = true,
            Command::InsertAdapter { name, adapter, reply } => {
                let inserted = self.insert_adapter(name, adapter);
                // The adapter stays in service even if the caller has left.
                let _ = reply.send(inserted);
            }
            Command::RemoveAdapter { name, reply } => {
                let removed = self.adapters.remove(&name);
                let existed = removed.is_some();
                if let Some(adapter) = removed {
                    self.retire(adapter.slot);
                }
                self.publish();
                let _ = reply.send(existed);
            }
            Command::PauseForWeightUpdate { reply } => self.pause(reply),
        }
    }

    /// Blocks until the weight update ends, then invalidates everything computed before it.
    fn pause(&mut self, reply: oneshot::Sender<WeightUpdateGuard>) {
        let (guard, resumed) = WeightUpdateGuard::new();
        if reply.send(guard).is_err() {
            // The caller has left and wrote nothing.
            return;
        }
        // A guard that was dropped may have written too.
        let reply = resumed.blocking_recv();
        if let Err(error) = self.forward.reload() {
            tracing::error!(%error, "the weights of an update did not reach their device");
            // No step may run on a part of them: callers learn that the engine ends.
            self.lost = true;
            return;
        }
        self.scheduler.invalidate_cache();
        // Published before the reply: a caller that knows this revision must not find an older one
        // in the status.
        self.publish();
        if let Ok(reply) = reply {
            let _ = reply.send(self.scheduler.revision());
        }
    }

    /// One step: cancels late and abandoned sequences, plans and runs a batch, sends the events.
    fn tick(&mut self, now: Instant) {
        self.cancel_late(now);
        self.cancel_abandoned();
        let Some(step) = self.scheduler.schedule() else {
            return;
        };
        let outcome = run_forward(&mut self.forward, &step);
        self.steps += 1;
        self.lost = matches!(&outcome, Err(fault) if fault.lost);
        let events = self.scheduler.finish(step, outcome.map_err(|fault| fault.what));
        // Published before the events: the status already counts what callers receive.
        self.publish();
        for event in events {
            self.send(event);
        }
    }

    fn submit(&mut self, submission: Submission) {
        let Submission { requests, params, events, meter } = submission;
        for (at, request) in requests.into_iter().enumerate() {
            self.add(at, request, params, (events.clone(), meter.clone()));
        }
    }

    /// Passes a request to the scheduler, or answers it at once.
    fn add(
        &mut self,
        at: usize,
        request: CheckedRequest,
        params: RequestParams,
        (events, meter): (mpsc::Sender<RequestEvent>, Option<Arc<dyn TokenMeter>>),
    ) {
        let adapter = match self.adapter_of(&request) {
            Ok(adapter) => adapter,
            Err(error) => {
                // It fails if the caller has left.
                let _ = events.try_send(RequestEvent::Done { request: at, result: Err(error) });
                return;
            }
        };
        let caller = Caller {
            events,
            request: at,
            deadline: params.deadline,
            adapter: adapter.clone(),
            client: params.client,
            meter,
            permit: request.permit,
        };
        if let Some(output) = request.task.finished_output() {
            let usage = Usage { input_tokens: request.token_ids.len(), ..Usage::default() };
            caller.finish(Ok((output, usage)), self.scheduler.revision());
            return;
        }
        let id = SequenceId(self.next_id);
        self.next_id += 1;
        if let Some(adapter) = &adapter {
            self.slots.entry(adapter.slot).or_default().n_sequences += 1;
        }
        if let Some(deadline) = params.deadline {
            self.deadlines.insert((deadline, id));
        }
        self.scheduler.add(Sequence {
            id,
            token_ids: request.token_ids.to_vec(),
            namespace: CacheNamespace {
                adapter: adapter.as_ref().map(|adapter| adapter.cached.clone()),
                salt: params.salt,
            },
            slot: adapter.as_ref().map(|adapter| adapter.slot),
            priority: params.priority,
            client: params.client,
            task: request.task,
        });
        self.callers.insert(id, caller);
    }

    /// The adapter that a request runs under; `None` for the base model. The request was checked
    /// against the adapters of an earlier time: one that has lost what the request needs since then
    /// must not reach a batch, whose every member would fail with it.
    fn adapter_of(&self, request: &CheckedRequest) -> Result<Option<ServedAdapter>, RequestError> {
        let Some(name) = &request.adapter else {
            return Ok(None);
        };
        let lacks_head = |adapter: &ServedAdapter| {
            !self.has_head && adapter.head_labels.is_none() && request.task.reads_head()
        };
        match self.adapters.get(name) {
            Some(adapter) if !lacks_head(adapter) => Ok(Some(adapter.clone())),
            Some(_) | None => Err(RequestError::AdapterGone(name.to_string())),
        }
    }

    /// Sends a scheduler's event to the sequence's caller.
    fn send(&mut self, event: SchedulerEvent) {
        match event {
            SchedulerEvent::Token(id, sampled) => {
                if let Some(caller) = self.callers.get(&id) {
                    caller.send_token(sampled);
                }
            }
            SchedulerEvent::Done { id, result, last } => {
                let Some(caller) = self.remove_caller(id) else {
                    return;
                };
                if let Some(sampled) = last {
                    caller.send_token(sampled);
                }
                caller.finish(result, self.scheduler.revision());
            }
        }
    }

    /// Fails the sequences whose deadline has passed.
    fn cancel_late(&mut self, now: Instant) {
        while let Some((deadline, id)) = self.deadlines.first().copied() {
            if deadline > now {
                return;
            }
            self.scheduler.cancel(id);
            match self.remove_caller(id) {
                Some(caller) => {
                    caller.finish(Err(RequestError::Deadline), self.scheduler.revision());
                }
                None => {
                    self.deadlines.remove(&(deadline, id));
                }
            }
        }
    }

    /// Cancels sequences whose caller has left: among the running ones in each step, among all of
    /// them after a ticket was dropped.
    fn cancel_abandoned(&mut self) {
        let is_abandoned = |id: &SequenceId| {
            let caller = self.callers.get(id);
            caller.is_some_and(|caller| caller.events.is_closed())
        };
        let ids: Vec<SequenceId> = if std::mem::take(&mut self.ticket_dropped) {
            self.callers.keys().copied().filter(is_abandoned).collect()
        } else {
            self.scheduler.running().iter().copied().filter(is_abandoned).collect()
        };
        for id in ids {
            self.scheduler.cancel(id);
            self.remove_caller(id);
        }
    }

    /// Removes and returns a sequence's caller, and frees its adapter's slot if it was the last
    /// use.
    fn remove_caller(&mut self, id: SequenceId) -> Option<Caller> {
        let caller = self.callers.remove(&id)?;
        if let Some(deadline) = caller.deadline {
            self.deadlines.remove(&(deadline, id));
        }
        if let Some(adapter) = &caller.adapter {
            let slot = adapter.slot;
            let slot_use = self.slots.get_mut(&slot).expect("its sequences are counted");
            slot_use.n_sequences -= 1;
            self.free_if_unused(slot);
        }
        Some(caller)
    }

    fn insert_adapter(&mut self, name: Arc<str>, adapter: Arc<Adapter>) -> Result<(), ModelError> {
        let digest: Arc<str> = adapter.digest.as_str().into();
        let head_labels = adapter.head.as_ref().map(models::head::Head::n_labels);
        let slot = self.forward.insert(adapter).inspect_err(|error| {
            self.lost |= matches!(error, ModelError::Device { lost: true, .. });
        })?;
        self.n_insertions += 1;
        let cached = if is_live_digest(&digest) {
            CachedAdapter::Live(self.n_insertions)
        } else {
            CachedAdapter::Frozen(digest.clone())
        };
        let served = ServedAdapter { slot, digest, cached, head_labels };
        self.slots.insert(served.slot, SlotUse::default());
        if let Some(replaced) = self.adapters.insert(name, served) {
            self.retire(replaced.slot);
        }
        self.publish();
        Ok(())
    }

    /// Takes an adapter out of service. The forward keeps it until its last sequence is done.
    fn retire(&mut self, slot: AdapterSlot) {
        self.slots.entry(slot).or_default().retired = true;
        self.free_if_unused(slot);
    }

    fn free_if_unused(&mut self, slot: AdapterSlot) {
        let is_unused = |slot: &SlotUse| slot.retired && slot.n_sequences == 0;
        if self.slots.get(&slot).is_some_and(is_unused) {
            self.slots.remove(&slot);
            self.forward.remove(slot);
        }
    }

    fn publish(&self) {
        let (counts, totals) = (self.scheduler.counts(), self.scheduler.totals());
        let status_of = |(name, served): (&Arc<str>, &ServedAdapter)| AdapterStatus {
            name: name.clone(),
            digest: served.digest.clone(),
            head_labels: served.head_labels,
        };
        let mut adapters: Vec<_> = self.adapters.iter().map(status_of).collect();
        adapters.sort_by(|a, b| a.name.cmp(&b.name));
        let status = EngineStatus {
            queued: self.scheduler.n_queued(),
            running: self.scheduler.n_running(),
            free_blocks: counts.free,
            held_blocks: counts.held,
            cached_blocks: counts.cached,
            steps: self.steps,
            failed_steps: totals.failed_steps,
            computed_tokens: totals.computed_tokens,
            cached_tokens: totals.cached_tokens,
            output_tokens: totals.output_tokens,
            preemptions: totals.preemptions,
            revision: self.scheduler.revision(),
            adapters,
        };
        self.status.send_replace(status);
    }
}

impl Caller {
    fn send_token(&self, sampled: SampledToken) {
        if let Some(meter) = &self.meter {
            meter.output(self.client, 1);
        }
        self.send(RequestEvent::Tokens { request: self.request, tokens: vec![sampled] });
    }

    fn finish(self, result: Result<(TaskOutput, Usage), RequestError>, revision: u64) {
        let Caller { events, request, adapter, permit, deadline: _, client: _, meter: _ } = self;
        drop(permit);
        let adapter = adapter.map(|adapter| adapter.digest);
        let result =
            result.map(|(output, usage)| RequestOutput { output, usage, adapter, revision });
        // As in `send`.
        let _ = events.try_send(RequestEvent::Done { request, result });
    }

    fn send(&self, event: RequestEvent) {
        // The channel has room for every event of the submission, so it fails only if the caller
        // has left, which the next tick sees.
        let _ = self.events.try_send(event);
    }
}

/// Runs a step; a panic is an error of this step.
fn run_forward(forward: &mut impl Forward, step: &Step) -> Result<Vec<RowOutput>, StepFault> {
    match catch_unwind(AssertUnwindSafe(|| forward.forward_drawing(&step.batch, &step.draws))) {
        Ok(outputs) => outputs.map_err(|error| StepFault {
            what: error.to_string(),
            lost: matches!(error, ModelError::Device { lost: true, .. }),
        }),
        Err(panic) => {
            let what = format!("it panicked: {}", panic_message(&*panic));
            Err(StepFault { what, lost: false })
        }
    }
}

/// Why a step has no outputs.
struct StepFault {
    what: String,
    /// Whether the device is lost.
    lost: bool,
}
