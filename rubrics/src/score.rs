//! The entry through which server, command line and trainer score.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use futures_util::future::join_all;
use tokio::sync::mpsc;

use crate::bounds::{TimeSlice, WorkBounds};
use crate::engine_client::{EngineClient, Tools};
use crate::evaluate::{Runner, Worker, evaluate};
use crate::outcome::{Failure, Outcome};
use crate::pool::{QueueFull, VerifierPool, check_deadline, panicked};
use crate::{Input, ScoreOptions, Scorer};

/// An outcome and where its time went.
#[derive(Debug, Clone, PartialEq)]
pub struct TimedOutcome {
    /// The outcome.
    pub outcome: Outcome,
    /// From submission to the start of work.
    pub queue: Duration,
    /// Work.
    pub exec: Duration,
}

/// Most inputs that a job takes at a time: enough to make the hand-over cheap, few enough to spread
/// a batch over the workers.
const CHUNK_INPUTS: usize = 32;

/// Scores `inputs` with `scorer`; one result for each input, in order.
///
/// A full queue, a passed deadline and a panic are failures of the inputs they hit and of no
/// others. Dropping the future cancels the work, at the latest before the next response.
pub async fn score(
    scorer: &Arc<Scorer>,
    inputs: &[Arc<Input>],
    options: ScoreOptions,
    tools: &Tools,
) -> Vec<TimedOutcome> {
    if scorer.is_async() {
        return score_with_engines(scorer, inputs, options, tools).await;
    }
    let threads = tools.pool.threads().max(1);
    let chunk = inputs.len().div_ceil(threads).clamp(1, CHUNK_INPUTS);
    let n_chunks = inputs.len().div_ceil(chunk);
    let call = Arc::new(VerifierCall {
        scorer: Arc::clone(scorer),
        inputs: inputs.to_vec(),
        options,
        bounds: WorkBounds::new(&options),
        chunk,
        next: AtomicUsize::new(0),
        submitted: Instant::now(),
    });
    let cancelling = CancelOnDrop(&call.bounds);
    let (sender, mut receiver) = mpsc::channel(n_chunks.max(1));
    // A call has no more jobs than there are threads, and its jobs run in turns: a large call
    // delays a small one by a time slice and not by its own length.
    let submit = |_: &usize| call.submit(&sender, &tools.pool).is_ok();
    let n_jobs = (0..n_chunks.min(threads)).take_while(submit).count();
    drop(sender);
    let failure = if n_jobs == 0 { Failure::queue_full } else { Failure::internal };
    let mut results: Vec<Option<TimedOutcome>> = inputs.iter().map(|_| None).collect();
    while let Some((first, chunk)) = receiver.recv().await {
        for (slot, result) in results[first..].iter_mut().zip(chunk) {
            *slot = Some(result);
        }
    }
    drop(cancelling);
    // An input without a result was not begun: no job was taken, or the pool stopped.
    let timed = |result: Option<TimedOutcome>| result.unwrap_or_else(|| unscored(failure()));
    results.into_iter().map(timed).collect()
}

/// A call of a scorer without models, shared by its jobs on the worker threads.
struct VerifierCall {
    scorer: Arc<Scorer>,
    inputs: Vec<Arc<Input>>,
    options: ScoreOptions,
    bounds: WorkBounds,
    /// Inputs that a job takes at a time.
    chunk: usize,
    /// Index of the first input that no job has taken.
    next: AtomicUsize,
    submitted: Instant,
}

/// The index of the first input of a chunk, and the results of all of them.
type ChunkResults = (usize, Vec<TimedOutcome>);

/// Cancels the work of a call that is dropped before its end.
struct CancelOnDrop<'a>(&'a WorkBounds);

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

impl VerifierCall {
    /// Submits a job that evaluates inputs until none is left.
    fn submit(
        self: &Arc<Self>,
        results: &mpsc::Sender<ChunkResults>,
        pool: &VerifierPool,
    ) -> Result<(), QueueFull> {
        let slice = Arc::new(TimeSlice::endless(self.submitted));
        let work = Self::work(Arc::clone(self), Arc::clone(&slice), results.clone());
        pool.submit_in_slices(self.options.priority, Box::pin(work), slice)
    }

    async fn work(self: Arc<Self>, slice: Arc<TimeSlice>, results: mpsc::Sender<ChunkResults>) {
        loop {
            let first = self.next.fetch_add(self.chunk, Ordering::Relaxed);
            let Some(rest) = self.inputs.get(first..).filter(|rest| !rest.is_empty()) else {
                return;
            };
            let inputs = &rest[..self.chunk.min(rest.len())];
            let mut chunk = Vec::with_capacity(inputs.len());
            for input in inputs {
                if self.bounds.is_cancelled() {
                    return;
                }
                let (result, end) = self.evaluate_timed(input, &slice).await;
                chunk.push(result);
                slice.give_way(end).await;
            }
            // The channel has room for every chunk; a dropped receiver is a cancelled call.
            if results.try_send((first, chunk)).is_err() {
                return;
            }
        }
    }

    /// An outcome, and when it was there: a look at the clock takes as long as many a rule.
    async fn evaluate_timed(
        &self,
        input: &Arc<Input>,
        slice: &TimeSlice,
    ) -> (TimedOutcome, Instant) {
        let start = Instant::now();
        let worker = Worker { options: &self.options, bounds: &self.bounds, slice };
        let evaluation = evaluate(&self.scorer, input, Runner::Worker(worker));
        let outcome = AssertUnwindSafe(evaluation).catch_unwind().await;
        let outcome = outcome.unwrap_or_else(|panic| Err(panicked(&*panic)));
        let end = Instant::now();
        (TimedOutcome { outcome, queue: start - self.submitted, exec: end - start }, end)
    }
}

/// Evaluates all inputs at once: engines schedule them, and compute shared prefixes once.
async fn score_with_engines(
    scorer: &Arc<Scorer>,
    inputs: &[Arc<Input>],
    options: ScoreOptions,
    tools: &Tools,
) -> Vec<TimedOutcome> {
    let served = scorer.models().iter().filter_map(|name| tools.models.find(name));
    let queue_tokens = served.map(|served| served.host.engine.limits().queue_tokens);
    let client = EngineClient::new(tools, options, queue_tokens.min().unwrap_or(usize::MAX));
    let timed = |input| {
        let client = &client;
        async move {
            let start = Instant::now();
            let outcome = match check_deadline(options.deadline) {
                Ok(()) => AssertUnwindSafe(evaluate(scorer, input, Runner::Engines(client)))
                    .catch_unwind()
                    .await
                    .unwrap_or_else(|panic| Err(panicked(&*panic))),
                Err(failure) => Err(failure),
            };
            TimedOutcome { outcome, queue: Duration::ZERO, exec: start.elapsed() }
        }
    };
    join_all(inputs.iter().map(timed)).await
}

fn unscored(failure: Failure) -> TimedOutcome {
    TimedOutcome { outcome: Err(failure), queue: Duration::ZERO, exec: Duration::ZERO }
}
