//! A model behind an engine with a small KV memory and short steps, and behind a bare runner, whose
//! outputs are the reference for the engine's.

use std::sync::Arc;

use engine::{Engine, Output, OutputSpec, Request, RequestOutput, RequestParams, Task, TaskOutput};
use models::{Forward as _, PackItem, pack};
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

use benchmarks::{AnyForward, EngineSizes, LoadedModel};

/// Tokens that the KV memory holds.
const KV_TOKENS: usize = 2048;

/// Tokens of a step: fewer than most examined sequences have, so that they are computed in pieces
/// and beside each other.
const BATCH_TOKENS: usize = 48;

/// Positions of an examined sequence, as far as the model has them.
const MOST_TOKENS: usize = 320;

/// A model behind an engine and behind a runner. Errors are sentences.
pub(super) struct ProbeEngine<'a> {
    pub(super) loaded: &'a LoadedModel,
    pub(super) engine: Engine,
    runner: AnyForward,
    random: ChaCha8Rng,
    next_salt: u64,
}

/// Tokens, and the outputs that are read of them.
#[derive(Clone, Debug)]
pub(super) struct ProbeSequence {
    pub(super) token_ids: Arc<[u32]>,
    pub(super) reads: Vec<(usize, OutputSpec)>,
}

impl<'a> ProbeEngine<'a> {
    pub(super) fn new(loaded: &'a LoadedModel) -> Result<ProbeEngine<'a>, String> {
        let sizes = EngineSizes {
            kv_tokens: KV_TOKENS,
            batch_tokens: BATCH_TOKENS,
            max_sequences: 64,
            queue_tokens: 1 << 16,
        };
        let runner = || loaded.runner(KV_TOKENS).map_err(|error| error.to_string());
        let engine = loaded.engine(runner()?, sizes);
        Ok(ProbeEngine {
            loaded,
            engine: engine.map_err(|error| error.to_string())?,
            runner: runner()?,
            random: ChaCha8Rng::seed_from_u64(0),
            next_salt: 0,
        })
    }

    /// Maximum length of a sequence.
    pub(super) fn most_tokens(&self) -> usize {
        self.loaded.model.config.max_positions.min(MOST_TOKENS)
    }

    /// Random tokens.
    pub(super) fn tokens(&mut self, n: usize) -> Vec<u32> {
        let vocab_size = self.loaded.model.config.vocab_size;
        let last = u32::try_from(vocab_size - 1).expect("a vocabulary is below 2^32");
        (0..n).map(|_| self.random.random_range(0..=last)).collect()
    }

    /// A sequence with everything read of it that the model can give.
    pub(super) fn sequence(&self, token_ids: Vec<u32>) -> ProbeSequence {
        let last = token_ids.len() - 1;
        let mut reads = vec![(last / 2, OutputSpec::Hidden), (last, OutputSpec::Hidden)];
        if self.loaded.model.head_labels.is_some() {
            reads.push((last, OutputSpec::Head));
        }
        if self.loaded.has_vocabulary() {
            let columns: Arc<[u32]> = Arc::new([token_ids[0], token_ids[last]]);
            reads.push((last, OutputSpec::Labels { columns, mass: true }));
            reads.extend((0..last).map(|at| (at, OutputSpec::Logprob(token_ids[at + 1]))));
            reads.push((last, OutputSpec::Vocab));
        }
        ProbeSequence { token_ids: token_ids.into(), reads }
    }

    /// Parameters with a new cache salt, so that nothing is in the cache.
    pub(super) fn uncached(&mut self) -> RequestParams {
        self.next_salt += 1;
        RequestParams { salt: self.next_salt, ..RequestParams::default() }
    }

    /// What the runner gives of one sequence: alone, in one piece, without an engine or KV blocks.
    pub(super) fn alone(&mut self, sequence: &ProbeSequence) -> Result<Vec<Output>, String> {
        let item = PackItem {
            token_ids: sequence.token_ids.to_vec(),
            start: 0,
            adapter: None,
            outputs: sequence.reads.clone(),
            blocks: Vec::new(),
        };
        let outputs = pack(&[item]).and_then(|batch| self.runner.forward(&batch));
        outputs.map(|o| o.rows).map_err(|error| error.to_string())
    }

    /// What the engine gives of sequences that arrive together, each under an adapter or none.
    pub(super) fn run_all(
        &self,
        sequences: &[(&ProbeSequence, Option<&Arc<str>>)],
        terms: RequestParams,
    ) -> Result<Vec<RequestOutput>, String> {
        let work = |(sequence, adapter): &(&ProbeSequence, Option<&Arc<str>>)| Request {
            token_ids: sequence.token_ids.clone(),
            adapter: adapter.cloned(),
            task: Task::Rows(sequence.reads.clone()),
        };
        self.answers(sequences.iter().map(work).collect(), terms)
    }

    /// The answers to works that arrive together.
    pub(super) fn answers(
        &self,
        works: Vec<Request>,
        terms: RequestParams,
    ) -> Result<Vec<RequestOutput>, String> {
        let ticket = self.engine.submit(works, terms);
        let answers = ticket.map_err(|error| error.to_string())?.wait();
        let answers = answers.into_iter().collect::<Result<Vec<_>, _>>();
        answers.map_err(|error| error.to_string())
    }
}

/// The outputs of a request for rows.
pub(super) fn rows(answer: &RequestOutput) -> Result<&[Output], String> {
    match &answer.output {
        TaskOutput::Rows(rows) => Ok(rows),
        TaskOutput::Tokens { .. } => Err("the engine gave tokens in place of rows".to_owned()),
    }
}
