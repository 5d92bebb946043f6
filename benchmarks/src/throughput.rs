//! Raw rates of a model's forward in this process: no scheduler, no HTTP.
//!
//! Prefill, decode and mixed adapters, each several times in turn, so that a disturbance of the
//! machine falls on all of them. The caller prints.

#![expect(
    clippy::cast_precision_loss,
    reason = "counts become rates; none is near the mantissa's limit"
)]

use std::time::Instant;

use models::batch::{AdapterSlot, OutputSpec, PackItem, pack};
use models::runner::Forward;
use models::{BLOCK, BlockId};
use models::{ModelConfig, Result};
use tiny_models::random_adapter;

/// Options of the measurement.
#[derive(Clone, Copy, Debug)]
pub struct ThroughputPlan {
    /// Tokens of the prefill, one sequence, one row read.
    pub prompt_tokens: usize,
    /// Sequences that decode together.
    pub decode_batch: usize,
    /// Tokens that each of them has before it decodes.
    pub context_tokens: usize,
    /// Tokens that each of them decodes, all logits read at every step.
    pub decode_steps: usize,
    /// Adapters mixed in one batch, one sequence each.
    pub adapters: usize,
    /// Their rank, on every linear layer.
    pub rank: usize,
    /// How often everything is run.
    pub repeats: usize,
}

/// Times of one kind of run.
#[derive(Clone, Debug, Default)]
pub struct Timed {
    /// Tokens of one run.
    pub tokens: usize,
    /// Seconds of each run.
    pub seconds: Vec<f64>,
}

/// Result of the measurement.
#[derive(Clone, Debug, Default)]
pub struct Throughput {
    /// One prompt without KV blocks, as a reward model reads it.
    pub prefill: Timed,
    /// A batch that decodes over KV blocks.
    pub decode: Timed,
    /// The tokens of `adapted` under the base model alone.
    pub base: Timed,
    /// As many sequences as adapters, each under its own.
    pub adapted: Timed,
}

impl Timed {
    /// Tokens a second in the median run.
    pub fn median(&self) -> f64 {
        let mut seconds = self.seconds.clone();
        seconds.sort_by(f64::total_cmp);
        seconds.get(seconds.len() / 2).map_or(0.0, |s| self.tokens as f64 / s)
    }

    /// Tokens a second in the fastest run.
    pub fn best(&self) -> f64 {
        let fastest = self.seconds.iter().copied().fold(f64::INFINITY, f64::min);
        self.tokens as f64 / fastest
    }

    fn time(&mut self, tokens: usize, run: impl FnOnce() -> Result<()>) -> Result<()> {
        let begin = Instant::now();
        run()?;
        self.tokens = tokens;
        self.seconds.push(begin.elapsed().as_secs_f64());
        Ok(())
    }
}

/// Blocks that a runner needs for a plan.
pub fn blocks_needed(plan: &ThroughputPlan) -> usize {
    plan.decode_batch * (plan.context_tokens + plan.decode_steps).div_ceil(BLOCK)
}

/// Runs the plan over a model of this configuration. The runner has at least [`blocks_needed`] KV blocks.
///
/// # Errors
/// Those of the runner.
pub fn measure(
    runner: &mut impl Forward,
    config: &ModelConfig,
    plan: &ThroughputPlan,
) -> Result<Throughput> {
    let slots: Vec<AdapterSlot> = (0..plan.adapters as u64)
        .map(|seed| runner.insert(random_adapter(config, seed, plan.rank)?))
        .collect::<Result<_>>()?;
    let mut measured = Throughput::default();
    let run = &mut Run { runner, config, plan };
    run.prefill(&mut Timed::default())?;
    for _ in 0..plan.repeats {
        run.prefill(&mut measured.prefill)?;
        run.decode(&mut measured.decode)?;
        run.mixed(&vec![None; slots.len()], &mut measured.base)?;
        let each: Vec<_> = slots.iter().copied().map(Some).collect();
        run.mixed(&each, &mut measured.adapted)?;
    }
    for slot in slots {
        run.runner.remove(slot);
    }
    Ok(measured)
}

struct Run<'a, F> {
    runner: &'a mut F,
    config: &'a ModelConfig,
    plan: &'a ThroughputPlan,
}

impl<F: Forward> Run<'_, F> {
    fn prefill(&mut self, timed: &mut Timed) -> Result<()> {
        let n = self.plan.prompt_tokens;
        let item = PackItem {
            token_ids: prompt_ids(self.config, n, 0),
            start: 0,
            adapter: None,
            outputs: vec![(n - 1, OutputSpec::Hidden)],
            blocks: Vec::new(),
        };
        let batch = pack(&[item])?;
        timed.time(n, || self.runner.forward(&batch).map(drop))
    }

    fn mixed(&mut self, adapters: &[Option<AdapterSlot>], timed: &mut Timed) -> Result<()> {
        let each = self.plan.prompt_tokens / adapters.len().max(1);
        let item = |(at, adapter): (usize, &Option<AdapterSlot>)| PackItem {
            token_ids: prompt_ids(self.config, each, at),
            start: 0,
            adapter: *adapter,
            outputs: vec![(each - 1, OutputSpec::Hidden)],
            blocks: Vec::new(),
        };
        let items: Vec<_> = adapters.iter().enumerate().map(item).collect();
        if items.is_empty() {
            return Ok(());
        }
        let batch = pack(&items)?;
        timed.time(batch.n_tokens(), || self.runner.forward(&batch).map(drop))
    }

    /// The context is run first, outside the clock.
    fn decode(&mut self, timed: &mut Timed) -> Result<()> {
        let Run { runner, config, plan } = self;
        let (context, steps) = (plan.context_tokens, plan.decode_steps);
        let each = (context + steps).div_ceil(BLOCK);
        let step = |start: usize, n: usize, read: &[(usize, OutputSpec)]| {
            let item = |at: usize| PackItem {
                token_ids: prompt_ids(config, n, at + start),
                start,
                adapter: None,
                outputs: read.to_vec(),
                blocks: (at * each..(at + 1) * each)
                    .map(|b| BlockId(u32::try_from(b).expect("few blocks")))
                    .collect(),
            };
            pack(&(0..plan.decode_batch).map(item).collect::<Vec<_>>())
        };
        let first = step(0, context, &[])?;
        runner.forward(&first)?;
        let batches: Vec<_> = (0..steps)
            .map(|at| step(context + at, 1, &[(0, OutputSpec::Vocab)]))
            .collect::<Result<_>>()?;
        timed.time(steps * plan.decode_batch, || {
            batches.iter().try_for_each(|batch| runner.forward(batch).map(drop))
        })
    }
}

fn prompt_ids(config: &ModelConfig, n: usize, salt: usize) -> Vec<u32> {
    let vocab = config.vocab_size;
    (0..n)
        .map(|i| {
            u32::try_from((i * 7919 + salt * 104_729) % vocab).expect("a vocabulary is below 2^32")
        })
        .collect()
}
