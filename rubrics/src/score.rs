//! The one entry through which the server, the command line and the trainer score.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;
use verifiers::Reason;

use crate::outcome::{Failure, FailureKind, Outcome};
use crate::{Input, Pool, Priority, Scorer};

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
    /// Threads for verifiers.
    pub pool: Pool,
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
    let outcome = if ask.deadline.is_some_and(|deadline| deadline <= start) {
        Err(too_late())
    } else {
        judge_caught(scorer, input, ask)
    };
    Scored {
        outcome,
        queue: start - submitted,
        exec: start.elapsed(),
    }
}

/// A panic in a verifier is our fault and one input's misfortune; the worker goes on.
fn judge_caught(scorer: &Scorer, input: &Input, ask: &Ask) -> Outcome {
    catch_unwind(AssertUnwindSafe(|| scorer.judge(input, ask))).unwrap_or_else(|panic| {
        let text = panic
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| panic.downcast_ref::<&str>().copied())
            .unwrap_or("no message");
        tracing::error!(scorer = scorer.name(), panic = text, "a scorer panicked");
        Err(internal())
    })
}

fn unscored(failure: Failure) -> Scored {
    Scored {
        outcome: Err(failure),
        queue: Duration::ZERO,
        exec: Duration::ZERO,
    }
}

fn too_late() -> Failure {
    let detail = "the deadline passed before work started";
    Failure::new(
        FailureKind::Timeout,
        Reason::with("deadline_passed", detail),
    )
}

fn queue_full() -> Failure {
    let detail = "the work queue is full; try again later";
    Failure::new(FailureKind::Overloaded, Reason::with("queue_full", detail))
}

fn internal() -> Failure {
    let detail = "the scorer failed; the log has the cause";
    Failure::new(
        FailureKind::Internal,
        Reason::with("internal_error", detail),
    )
}
