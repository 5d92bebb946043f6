//! Generations in one batch, against a loop of forwards.
//!
//! Compares the time of the steps that decode all sequences, each from the end of the step before to its
//! own end, with the time of the forward alone on the same tokens.

use std::sync::Arc;
use std::time::Instant;

use engine::{Output, OutputSpec, Request, RequestOutput, SamplingParams, Task, TaskOutput};
use models::{BLOCK, BlockId};
use models::{Forward, PackItem, pack};
use serde::Serialize;

use super::BenchEngineArgs;
use super::clocked::ForwardCall;
use super::figures::{Counts, FigureRow, Figures, float, median};
use super::subject::{Ran, Subject};
use scoring::error::RunError;

/// Sizes of the workload.
#[derive(Clone, Copy, Debug)]
pub(super) struct DecodeSizes {
    pub(super) sequences: usize,
    pub(super) prompt_tokens: usize,
    pub(super) new_tokens: usize,
}

impl DecodeSizes {
    pub(super) fn new(short: bool) -> DecodeSizes {
        DecodeSizes {
            sequences: 16,
            prompt_tokens: if short { 8 } else { 32 },
            new_tokens: if short { 6 } else { 32 },
        }
    }

    /// Tokens that the decoding steps generate: the first of each sequence comes from the prefill.
    pub(super) fn decoded_tokens(self) -> usize {
        self.sequences * (self.new_tokens - 1)
    }

    /// Prompts of random tokens.
    pub(super) fn prompts(self, subject: &mut Subject) -> Vec<Arc<[u32]>> {
        (0..self.sequences).map(|_| subject.random_tokens(self.prompt_tokens).into()).collect()
    }
}

/// Figures of the workload.
#[derive(Debug, Serialize)]
pub(super) struct Decode {
    sequences: usize,
    prompt_tokens: usize,
    new_tokens: usize,
    #[serde(flatten)]
    tokens: Counts,
    /// Seconds of the greedy generations, prefill included.
    seconds: f64,
    raw_tokens_per_s: f64,
    greedy: Rate,
    /// Drawn by temperature 1 and top-p 0.95.
    sampled: Rate,
    same_bits: bool,
}

/// Rate of the decoding steps.
#[derive(Clone, Copy, Debug, Serialize)]
struct Rate {
    tokens_per_s: f64,
    /// In per cent of the forward's rate.
    percent_of_raw: f64,
}

/// A round of each variant.
struct DecodeRound {
    raw: Alone,
    greedy: Generated,
    sampled: Generated,
}

/// Generations and the time of the steps that decoded all of them.
pub(super) struct Generated {
    pub(super) ran: Ran,
    /// The tokens that were generated.
    pub(super) token_ids: Vec<Vec<u32>>,
    /// Times of as many steps as the sizes say.
    pub(super) seconds: f64,
}

impl Decode {
    /// Runs the workload.
    pub(super) fn measure(args: &BenchEngineArgs, subject: &mut Subject) -> Result<Self, RunError> {
        need_vocabulary(subject)?;
        let shape = DecodeSizes::new(args.short);
        let prompts = shape.prompts(subject);
        let rounds: Vec<DecodeRound> = (0..args.rounds)
            .map(|_| round(subject, shape, &prompts))
            .collect::<Result<_, RunError>>()?;
        let of = |seconds: fn(&DecodeRound) -> f64| {
            median(&rounds.iter().map(seconds).collect::<Vec<_>>())
        };
        let raw_seconds = of(|round| round.raw.seconds);
        let seconds = of(|round| round.greedy.ran.seconds);
        let decoded = float(shape.decoded_tokens());
        let rate = |seconds: f64| Rate {
            tokens_per_s: decoded / seconds,
            percent_of_raw: 100.0 * raw_seconds / seconds,
        };
        let first = &rounds[0];
        let computed_tokens = first.greedy.ran.computed_tokens();
        let same = |round: &DecodeRound| {
            round.greedy.token_ids == first.raw.token_ids
                && round.sampled.token_ids == first.sampled.token_ids
        };
        Ok(Self {
            sequences: shape.sequences,
            prompt_tokens: shape.prompt_tokens,
            new_tokens: shape.new_tokens,
            tokens: Counts {
                computed_tokens,
                unique_tokens: shape.sequences * shape.prompt_tokens + shape.decoded_tokens(),
                tokens_per_s: float(computed_tokens) / seconds,
            },
            seconds,
            raw_tokens_per_s: decoded / raw_seconds,
            greedy: rate(of(|round| round.greedy.seconds)),
            sampled: rate(of(|round| round.sampled.seconds)),
            same_bits: rounds.iter().all(same),
        })
    }
}

/// Refuses a model without a vocabulary.
pub(super) fn need_vocabulary(subject: &Subject) -> Result<(), RunError> {
    if subject.loaded.has_vocabulary() {
        return Ok(());
    }
    let what = "the model has no vocabulary head to decode with; `--workload` names others";
    Err(RunError::Usage(what.to_owned()))
}

fn round(
    subject: &mut Subject,
    shape: DecodeSizes,
    prompts: &[Arc<[u32]>],
) -> Result<DecodeRound, RunError> {
    let raw = raw(&mut subject.raw, shape, prompts);
    Ok(DecodeRound {
        raw: raw.map_err(|error| RunError::Failed(error.to_string()))?,
        greedy: generate(subject, shape, prompts, |_| SamplingParams::default())?,
        sampled: generate(subject, shape, prompts, |stream| SamplingParams {
            temperature: 1.0,
            top_p: 0.95,
            stream,
            ..SamplingParams::default()
        })?,
    })
}

/// Generates after all prompts at once; `sampling` is given the index of the prompt.
pub(super) fn generate(
    subject: &mut Subject,
    shape: DecodeSizes,
    prompts: &[Arc<[u32]>],
    sampling: impl Fn(u64) -> SamplingParams,
) -> Result<Generated, RunError> {
    let work = |(at, prompt): (u64, &Arc<[u32]>)| Request {
        token_ids: prompt.clone(),
        adapter: None,
        task: Task::Generate(Box::new(SamplingParams {
            max_tokens: shape.new_tokens,
            ..sampling(at)
        })),
    };
    let terms = subject.cold();
    let ran = subject.run(vec![((0..).zip(prompts).map(work).collect(), terms)])?;
    Ok(Generated {
        token_ids: ran.answers.iter().map(token_ids).collect(),
        seconds: decode_seconds(&ran.steps, shape)?,
        ran,
    })
}

fn token_ids(answer: &RequestOutput) -> Vec<u32> {
    match &answer.output {
        TaskOutput::Tokens { tokens, .. } => tokens.iter().map(|token| token.token_id).collect(),
        TaskOutput::Rows(_) => Vec::new(),
    }
}

/// Returns the time of the steps that decoded all sequences, with the time before each, scaled to the
/// number of steps of the shape.
fn decode_seconds(steps: &[ForwardCall], shape: DecodeSizes) -> Result<f64, RunError> {
    let whole = |step: &ForwardCall| {
        step.n_tokens == shape.sequences && step.n_sequences == shape.sequences
    };
    let pairs = steps.windows(2).filter(|pair| whole(&pair[1]));
    let seconds: Vec<f64> = pairs.map(|pair| (pair[1].end - pair[0].end).as_secs_f64()).collect();
    if seconds.is_empty() {
        return Err(RunError::Failed(format!(
            "the engine never decoded {} sequences in one step",
            shape.sequences
        )));
    }
    let mean = seconds.iter().sum::<f64>() / float(seconds.len());
    Ok(mean * float(shape.new_tokens - 1))
}

/// A run of the forward alone.
struct Alone {
    /// Seconds in the forwards of the decoding steps.
    seconds: f64,
    token_ids: Vec<Vec<u32>>,
}

/// Decodes greedily over KV blocks. Packing and sampling are not measured.
fn raw(
    runner: &mut impl Forward,
    shape: DecodeSizes,
    prompts: &[Arc<[u32]>],
) -> models::Result<Alone> {
    let each = (shape.prompt_tokens + shape.new_tokens).div_ceil(BLOCK);
    let block = |at: usize| BlockId(u32::try_from(at).expect("few blocks"));
    let item = |at: usize, token_ids: &[u32], start: usize| PackItem {
        token_ids: token_ids.to_vec(),
        start,
        adapter: None,
        outputs: vec![(token_ids.len() - 1, OutputSpec::Vocab)],
        blocks: (at * each..(at + 1) * each).map(block).collect(),
    };
    let mut alone = Alone { seconds: 0.0, token_ids: vec![Vec::new(); prompts.len()] };
    let prefill: Vec<PackItem> = (0..).zip(prompts).map(|(at, ids)| item(at, ids, 0)).collect();
    alone.append(&runner.forward(&pack(&prefill)?)?.rows);
    for step in 0..shape.new_tokens - 1 {
        let next = |(at, ids): (usize, &Vec<u32>)| {
            item(at, &ids[ids.len() - 1..], shape.prompt_tokens + step)
        };
        let items: Vec<PackItem> = (0..).zip(&alone.token_ids).map(next).collect();
        let batch = pack(&items)?;
        let begin = Instant::now();
        let outputs = runner.forward(&batch)?;
        alone.seconds += begin.elapsed().as_secs_f64();
        alone.append(&outputs.rows);
    }
    Ok(alone)
}

impl Alone {
    fn append(&mut self, outputs: &[Output]) {
        for (ids, output) in self.token_ids.iter_mut().zip(outputs) {
            ids.extend(most_likely(output));
        }
    }
}

/// The first of the largest logits.
fn most_likely(output: &Output) -> Option<u32> {
    let Output::Vocab(logits) = output else {
        return None;
    };
    let mut best = (0, f32::NEG_INFINITY);
    for (id, logit) in (0..).zip(logits) {
        if *logit > best.1 {
            best = (id, *logit);
        }
    }
    Some(best.0)
}

impl Figures for Decode {
    fn rows(&self) -> Vec<FigureRow> {
        let plain = |name, figure| FigureRow::plain("decode", name, figure);
        let rate = |rate: Rate| format!("{:.1} tokens/s", rate.tokens_per_s);
        let share = |name, rate: Rate| {
            plain(name, format!("{:.1} %", rate.percent_of_raw))
                .against("90 %", rate.percent_of_raw >= 90.0)
        };
        vec![
            plain(
                "forward alone",
                format!("{:.1} tokens/s in a batch of {}", self.raw_tokens_per_s, self.sequences),
            ),
            plain("greedy", rate(self.greedy)),
            share("greedy / forward alone", self.greedy),
            plain("top-p 0.95", rate(self.sampled)),
            share("top-p 0.95 / forward alone", self.sampled),
            plain("with the prefill", format!("{:.3} s", self.seconds)),
        ]
    }

    fn tokens(&self) -> Counts {
        self.tokens
    }

    fn failed(&self) -> bool {
        !self.same_bits
    }
}
