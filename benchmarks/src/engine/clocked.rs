//! A forward that records the times of its steps, so that time in the forward and time between steps
//! can be distinguished.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use models::adapter::Adapter;
use models::batch::AdapterSlot;
use models::{Forward, Outputs, RaggedBatch, RowOutput, TokenDraw};

/// One call of the forward.
#[derive(Clone, Copy, Debug)]
pub(super) struct ForwardCall {
    pub(super) begin: Instant,
    pub(super) end: Instant,
    pub(super) n_tokens: usize,
    pub(super) n_sequences: usize,
}

/// The record, shared with the thread that runs the forward.
#[derive(Clone, Debug, Default)]
pub(super) struct StepLog(Arc<Mutex<Vec<ForwardCall>>>);

impl StepLog {
    /// Takes the steps since the last call, in order.
    pub(super) fn take(&self) -> Vec<ForwardCall> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn push(&self, step: ForwardCall) {
        let mut steps = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        steps.push(step);
    }
}

/// A forward whose steps are recorded.
#[derive(Debug)]
pub(super) struct Clocked<F> {
    inner: F,
    log: StepLog,
}

impl<F> Clocked<F> {
    /// Wraps a forward. Returns it and the record of its steps.
    pub(super) fn new(inner: F) -> (Clocked<F>, StepLog) {
        let log = StepLog::default();
        let clocked = Clocked { inner, log: log.clone() };
        (clocked, log)
    }

    fn timed<T>(&mut self, batch: &RaggedBatch, run: impl FnOnce(&mut F, &RaggedBatch) -> T) -> T {
        let begin = Instant::now();
        let outputs = run(&mut self.inner, batch);
        self.log.push(ForwardCall {
            begin,
            end: Instant::now(),
            n_tokens: batch.n_tokens(),
            n_sequences: batch.n_sequences(),
        });
        outputs
    }
}

impl<F: Forward> Forward for Clocked<F> {
    fn forward(&mut self, batch: &RaggedBatch) -> models::Result<Outputs> {
        self.timed(batch, F::forward)
    }

    fn draws_tokens(&self) -> bool {
        self.inner.draws_tokens()
    }

    fn forward_drawing(
        &mut self,
        batch: &RaggedBatch,
        draws: &[Option<TokenDraw>],
    ) -> models::Result<Vec<RowOutput>> {
        self.timed(batch, |inner, batch| inner.forward_drawing(batch, draws))
    }

    fn insert(&mut self, adapter: Arc<Adapter>) -> models::Result<AdapterSlot> {
        self.inner.insert(adapter)
    }

    fn remove(&mut self, slot: AdapterSlot) -> Option<Arc<Adapter>> {
        self.inner.remove(slot)
    }

    fn reload(&mut self) -> models::Result<()> {
        self.inner.reload()
    }
}

/// Returns the seconds within the forward.
pub(super) fn seconds_within(steps: &[ForwardCall]) -> f64 {
    let within = |step: &ForwardCall| (step.end - step.begin).as_secs_f64();
    steps.iter().map(within).sum()
}
