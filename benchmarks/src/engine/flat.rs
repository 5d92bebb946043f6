//! Sequences without a common prefix, through the engine and through the forward alone in batches of
//! the same size.

use std::sync::Arc;

use engine::{Output, Request, Task};
use serde::Serialize;

use super::BenchEngineArgs;
use super::clocked::seconds_within;
use super::figures::{Counts, FigureRow, Figures, float, median, unique_tokens};
use super::subject::{Ran, Subject, only_row};
use scoring::error::RunError;

/// Figures of the workload.
#[derive(Debug, Serialize)]
pub(super) struct Flat {
    sequences: usize,
    sequence_tokens: usize,
    #[serde(flatten)]
    tokens: Counts,
    seconds: f64,
    sequences_per_s: f64,
    steps: usize,
    raw_tokens_per_s: f64,
    /// The engine's rate, in per cent of the forward's.
    percent_of_raw: f64,
    /// Time of the engine outside the forward, in the median round.
    outside_forward_ms: f64,
    same_bits: bool,
}

/// One round.
struct FlatRound {
    engine: Ran,
    raw_seconds: f64,
    same_bits: bool,
}

impl Flat {
    /// Runs the workload.
    pub(super) fn measure(args: &BenchEngineArgs, subject: &mut Subject) -> Result<Self, RunError> {
        let (n, each) = if args.short { (8, 48) } else { (64, 256) };
        let sequences: Vec<Arc<[u32]>> =
            (0..n).map(|_| subject.random_tokens(each).into()).collect();
        let a_batch = (args.batch_tokens as usize / each).max(1);
        // Once with few tokens and without the clock: memory is touched and threads are awake.
        round(subject, &sequences[..1], 1)?;
        let rounds: Vec<FlatRound> = (0..args.rounds)
            .map(|_| round(subject, &sequences, a_batch))
            .collect::<Result<_, RunError>>()?;
        let engine: Vec<f64> = rounds.iter().map(|round| round.engine.seconds).collect();
        let raw: Vec<f64> = rounds.iter().map(|round| round.raw_seconds).collect();
        let outside =
            |round: &FlatRound| round.engine.seconds - seconds_within(&round.engine.steps);
        let outside: Vec<f64> = rounds.iter().map(outside).collect();
        let (total, seconds) = (n * each, median(&engine));
        let computed = rounds.iter().map(|round| round.engine.computed_tokens());
        Ok(Self {
            sequences: n,
            sequence_tokens: each,
            tokens: Counts {
                computed_tokens: computed.max().unwrap_or(0),
                unique_tokens: unique_tokens(sequences.iter().map(|ids| &**ids)),
                tokens_per_s: float(total) / seconds,
            },
            seconds,
            sequences_per_s: float(n) / seconds,
            steps: rounds[0].engine.steps.len(),
            raw_tokens_per_s: float(total) / median(&raw),
            percent_of_raw: 100.0 * median(&raw) / seconds,
            outside_forward_ms: 1e3 * median(&outside),
            same_bits: rounds.iter().all(|round| round.same_bits),
        })
    }
}

fn round(
    subject: &mut Subject,
    sequences: &[Arc<[u32]>],
    a_batch: usize,
) -> Result<FlatRound, RunError> {
    let (read, terms) = (subject.score(), subject.cold());
    let work = |token_ids: &Arc<[u32]>| Request {
        token_ids: token_ids.clone(),
        adapter: None,
        task: Task::Rows(vec![(token_ids.len() - 1, read.clone())]),
    };
    let engine = subject.run(vec![(sequences.iter().map(work).collect(), terms)])?;
    let (mut raw_seconds, mut outputs) = (0.0, Vec::<Output>::new());
    for batch in sequences.chunks(a_batch) {
        let (seconds, read) = subject.forward(batch, &read)?;
        raw_seconds += seconds;
        outputs.extend(read);
    }
    let same_bits = engine.answers.iter().map(only_row).eq(outputs.iter().map(Some));
    Ok(FlatRound { engine, raw_seconds, same_bits })
}

impl Figures for Flat {
    fn rows(&self) -> Vec<FigureRow> {
        let plain = |name, figure| FigureRow::plain("flat", name, figure);
        vec![
            plain(
                "engine",
                format!(
                    "{:.1} tokens/s, {:.2} sequences/s",
                    self.tokens.tokens_per_s, self.sequences_per_s
                ),
            ),
            plain("forward alone", format!("{:.1} tokens/s", self.raw_tokens_per_s)),
            plain("engine / forward alone", format!("{:.1} %", self.percent_of_raw))
                .against("95 %", self.percent_of_raw >= 95.0),
            plain(
                "outside the forward",
                format!("{:.2} ms in {} steps", self.outside_forward_ms, self.steps),
            ),
        ]
    }

    fn tokens(&self) -> Counts {
        self.tokens
    }

    fn failed(&self) -> bool {
        !self.same_bits
    }
}
