//! The measured model, behind an engine and behind a bare runner, and the source of their tokens.

use std::sync::Arc;
use std::time::Instant;

use engine::{
    Device, Engine, Output, OutputSpec, Request, RequestOutput, RequestParams, TaskOutput,
};
use models::{Forward as _, PackItem, pack};
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

use super::BenchEngineArgs;
use super::clocked::{Clocked, ForwardCall, StepLog};
use crate::loaded::{AnyForward, EngineSizes, LoadedModel, open};
use scoring::error::RunError;

/// Tokens that the bare runner's KV memory holds: more than any workload decodes.
const RAW_KV_TOKENS: usize = 2048;

/// A limit of queued tokens that is never reached.
pub(super) const NO_QUEUE_LIMIT: usize = 1 << 24;

/// A model behind an engine, and its runner alone.
pub(super) struct Subject {
    pub(super) loaded: LoadedModel,
    pub(super) engine: Engine,
    pub(super) raw: AnyForward,
    pub(super) device: Device,
    log: StepLog,
    tokens: ChaCha8Rng,
    next_salt: u64,
}

/// One run of requests to their end.
pub(super) struct Ran {
    /// In the order of the requests.
    pub(super) answers: Vec<RequestOutput>,
    /// From the submission to the last answer.
    pub(super) seconds: f64,
    /// The engine's steps.
    pub(super) steps: Vec<ForwardCall>,
}

impl Ran {
    /// Tokens run through the model.
    pub(super) fn computed_tokens(&self) -> usize {
        let computed = |answer: &RequestOutput| answer.usage.computed_tokens;
        self.answers.iter().map(computed).sum()
    }
}

impl Subject {
    /// Loads the model and starts its engine.
    pub(super) fn start(args: &BenchEngineArgs) -> Result<Subject, RunError> {
        let device = open(args.device)?;
        let loaded = LoadedModel::read(&args.model, &args.load_options(), &device)
            .map_err(|error| RunError::Failed(error.to_string()))?;
        let sizes = EngineSizes {
            kv_tokens: args.kv_tokens as usize,
            batch_tokens: args.batch_tokens as usize,
            max_sequences: 1024,
            queue_tokens: NO_QUEUE_LIMIT,
        };
        let (forward, log) = Clocked::new(loaded.runner(sizes.kv_tokens)?);
        Ok(Subject {
            engine: loaded.engine(forward, sizes)?,
            raw: loaded.runner(RAW_KV_TOKENS)?,
            device,
            loaded,
            log,
            tokens: ChaCha8Rng::seed_from_u64(args.seed),
            next_salt: 1,
        })
    }

    /// Draws new random tokens.
    pub(super) fn random_tokens(&mut self, n: usize) -> Vec<u32> {
        let vocab_size = self.loaded.model.config.vocab_size;
        let last = u32::try_from(vocab_size - 1).expect("a vocabulary is below 2^32");
        (0..n).map(|_| self.tokens.random_range(0..=last)).collect()
    }

    /// Parameters with a new cache salt, so that nothing is in the cache.
    pub(super) fn cold(&mut self) -> RequestParams {
        self.next_salt += 1;
        RequestParams { salt: self.next_salt, ..RequestParams::default() }
    }

    /// The output of a verdict at one position: two labels of the vocabulary, else the head, else the
    /// hidden state.
    pub(super) fn verdict(&self) -> OutputSpec {
        if !self.loaded.has_vocabulary() {
            return self.score();
        }
        let vocab_size = self.loaded.model.config.vocab_size;
        let id = |id: usize| u32::try_from(id).expect("a vocabulary is below 2^32");
        OutputSpec::Labels {
            columns: Arc::new([id(vocab_size / 3), id(vocab_size / 2)]),
            mass: true,
        }
    }

    /// The output of a score at one position: the head, else a verdict, else the hidden state.
    pub(super) fn score(&self) -> OutputSpec {
        if self.loaded.model.head_labels.is_some() {
            OutputSpec::Head
        } else if self.loaded.has_vocabulary() {
            self.verdict()
        } else {
            OutputSpec::Hidden
        }
    }

    /// Runs lists of requests to their end, each list as one submission.
    pub(super) fn run(
        &self,
        submissions: Vec<(Vec<Request>, RequestParams)>,
    ) -> Result<Ran, RunError> {
        self.log.take();
        let begin = Instant::now();
        let mut tickets = Vec::with_capacity(submissions.len());
        for (works, terms) in submissions {
            let ticket = self.engine.submit(works, terms);
            tickets.push(ticket.map_err(|error| RunError::Failed(error.to_string()))?);
        }
        let mut answers = Vec::new();
        for ticket in tickets {
            for answer in ticket.wait() {
                answers.push(answer.map_err(|error| RunError::Failed(error.to_string()))?);
            }
        }
        Ok(Ran { answers, seconds: begin.elapsed().as_secs_f64(), steps: self.log.take() })
    }

    /// Runs one batch of complete sequences in the bare runner. Returns the seconds, and the output at
    /// the last token of each sequence.
    pub(super) fn forward(
        &mut self,
        sequences: &[Arc<[u32]>],
        read: &OutputSpec,
    ) -> Result<(f64, Vec<Output>), RunError> {
        let item = |token_ids: &Arc<[u32]>| PackItem {
            token_ids: token_ids.to_vec(),
            start: 0,
            adapter: None,
            outputs: vec![(token_ids.len() - 1, read.clone())],
            blocks: Vec::new(),
        };
        let items: Vec<PackItem> = sequences.iter().map(item).collect();
        let batch = pack(&items).map_err(|error| RunError::Failed(error.to_string()))?;
        let begin = Instant::now();
        let outputs = self.raw.forward(&batch);
        let seconds = begin.elapsed().as_secs_f64();
        let outputs = outputs.map_err(|error| RunError::Failed(error.to_string()))?;
        Ok((seconds, outputs.rows))
    }
}

/// Returns the output of a request for one row.
pub(super) fn only_row(answer: &RequestOutput) -> Option<&Output> {
    match &answer.output {
        TaskOutput::Rows(rows) => rows.first(),
        TaskOutput::Tokens { .. } => None,
    }
}
