//! Overload: the goodput in per cent of the peak, the time until excess work is refused, and whether
//! memory stays constant.
//!
//! A closed loop that keeps the queue full finds the peak. An open loop then submits at twice that rate,
//! by the clock, independent of earlier work; latency counts from the time of submission by the clock.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use engine::{Engine, OutputSpec, Request, RequestParams, SubmitError, Task, Ticket};
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use serde::Serialize;

use super::BenchEngineArgs;
use super::figures::{Counts, FigureRow, Figures, float};
use super::subject::Subject;
use crate::loaded::EngineSizes;
use base::memory;
use scoring::error::RunError;

/// Tokens of a sequence.
const SEQUENCE_TOKENS: usize = 64;

/// Tokens of a step.
const BATCH_TOKENS: usize = 512;

/// Most input tokens in the engine: four steps.
const QUEUE_TOKENS: usize = 4 * BATCH_TOKENS;

/// The latency bound of admitted work, as a multiple of the time that a full queue takes at the peak's
/// rate.
const LATENCY_BOUND: f64 = 3.0;

/// Interval of the submitter's clock.
const TICK: Duration = Duration::from_millis(1);

/// Figures of the workload.
#[derive(Debug, Serialize)]
pub(super) struct Overload {
    sequence_tokens: usize,
    queue_tokens: usize,
    peak_per_s: f64,
    offered_per_s: f64,
    goodput_per_s: f64,
    percent_of_peak: f64,
    submitted: usize,
    refused: usize,
    /// Admitted requests without an answer.
    failed: usize,
    refusal_p99_us: f64,
    refusal_max_us: f64,
    /// Latencies of admitted requests, from the time that they were due.
    p50_ms: f64,
    p99_ms: f64,
    max_ms: f64,
    /// The bound for p99.
    bound_ms: f64,
    resident_before_bytes: Option<u64>,
    resident_after_bytes: Option<u64>,
    #[serde(flatten)]
    tokens: Counts,
}

/// Observations of a loop.
#[derive(Debug, Default)]
struct LoopStats {
    /// Seconds from when the work was due, of each that was answered within the time.
    latencies: Vec<f64>,
    /// Seconds of each call that was refused.
    refusals: Vec<f64>,
    submitted: usize,
    failed: usize,
    refused_wrongly: Option<SubmitError>,
}

/// An endless source of new sequences.
struct SequenceSource {
    random: ChaCha8Rng,
    last_id: u32,
    read: OutputSpec,
}

impl SequenceSource {
    fn next(&mut self) -> Request {
        let ids = (0..SEQUENCE_TOKENS).map(|_| self.random.random_range(0..=self.last_id));
        Request {
            token_ids: ids.collect::<Arc<[u32]>>(),
            adapter: None,
            task: Task::Rows(vec![(SEQUENCE_TOKENS - 1, self.read.clone())]),
        }
    }
}

impl Overload {
    /// Runs the workload.
    pub(super) fn measure(args: &BenchEngineArgs, subject: &Subject) -> Result<Self, RunError> {
        let time = if args.short {
            Duration::from_millis(300)
        } else {
            Duration::from_secs(u64::from(args.seconds))
        };
        let sizes = EngineSizes {
            kv_tokens: 4 * QUEUE_TOKENS,
            batch_tokens: BATCH_TOKENS,
            max_sequences: 256,
            queue_tokens: QUEUE_TOKENS,
        };
        let engine = subject.loaded.engine(subject.loaded.runner(sizes.kv_tokens)?, sizes)?;
        let vocab_size = subject.loaded.model.config.vocab_size;
        let source = Rc::new(RefCell::new(SequenceSource {
            random: ChaCha8Rng::seed_from_u64(args.seed),
            last_id: u32::try_from(vocab_size - 1).expect("a vocabulary is below 2^32"),
            read: subject.score(),
        }));
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .map_err(|error| RunError::Failed(format!("no timers: {error}")))?;
        let loops = tokio::task::LocalSet::new();
        let closed = loops.block_on(&runtime, closed_loop(&engine, &source, time));
        let peak = float(closed.latencies.len()) / time.as_secs_f64();
        if let Some(error) = closed.refused_wrongly {
            return Err(RunError::Failed(error.to_string()));
        }
        if closed.latencies.is_empty() {
            return Err(RunError::Failed(format!(
                "no sequence was done in {time:?}: `--seconds` gives more time"
            )));
        }
        // Once without the clock, so that memory has grown to what a queue takes.
        loops.block_on(&runtime, open_loop(&engine, &source, time / 4, 2.0 * peak));
        let resident_before_bytes = memory::resident_bytes();
        let seen = loops.block_on(&runtime, open_loop(&engine, &source, time, 2.0 * peak));
        if let Some(error) = seen.refused_wrongly {
            return Err(RunError::Failed(error.to_string()));
        }
        Ok(summary(&seen, peak, time, resident_before_bytes))
    }
}

/// Keeps the queue full, and counts the sequences that are done within `time`.
async fn closed_loop(
    engine: &Engine,
    source: &Rc<RefCell<SequenceSource>>,
    time: Duration,
) -> LoopStats {
    let seen = Rc::new(RefCell::new(LoopStats::default()));
    let end = Instant::now() + time;
    let hands: Vec<_> = (0..QUEUE_TOKENS / SEQUENCE_TOKENS)
        .map(|_| {
            let (engine, source, seen) = (engine.clone(), source.clone(), seen.clone());
            tokio::task::spawn_local(async move {
                while Instant::now() < end {
                    let (due, work) = (Instant::now(), source.borrow_mut().next());
                    match engine.submit(vec![work], RequestParams::default()) {
                        Ok(ticket) => finish(ticket, due, end, &seen).await,
                        // Room that the last answers took may still be on its way back.
                        Err(SubmitError::Overloaded { .. }) => tokio::time::sleep(TICK).await,
                        Err(other) => {
                            seen.borrow_mut().refused_wrongly = Some(other);
                            return;
                        }
                    }
                }
            })
        })
        .collect();
    for hand in hands {
        hand.await.expect("a loop does not panic");
    }
    seen.take()
}

/// Submits `rate` requests a second for `time`, and waits for the admitted ones.
async fn open_loop(
    engine: &Engine,
    source: &Rc<RefCell<SequenceSource>>,
    time: Duration,
    rate: f64,
) -> LoopStats {
    let seen = Rc::new(RefCell::new(LoopStats::default()));
    let (start, end) = (Instant::now(), Instant::now() + time);
    let mut hands = tokio::task::JoinSet::new();
    let mut ticks = tokio::time::interval(TICK);
    let mut due = start;
    while due < end {
        ticks.tick().await;
        while due < Instant::now().min(end) {
            let work = source.borrow_mut().next();
            let begin = Instant::now();
            let submitted = engine.submit(vec![work], RequestParams::default());
            let took = begin.elapsed().as_secs_f64();
            let mut all = seen.borrow_mut();
            all.submitted += 1;
            match submitted {
                Ok(ticket) => {
                    let seen = seen.clone();
                    hands.spawn_local(async move { finish(ticket, due, end, &seen).await });
                }
                Err(SubmitError::Overloaded { .. }) => all.refusals.push(took),
                Err(other) => {
                    all.refused_wrongly = Some(other);
                    break;
                }
            }
            due = start + Duration::from_secs_f64(float(all.submitted) / rate);
        }
        // What has ended is forgotten, so that memory shows the engine's use and not the test's.
        while hands.try_join_next().is_some() {}
    }
    while hands.join_next().await.is_some() {}
    seen.take()
}

/// Waits for the answer and counts it, where it came before `end`.
async fn finish(ticket: Ticket, due: Instant, end: Instant, seen: &RefCell<LoopStats>) {
    let answers = ticket.all().await;
    let mut seen = seen.borrow_mut();
    if answers.iter().any(Result::is_err) {
        seen.failed += 1;
    } else if Instant::now() <= end {
        seen.latencies.push(due.elapsed().as_secs_f64());
    }
}

fn summary(seen: &LoopStats, peak: f64, time: Duration, before: Option<u64>) -> Overload {
    let goodput = float(seen.latencies.len()) / time.as_secs_f64();
    let in_hand_s = float(QUEUE_TOKENS / SEQUENCE_TOKENS) / peak;
    let computed = seen.latencies.len() * SEQUENCE_TOKENS;
    Overload {
        sequence_tokens: SEQUENCE_TOKENS,
        queue_tokens: QUEUE_TOKENS,
        peak_per_s: peak,
        offered_per_s: float(seen.submitted) / time.as_secs_f64(),
        goodput_per_s: goodput,
        percent_of_peak: 100.0 * goodput / peak,
        submitted: seen.submitted,
        refused: seen.refusals.len(),
        failed: seen.failed,
        refusal_p99_us: 1e6 * quantile(&seen.refusals, 0.99),
        refusal_max_us: 1e6 * quantile(&seen.refusals, 1.0),
        p50_ms: 1e3 * quantile(&seen.latencies, 0.5),
        p99_ms: 1e3 * quantile(&seen.latencies, 0.99),
        max_ms: 1e3 * quantile(&seen.latencies, 1.0),
        bound_ms: 1e3 * LATENCY_BOUND * in_hand_s,
        resident_before_bytes: before,
        resident_after_bytes: memory::resident_bytes(),
        tokens: Counts {
            computed_tokens: computed,
            unique_tokens: computed,
            tokens_per_s: float(computed) / time.as_secs_f64(),
        },
    }
}

/// The smallest number that at least the share `q` of the numbers does not exceed; 0 for an empty list.
fn quantile(numbers: &[f64], q: f64) -> f64 {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a rank between 0 and the length"
    )]
    let rank = (q * float(sorted.len())).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or(0.0)
}

impl Figures for Overload {
    fn rows(&self) -> Vec<FigureRow> {
        let plain = |name, figure| FigureRow::plain("overload", name, figure);
        let grown =
            self.resident_before_bytes.zip(self.resident_after_bytes).map(|(before, after)| {
                let figure = format!("{} to {}", memory::mib(before), memory::mib(after));
                plain("resident memory", figure).against("flat", after <= before + before / 20)
            });
        let mut rows = vec![
            plain("peak", format!("{:.1} sequences/s", self.peak_per_s)),
            plain(
                "goodput",
                format!("{:.1} of {:.1} sequences/s", self.goodput_per_s, self.offered_per_s),
            ),
            plain("goodput / peak", format!("{:.1} %", self.percent_of_peak))
                .against("95 %", self.percent_of_peak >= 95.0),
            plain(
                "refused",
                format!(
                    "{} of {}, p99 {:.1} us",
                    self.refused, self.submitted, self.refusal_p99_us
                ),
            )
            .against("at once", self.refused > 0 && self.refusal_p99_us < 1e3),
            plain("admitted", format!("p50 {:.1} ms, p99 {:.1} ms", self.p50_ms, self.p99_ms))
                .against(&format!("{:.1} ms", self.bound_ms), self.p99_ms <= self.bound_ms),
        ];
        rows.extend(grown);
        if self.failed > 0 {
            rows.push(plain("failed", self.failed.to_string()).against("0", false));
        }
        rows
    }

    fn tokens(&self) -> Counts {
        self.tokens
    }

    /// An admitted sequence without an answer.
    fn failed(&self) -> bool {
        self.failed > 0
    }
}

#[cfg(test)]
mod tests {
    use super::quantile;

    #[test]
    fn quantiles() {
        let numbers = [4.0, 1.0, 3.0, 2.0];
        for (q, expected) in [(0.25, 1.0), (0.5, 2.0), (0.51, 3.0), (0.99, 4.0), (1.0, 4.0)] {
            assert_eq!(quantile(&numbers, q).to_bits(), f64::to_bits(expected), "{q}");
        }
        assert_eq!(quantile(&[], 0.5).to_bits(), 0);
    }
}
