//! The slots of a sandbox and the queue before them.

use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, TrySendError, bounded};

use crate::cancel::Cancel;
use crate::config::{Limits, SandboxConfig};
use crate::session::{SandboxState, Session, SlotWorkers};
use crate::status::{SandboxCounts, SandboxStatus, add};
use crate::worker::{Isolation, SandboxError};

/// How long an idle worker is kept: it holds some megabytes and descriptors, and a new one takes
/// tens of milliseconds.
const KEEP_ALIVE: Duration = Duration::from_secs(10);

/// Work on a session. A panic ends it and the workers of its slot; the slot goes on.
type Work = Box<dyn FnOnce(&mut Session<'_>) + Send>;

struct Waiting {
    work: Work,
    cancel: Arc<Cancel>,
    waits: Held,
}

/// One of the submissions that a gauge counts; no longer once it is dropped.
struct Held {
    shared: Arc<SandboxState>,
    gauge: fn(&SandboxCounts) -> &AtomicU64,
}

impl Held {
    fn new(shared: &Arc<SandboxState>, gauge: fn(&SandboxCounts) -> &AtomicU64) -> Self {
        add(gauge(&shared.counts), 1);
        Self { shared: Arc::clone(shared), gauge }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        (self.gauge)(&self.shared.counts).fetch_sub(1, Ordering::Relaxed);
    }
}

/// A fixed number of slots, whose threads and workers start with the first submission. Dropping it
/// lets queued submissions finish.
#[derive(Debug)]
pub struct Sandbox {
    shared: Arc<SandboxState>,
    /// The queue and the threads of the slots, once there was a submission.
    slots: Mutex<Option<Slots>>,
}

#[derive(Debug)]
struct Slots {
    queue: Sender<Waiting>,
    threads: Vec<JoinHandle<()>>,
}

/// A submission in the queue or in a slot. Dropping it ends the submission with its processes.
#[derive(Debug)]
pub struct Ticket {
    cancel: Arc<Cancel>,
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

impl Sandbox {
    /// A sandbox that has started nothing yet.
    pub fn new(config: SandboxConfig) -> Self {
        Self { shared: Arc::new(SandboxState::new(config)), slots: Mutex::new(None) }
    }

    /// The configuration.
    pub fn config(&self) -> &SandboxConfig {
        &self.shared.config
    }

    /// What is in force; `None` before the first worker.
    pub fn isolation(&self) -> Option<Isolation> {
        self.shared.isolation()
    }

    /// Starts a worker, and returns what is in force in it.
    ///
    /// # Errors
    /// Those of a worker that cannot be started, and [`SandboxError::QueueFull`].
    pub fn probe(&self) -> Result<Isolation, SandboxError> {
        let (send, receive) = bounded(1);
        let _ticket = self.submit(move |session| {
            let loaded = session.load("", Limits::default());
            // Nothing waits for it once this process ends.
            let _ = send.send(loaded.map(|_| session.isolation()));
        })?;
        let lost = || SandboxError::WorkerLost("its slot ended".to_owned());
        receive.recv().map_err(|_| lost())??.ok_or_else(lost)
    }

    /// What it does now and has done.
    pub fn status(&self) -> SandboxStatus {
        self.shared.counts.status()
    }

    /// Queues `work`, which runs in a slot with its worker. A panic of it ends the submission. A cancelled
    /// submission that has not begun is dropped with `work`.
    ///
    /// # Errors
    /// [`SandboxError::QueueFull`], and [`SandboxError::WorkerLost`] if no thread can be started.
    pub fn submit(
        &self,
        work: impl FnOnce(&mut Session<'_>) + Send + 'static,
    ) -> Result<Ticket, SandboxError> {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        let slots = match &mut *slots {
            Some(slots) => slots,
            none => none.insert(Slots::start(&self.shared)?),
        };
        let cancel = Arc::new(Cancel::default());
        let waits = Held::new(&self.shared, |counts| &counts.waiting);
        let waiting = Waiting { work: Box::new(work), cancel: Arc::clone(&cancel), waits };
        match slots.queue.try_send(waiting) {
            Ok(()) => Ok(Ticket { cancel }),
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => {
                self.shared.counts.failed(&SandboxError::QueueFull);
                Err(SandboxError::QueueFull)
            }
        }
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        let slots = self.slots.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(Slots { queue, threads }) = slots {
            drop(queue);
            for thread in threads {
                // It catches the panics of its work.
                let _ = thread.join();
            }
        }
    }
}

impl Slots {
    fn start(shared: &Arc<SandboxState>) -> Result<Self, SandboxError> {
        let (queue, waiting) = bounded(shared.config.queue);
        let thread = |slot: usize| {
            let (shared, waiting) = (Arc::clone(shared), waiting.clone());
            std::thread::Builder::new()
                .name(format!("sandbox-{slot}"))
                .spawn(move || serve(&shared, &waiting))
                .map_err(|error| SandboxError::WorkerLost(error.to_string()))
        };
        let threads = (0..shared.config.slots.max(1)).map(thread).collect::<Result<_, _>>()?;
        Ok(Self { queue, threads })
    }
}

fn serve(shared: &Arc<SandboxState>, waiting: &Receiver<Waiting>) {
    let mut workers: Option<SlotWorkers> = None;
    while let Some(Waiting { work, cancel, waits }) = next(waiting, &mut workers, KEEP_ALIVE) {
        let _runs = Held::new(shared, |counts| &counts.running);
        drop(waits);
        if !cancel.is_cancelled() {
            add(&shared.counts.started, 1);
            let place = workers.get_or_insert_default();
            let run = AssertUnwindSafe(|| work(&mut Session::new(shared, &cancel, place)));
            if std::panic::catch_unwind(run).is_err() {
                // In the middle of a message, perhaps. The hook of panics has reported the cause.
                workers = None;
            }
        }
    }
}

/// The next submission; `None` at the end. A worker that has waited for it `keep` is ended.
fn next<S, W>(waiting: &Receiver<S>, worker: &mut Option<W>, keep: Duration) -> Option<S> {
    if worker.is_some() {
        match waiting.recv_timeout(keep) {
            Ok(submission) => return Some(submission),
            Err(RecvTimeoutError::Timeout) => *worker = None,
            Err(RecvTimeoutError::Disconnected) => return None,
        }
    }
    waiting.recv().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A worker that says when it ends.
    struct Ends(Sender<()>);

    impl Drop for Ends {
        fn drop(&mut self) {
            self.0.send(()).expect("its end is waited for");
        }
    }

    #[test]
    fn idle_workers_end_and_slots_go_on() {
        let (queue, waiting) = bounded(1);
        let (ended, end) = bounded(1);
        let mut worker = Some(Ends(ended));
        let sender = std::thread::spawn(move || {
            end.recv().expect("the worker ends");
            queue.send(7).expect("the slot waits");
        });
        assert_eq!(next(&waiting, &mut worker, Duration::ZERO), Some(7));
        assert!(worker.is_none());
        sender.join().expect("no panic");
        assert_eq!(next(&waiting, &mut worker, Duration::ZERO), None);
    }
}
