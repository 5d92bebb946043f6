//! How many tokens and sequences of a model the machine can hold, and about how fast it is.

use std::time::Instant;

use base::human::grouped;
use base::memory;
use engine::{OutputSpec, Request, SamplingParams, Task};
use models::kv::KvCache;
use serde::Serialize;

use super::probe_engine::ProbeEngine;

/// Lengths of sequences whose number is reported, as far as the model has positions.
const LENGTHS: [u64; 2] = [1024, 4096];

/// Tokens that are generated for the rate.
const DECODED: usize = 16;

/// Tokens before them.
const CONTEXT: usize = 8;

/// Runs of which the shortest counts.
const RUNS: usize = 3;

/// Memory that a model takes, and what fits beside it.
#[derive(Debug, Serialize)]
pub(super) struct Capacity {
    weight_bytes: u64,
    kv_bytes_per_token: u64,
    /// Memory that programs can still get, this model loaded.
    free_bytes: Option<u64>,
    /// Tokens whose keys and values fit into that.
    tokens: Option<u64>,
    /// Sequences of a length that fit into it.
    sequences: Vec<Sequences>,
}

/// How many sequences of a length.
#[derive(Debug, Serialize)]
struct Sequences {
    tokens: u64,
    count: Option<u64>,
}

/// About how fast, by one short run.
#[derive(Debug, Serialize)]
pub(super) struct Speed {
    prefill_tokens: usize,
    prefill_tokens_per_s: f64,
    /// Rate of one sequence; `None` where the model has no vocabulary, or the time was too short to measure.
    decode_tokens_per_s: Option<f64>,
}

#[expect(clippy::cast_precision_loss, reason = "a few hundred tokens")]
fn float(count: usize) -> f64 {
    count as f64
}

fn generate(max_tokens: usize) -> Task {
    Task::Generate(Box::new(SamplingParams { max_tokens, ..SamplingParams::default() }))
}

/// The shortest of a few runs of something wanted of `n` tokens, never the same ones.
fn best_seconds(
    probe: &mut ProbeEngine<'_>,
    n: usize,
    want: impl Fn(usize) -> Task,
) -> Result<f64, String> {
    let mut best = f64::INFINITY;
    for _ in 0..RUNS {
        let work = Request { token_ids: probe.tokens(n).into(), adapter: None, task: want(n) };
        let terms = probe.uncached();
        let begin = Instant::now();
        probe.answers(vec![work], terms)?;
        best = best.min(begin.elapsed().as_secs_f64());
    }
    Ok(best)
}

impl Capacity {
    /// The capacity of this machine for a model that is loaded.
    pub(super) fn of(probe: &ProbeEngine<'_>) -> Self {
        let config = &probe.loaded.model.config;
        let kv_type = probe.loaded.model.numerics.numerics.kv_type();
        let kv_bytes_per_token = KvCache::bytes_per_token(config, kv_type) as u64;
        let free_bytes = memory::of_machine().map(|(_, free)| free);
        let tokens = free_bytes.map(|free| free / kv_bytes_per_token.max(1));
        let mut lengths = LENGTHS.map(|length| length.min(config.max_positions as u64)).to_vec();
        lengths.dedup();
        let sequences = lengths.into_iter().map(|length| Sequences {
            tokens: length,
            count: tokens.map(|tokens| tokens / length),
        });
        Self {
            weight_bytes: probe.loaded.model.weight_bytes,
            kv_bytes_per_token,
            free_bytes,
            tokens,
            sequences: sequences.collect(),
        }
    }

    /// Lines of the table.
    pub(super) fn rows(&self) -> Vec<(&'static str, String)> {
        let a_token = grouped(self.kv_bytes_per_token, ',');
        let mut rows = vec![(
            "takes",
            format!(
                "{} of weights, {a_token} bytes of keys and values a token",
                memory::mib(self.weight_bytes)
            ),
        )];
        let Some((free, tokens)) = self.free_bytes.zip(self.tokens) else {
            return rows;
        };
        let fitting = self.sequences.iter().map(|sequences| {
            let count = grouped(sequences.count.unwrap_or(0), ',');
            format!("; {count} sequences of {}", grouped(sequences.tokens, ','))
        });
        let fitting: String = fitting.collect();
        let tokens = grouped(tokens, ',');
        rows.push((
            "holds",
            format!("in {} of free memory {tokens} tokens{fitting}", memory::gib(free)),
        ));
        rows
    }
}

impl Speed {
    /// Measures the rates by short runs.
    pub(super) fn measure(probe: &mut ProbeEngine<'_>) -> Result<Self, String> {
        let n = probe.most_tokens() - DECODED.min(probe.most_tokens() / 2);
        let prefill = best_seconds(probe, n, |n| Task::Rows(vec![(n - 1, OutputSpec::Hidden)]))?;
        let decode_tokens_per_s = if probe.loaded.has_vocabulary() {
            let one = best_seconds(probe, CONTEXT, |_| generate(1))?;
            let all = best_seconds(probe, CONTEXT, |_| generate(DECODED))?;
            (all > one).then(|| float(DECODED - 1) / (all - one))
        } else {
            None
        };
        Ok(Self {
            prefill_tokens: n,
            prefill_tokens_per_s: float(n) / prefill,
            decode_tokens_per_s,
        })
    }

    /// Lines of the table.
    pub(super) fn rows(&self) -> Vec<(&'static str, String)> {
        let decode = match self.decode_tokens_per_s {
            Some(rate) => format!(", decode {rate:.1} of one sequence"),
            None => String::new(),
        };
        vec![(
            "speed",
            format!(
                "about {:.1} tokens/s prefill over {}{decode}",
                self.prefill_tokens_per_s, self.prefill_tokens
            ),
        )]
    }
}
