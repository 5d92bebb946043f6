//! The one entry through which the server, the command line and the trainer score.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;
use verifiers::Reason;

use futures_util::FutureExt as _;
use futures_util::future::join_all;

use crate::models::Models;
use crate::outcome::{Failure, FailureKind, Outcome};
use crate::session::Session;
use crate::{Input, Pool, Priority, Scorer, Tape, walk};

/// How to score.
#[derive(Debug, Clone, Copy, Default)]
pub struct Ask {
    /// Which queue the work waits in.
    pub priority: Priority,
    /// When an answer is of no more use.
    pub deadline: Option<Instant>,
    /// Whether verdicts carry their detail.
    pub explain: bool,
    /// Seed of every sampled decision.
    pub seed: u64,
}

/// What scoring needs from outside.
#[derive(Debug)]
pub struct Tools {
    /// Threads for verifiers, and for making prompts.
    pub pool: Pool,
    /// The models that are being served.
    pub models: Arc<dyn Models>,
    /// Where to keep what engines are asked for, in a measurement.
    pub tape: Option<Arc<Tape>>,
}

/// An outcome and where its time went.
#[derive(Debug, Clone, PartialEq)]
pub struct Scored {
    /// The outcome.
    pub outcome: Outcome,
    /// From submission to the start of work.
    pub queue: Duration,
    /// Work.
    pub exec: Duration,
}

/// Most inputs that one job takes: enough to make the hand-over cheap, few enough to spread a
/// batch over the workers.
const JOB_INPUTS: usize = 32;

/// Scores `inputs` with `scorer`; the answer has one entry for each input, in order.
///
/// Every input is answered: a full queue, a passed deadline and a panic are failures of the inputs
/// they hit and of no others. Dropping the future cancels the work that has not started.
pub async fn score(
    scorer: &Arc<Scorer>,
    inputs: &[Arc<Input>],
    ask: Ask,
    tools: &Tools,
) -> Vec<Scored> {
    if scorer.walks() {
        return score_with_models(scorer, inputs, ask, tools).await;
    }
    let share = inputs.len().div_ceil(tools.pool.threads().max(1));
    let jobs: Vec<_> = inputs
        .chunks(share.clamp(1, JOB_INPUTS))
        .map(|chunk| (chunk.len(), submit(scorer, chunk, ask, &tools.pool)))
        .collect();
    let mut answers = Vec::with_capacity(inputs.len());
    for (count, job) in jobs {
        match job {
            None => answers.extend((0..count).map(|_| unscored(queue_full()))),
            Some(reply) => match reply.await {
                Ok(chunk) => answers.extend(chunk),
                // The pool stopped before it came to this job.
                Err(_) => answers.extend((0..count).map(|_| unscored(internal()))),
            },
        }
    }
    answers
}

/// All inputs at once: the engines put them into an order, and compute what they share once.
async fn score_with_models(
    scorer: &Arc<Scorer>,
    inputs: &[Arc<Input>],
    ask: Ask,
    tools: &Tools,
) -> Vec<Scored> {
    let served = scorer.models().iter().filter_map(|name| tools.models.find(name));
    let queue_tokens = served.map(|served| served.host.engine.limits().queue_tokens);
    let session = Session::new(tools, ask, queue_tokens.min().unwrap_or(usize::MAX));
    let judge = |input| {
        let session = &session;
        async move {
            let start = Instant::now();
            let outcome = match on_time(ask.deadline) {
                Ok(()) => AssertUnwindSafe(walk::judge(scorer, input, session))
                    .catch_unwind()
                    .await
                    .unwrap_or_else(|panic| Err(panicked(&*panic))),
                Err(failure) => Err(failure),
            };
            Scored { outcome, queue: Duration::ZERO, exec: start.elapsed() }
        }
    };
    join_all(inputs.iter().map(judge)).await
}

fn submit(
    scorer: &Arc<Scorer>,
    inputs: &[Arc<Input>],
    ask: Ask,
    pool: &Pool,
) -> Option<oneshot::Receiver<Vec<Scored>>> {
    let (reply, receiver) = oneshot::channel();
    let scorer = Arc::clone(scorer);
    let inputs = inputs.to_vec();
    let submitted = Instant::now();
    let job = move || {
        let mut answers = Vec::with_capacity(inputs.len());
        for input in &inputs {
            if reply.is_closed() {
                return;
            }
            answers.push(judge_timed(&scorer, input, &ask, submitted));
        }
        // Nobody listening any more is what cancellation looks like from here.
        let _ = reply.send(answers);
    };
    pool.submit(ask.priority, Box::new(job)).ok()?;
    Some(receiver)
}

fn judge_timed(scorer: &Scorer, input: &Input, ask: &Ask, submitted: Instant) -> Scored {
    let start = Instant::now();
    let judged = on_time(ask.deadline).and_then(|()| caught(|| scorer.judge(input, ask)));
    Scored {
        outcome: judged.and_then(|outcome| outcome),
        queue: start - submitted,
        exec: start.elapsed(),
    }
}

/// Refuses work that nobody has a use for any more.
pub(crate) fn on_time(deadline: Option<Instant>) -> Result<(), Failure> {
    match deadline {
        Some(deadline) if deadline <= Instant::now() => Err(too_late()),
        Some(_) | None => Ok(()),
    }
}

/// A panic in a scorer is our fault and one input's misfortune; the worker goes on.
pub(crate) fn caught<T>(work: impl FnOnce() -> T) -> Result<T, Failure> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| panicked(&*panic))
}

fn panicked(panic: &(dyn std::any::Any + Send)) -> Failure {
    let text = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("no message");
    tracing::error!(panic = text, "a scorer panicked");
    internal()
}

fn unscored(failure: Failure) -> Scored {
    Scored { outcome: Err(failure), queue: Duration::ZERO, exec: Duration::ZERO }
}

fn too_late() -> Failure {
    let detail = "the deadline passed before work started";
    Failure::new(FailureKind::Timeout, Reason::with("deadline_passed", detail))
}

pub(crate) fn queue_full() -> Failure {
    let detail = "the work queue is full; try again later";
    Failure::new(FailureKind::Overloaded, Reason::with("queue_full", detail))
}

pub(crate) fn internal() -> Failure {
    let detail = "the scorer failed; the log has the cause";
    Failure::new(FailureKind::Internal, Reason::with("internal_error", detail))
}
