//! The engine's thread: the one place that has channels, a clock and the forward.
//!
//! [`Core::tick`] is a plain method: it plans a step, runs it, and tells the callers. The thread
//! calls it while there is work, and blocks on its inbox while there is none.

use std::any::Any;
use std::collections::{BTreeSet, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use models::Forward;
use models::adapter::Adapter;
use models::batch::{AdapterSlot, Outputs, RaggedBatch};
use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot, watch};

use crate::cache::{CacheNamespace, SequenceId};
use crate::error::RequestError;
use crate::handle::{
    AdapterStatus, CheckedRequest, Command, EngineConfig, EngineStatus, Submission,
};
use crate::scheduler::{self, Scheduler, SchedulerConfig, Sequence};
use crate::update::WeightUpdateGuard;
use crate::work::{RequestEvent, RequestOutput, RequestParams, TaskOutput, Usage};

/// Starts the thread; it ends when all senders of `inbox` are gone.
pub(crate) fn start(
    forward: impl Forward + Send + 'static,
    config: &EngineConfig,
    mut inbox: mpsc::Receiver<Command>,
) -> std::io::Result<watch::Receiver<EngineStatus>> {
    let (status, receiver) = watch::channel(EngineStatus::default());
    let mut core = Core::new(forward, config, status);
    std::thread::Builder::new().name("engine".to_owned()).spawn(move || {
        while let Some(event) = inbox.blocking_recv() {
            core.handle(event);
            while core.has_work() {
                while let Ok(event) = inbox.try_recv() {
                    core.handle(event);
                }
                core.tick(Instant::now());
            }
            core.publish();
        }
    })?;
    Ok(receiver)
}

/// All that the thread owns.
struct Core<F> {
    forward: F,
    scheduler: Scheduler,
    callers: HashMap<SequenceId, Caller>,
    /// When callers stop waiting.
    deadlines: BTreeSet<(Instant, SequenceId)>,
    /// Some caller left, and it is not known which.
    abandoned: bool,
    serving: HashMap<Arc<str>, Serving>,
    /// How many sequences run under an adapter, and whether it has been taken out of service.
    slots: HashMap<AdapterSlot, SlotUse>,
    next_id: u64,
    steps: u64,
    status: watch::Sender<EngineStatus>,
}

/// Who waits for a sequence.
struct Caller {
    updates: mpsc::Sender<RequestEvent>,
    work: usize,
    deadline: Option<Instant>,
    serving: Option<Serving>,
    /// Given back before the caller hears the end, so that he finds room for more.
    permit: OwnedSemaphorePermit,
}

/// An adapter under its name.
#[derive(Clone)]
struct Serving {
    slot: AdapterSlot,
    digest: Arc<str>,
    head_labels: Option<usize>,
}

#[derive(Default)]
struct SlotUse {
    n_sequences: usize,
    retired: bool,
}

impl<F: Forward> Core<F> {
    fn new(forward: F, config: &EngineConfig, status: watch::Sender<EngineStatus>) -> Core<F> {
        let core = Core {
            forward,
            scheduler: Scheduler::new(SchedulerConfig {
                n_blocks: config.n_blocks,
                batch_tokens: config.batch_tokens,
                max_sequences: config.max_sequences,
            }),
            callers: HashMap::new(),
            deadlines: BTreeSet::new(),
            abandoned: false,
            serving: HashMap::new(),
            slots: HashMap::new(),
            next_id: 0,
            steps: 0,
            status,
        };
        core.publish();
        core
    }

    fn has_work(&self) -> bool {
        !self.scheduler.is_empty()
    }

    fn handle(&mut self, event: Command) {
        match event {
            Command::Submit(submission) => self.submit(submission),
            Command::Abandoned => self.abandoned = true,
            Command::Insert { name, adapter, reply } => {
                self.insert(name, adapter);
                // Whoever asked may have left; the adapter is in service all the same.
                let _ = reply.send(());
            }
            Command::Remove { name, reply } => {
                let removed = self.serving.remove(&name);
                let was_there = removed.is_some();
                if let Some(serving) = removed {
                    self.retire(serving.slot);
                }
                self.publish();
                let _ = reply.send(was_there);
            }
            Command::PauseForWeightUpdate { reply } => self.pause(reply),
        }
    }

    /// Computes nothing until whoever asked has changed the weights, and forgets what was computed
    /// under the old ones.
    fn pause(&mut self, reply: oneshot::Sender<WeightUpdateGuard>) {
        let (standstill, ended) = WeightUpdateGuard::new();
        if reply.send(standstill).is_err() {
            // Whoever asked has left, and wrote nothing.
            return;
        }
        // One who leaves without a word may have written.
        let reply = ended.blocking_recv();
        self.scheduler.invalidate_cache();
        // Before anything is computed under the new weights: who knows this revision knows that
        // what he was told earlier is not newer.
        self.publish();
        if let Ok(reply) = reply {
            let _ = reply.send(self.scheduler.revision());
        }
    }

    /// One step: who left or is late goes, the step is planned and run, and the callers are told.
    fn tick(&mut self, now: Instant) {
        self.drop_late(now);
        self.drop_gone();
        let Some(step) = self.scheduler.schedule() else {
            return;
        };
        let outcome = run(&mut self.forward, &step.batch);
        self.steps += 1;
        let events = self.scheduler.finish(step, outcome);
        // First the status: who is told something finds it counted there.
        self.publish();
        for event in events {
            self.tell(event);
        }
    }

    fn submit(&mut self, submission: Submission) {
        let Submission { requests: orders, terms, updates } = submission;
        for (work, order) in orders.into_iter().enumerate() {
            self.take(work, order, terms, updates.clone());
        }
    }

    fn take(
        &mut self,
        work: usize,
        order: CheckedRequest,
        terms: RequestParams,
        updates: mpsc::Sender<RequestEvent>,
    ) {
        let serving = order.adapter.as_ref().map(|name| self.serving.get(name));
        let serving = match serving {
            None => None,
            Some(Some(serving)) => Some(serving.clone()),
            Some(None) => {
                let name = order.adapter.as_deref().unwrap_or_default();
                let result = Err(RequestError::AdapterGone(name.to_owned()));
                // A caller who has left does not mind.
                let _ = updates.try_send(RequestEvent::Done { request: work, result });
                return;
            }
        };
        let caller = Caller {
            updates,
            work,
            deadline: terms.deadline,
            serving: serving.clone(),
            permit: order.permit,
        };
        if let Some(produced) = order.task.done() {
            let usage = Usage { input_tokens: order.token_ids.len(), ..Usage::default() };
            caller.answer(Ok((produced, usage)), self.scheduler.revision());
            return;
        }
        let id = SequenceId(self.next_id);
        self.next_id += 1;
        if let Some(serving) = &serving {
            self.slots.entry(serving.slot).or_default().n_sequences += 1;
        }
        if let Some(deadline) = terms.deadline {
            self.deadlines.insert((deadline, id));
        }
        self.scheduler.add(Sequence {
            id,
            token_ids: order.token_ids.to_vec(),
            namespace: CacheNamespace {
                adapter: serving.as_ref().map(|serving| serving.digest.clone()),
                salt: terms.salt,
            },
            slot: serving.as_ref().map(|serving| serving.slot),
            priority: terms.priority,
            client: terms.client,
            task: order.task,
        });
        self.callers.insert(id, caller);
    }

    fn tell(&mut self, event: scheduler::Event) {
        match event {
            scheduler::Event::Token(id, sampled) => {
                if let Some(caller) = self.callers.get(&id) {
                    caller
                        .say(RequestEvent::Tokens { request: caller.work, tokens: vec![sampled] });
                }
            }
            scheduler::Event::Done { id, result, last } => {
                let Some(caller) = self.forget(id) else {
                    return;
                };
                if let Some(sampled) = last {
                    caller
                        .say(RequestEvent::Tokens { request: caller.work, tokens: vec![sampled] });
                }
                caller.answer(result, self.scheduler.revision());
            }
        }
    }

    /// Ends what is past its deadline.
    fn drop_late(&mut self, now: Instant) {
        while let Some((deadline, id)) = self.deadlines.first().copied() {
            if deadline > now {
                return;
            }
            self.scheduler.cancel(id);
            match self.forget(id) {
                Some(caller) => {
                    caller.answer(Err(RequestError::Deadline), self.scheduler.revision())
                }
                None => {
                    self.deadlines.remove(&(deadline, id));
                }
            }
        }
    }

    /// Ends what nobody waits for any more: always among what runs, and among all when somebody
    /// said that he left.
    fn drop_gone(&mut self) {
        let gone = |id: &SequenceId| {
            let caller = self.callers.get(id);
            caller.is_some_and(|caller| caller.updates.is_closed())
        };
        let ids: Vec<SequenceId> = if std::mem::take(&mut self.abandoned) {
            self.callers.keys().copied().filter(gone).collect()
        } else {
            let running = self.scheduler.running().iter();
            running.copied().filter(gone).collect()
        };
        for id in ids {
            self.scheduler.cancel(id);
            self.forget(id);
        }
    }

    /// The caller of a sequence that is over.
    fn forget(&mut self, id: SequenceId) -> Option<Caller> {
        let caller = self.callers.remove(&id)?;
        if let Some(deadline) = caller.deadline {
            self.deadlines.remove(&(deadline, id));
        }
        if let Some(serving) = &caller.serving {
            let slot = serving.slot;
            let slot_use = self.slots.get_mut(&slot).expect("its sequences are counted");
            slot_use.n_sequences -= 1;
            self.free(slot);
        }
        Some(caller)
    }

    fn insert(&mut self, name: Arc<str>, adapter: Arc<Adapter>) {
        let serving = Serving {
            digest: adapter.digest.as_str().into(),
            head_labels: adapter.head.as_ref().map(models::head::Head::n_labels),
            slot: self.forward.insert(adapter),
        };
        self.slots.insert(serving.slot, SlotUse::default());
        if let Some(old) = self.serving.insert(name, serving) {
            self.retire(old.slot);
        }
        self.publish();
    }

    /// Takes an adapter out of service. It stays where the forward finds it until its last
    /// sequence is over.
    fn retire(&mut self, slot: AdapterSlot) {
        self.slots.entry(slot).or_default().retired = true;
        self.free(slot);
    }

    fn free(&mut self, slot: AdapterSlot) {
        let unused = |slot: &SlotUse| slot.retired && slot.n_sequences == 0;
        if self.slots.get(&slot).is_some_and(unused) {
            self.slots.remove(&slot);
            self.forward.remove(slot);
        }
    }

    fn publish(&self) {
        let (counts, totals) = (self.scheduler.counts(), self.scheduler.totals());
        let adapter = |(name, serving): (&Arc<str>, &Serving)| AdapterStatus {
            name: name.clone(),
            digest: serving.digest.clone(),
            head_labels: serving.head_labels,
        };
        let mut adapters: Vec<_> = self.serving.iter().map(adapter).collect();
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
        // Nobody may be looking.
        self.status.send_replace(status);
    }
}

impl Caller {
    fn say(&self, update: RequestEvent) {
        // The channel has room for all that is ever said; it fails when the caller has left,
        // which the next tick sees.
        let _ = self.updates.try_send(update);
    }

    fn answer(self, result: Result<(TaskOutput, Usage), RequestError>, revision: u64) {
        drop(self.permit);
        let digest = self.serving.map(|serving| serving.digest);
        let result = result.map(|(produced, usage)| RequestOutput {
            output: produced,
            usage,
            adapter: digest,
            revision,
        });
        let done = RequestEvent::Done { request: self.work, result };
        // As in `say`.
        let _ = self.updates.try_send(done);
    }
}

/// Runs a batch; a panic is an error of this batch.
fn run(forward: &mut impl Forward, batch: &RaggedBatch) -> Result<Outputs, String> {
    match catch_unwind(AssertUnwindSafe(|| forward.forward(batch))) {
        Ok(outputs) => outputs.map_err(|error| error.to_string()),
        Err(panic) => Err(format!("it panicked: {}", message_of(&*panic))),
    }
}

/// What a panic said.
pub(crate) fn message_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(ToString::to_string);
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "no message".to_owned())
}
