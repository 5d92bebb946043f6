//! The entry through which server, command line and trainer score.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use futures_util::future::join_all;
use tokio::sync::oneshot;

use crate::engine_client::{EngineClient, Tools};
use crate::evaluate::{Runner, evaluate, evaluate_now};
use crate::outcome::{Failure, Outcome};
use crate::pool::{VerifierPool, catch_panic, check_deadline, panicked};
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

/// Most inputs of one job: enough to make the hand-over cheap, few enough to spread a batch over
/// the workers.
const JOB_INPUTS: usize = 32;

/// Scores `inputs` with `scorer`; one result for each input, in order.
///
/// A full queue, a passed deadline and a panic are failures of the inputs they hit and of no
/// others. Dropping the future cancels the work that has not started.
pub async fn score(
    scorer: &Arc<Scorer>,
    inputs: &[Arc<Input>],
    options: ScoreOptions,
    tools: &Tools,
) -> Vec<TimedOutcome> {
    if scorer.is_async() {
        return score_with_engines(scorer, inputs, options, tools).await;
    }
    let share = inputs.len().div_ceil(tools.pool.threads().max(1));
    let jobs: Vec<_> = inputs
        .chunks(share.clamp(1, JOB_INPUTS))
        .map(|chunk| (chunk.len(), submit(scorer, chunk, options, &tools.pool)))
        .collect();
    let mut results = Vec::with_capacity(inputs.len());
    for (count, job) in jobs {
        match job {
            None => results.extend((0..count).map(|_| unscored(Failure::queue_full()))),
            Some(reply) => match reply.await {
                Ok(chunk) => results.extend(chunk),
                // The pool stopped before this job.
                Err(_) => results.extend((0..count).map(|_| unscored(Failure::internal()))),
            },
        }
    }
    results
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

/// Submits a job that evaluates `inputs`; `None` if the queue is full.
fn submit(
    scorer: &Arc<Scorer>,
    inputs: &[Arc<Input>],
    options: ScoreOptions,
    pool: &VerifierPool,
) -> Option<oneshot::Receiver<Vec<TimedOutcome>>> {
    let (reply, receiver) = oneshot::channel();
    let scorer = Arc::clone(scorer);
    let inputs = inputs.to_vec();
    let submitted = Instant::now();
    let job = move || {
        let mut results = Vec::with_capacity(inputs.len());
        for input in &inputs {
            if reply.is_closed() {
                return;
            }
            results.push(evaluate_timed(&scorer, input, &options, submitted));
        }
        // A dropped receiver is a cancelled call.
        let _ = reply.send(results);
    };
    pool.submit(options.priority, Box::new(job)).ok()?;
    Some(receiver)
}

fn evaluate_timed(
    scorer: &Arc<Scorer>,
    input: &Arc<Input>,
    options: &ScoreOptions,
    submitted: Instant,
) -> TimedOutcome {
    let start = Instant::now();
    let evaluated = check_deadline(options.deadline)
        .and_then(|()| catch_panic(|| evaluate_now(scorer, input, options)));
    TimedOutcome {
        outcome: evaluated.and_then(|outcome| outcome),
        queue: start - submitted,
        exec: start.elapsed(),
    }
}

fn unscored(failure: Failure) -> TimedOutcome {
    TimedOutcome { outcome: Err(failure), queue: Duration::ZERO, exec: Duration::ZERO }
}
