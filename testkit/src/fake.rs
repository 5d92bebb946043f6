//! An engine whose model is a function of the tokens.
//!
//! Scheduler, cache and sampling are real; the numbers come from a [`FakeModel`], so that a test can
//! set what a judge believes and check the arithmetic that follows. All outputs of a sequence derive
//! from the same logits, as in a real model.

use std::path::Path;
use std::sync::Arc;

use engine::{Capacity, Engine, EngineConfig, Folder, Host, HostSpec, LoadError, Tokenizer};
use models::adapter::Adapter;
use models::batch::AdapterSlot;
use models::kv::BLOCK;
use models::weights::Storage;
use models::{Forward, ModelError, Output, Outputs, RaggedBatch, Read};

/// A model as a function of the tokens.
pub trait FakeModel: Send {
    /// Logits of the token after `token_ids`: one for each token of the vocabulary.
    fn logits(&self, token_ids: &[u32]) -> Vec<f32>;

    /// Outputs of the score head at the last of `token_ids`.
    fn head(&self, token_ids: &[u32]) -> Vec<f32> {
        let _ = token_ids;
        Vec::new()
    }
}

/// A model that generates given replies, each token with probability 1.
pub struct FakeReplies<F> {
    tokenizer: Arc<Tokenizer>,
    vocab_size: usize,
    reply: F,
}

/// Logit of the reply's next token, the others being 0: enough for a probability of 1 in f32, and
/// too small to overflow.
const CERTAIN: f32 = 60.0;
/// Start of the model's turn in the chat template of the tiny models.
const ASSISTANT_TURN: &str = "<|im_start|>assistant\n";

impl<F: Fn(&str) -> String + Send> FakeReplies<F> {
    /// `reply` maps the prompt, with special tokens and the start of the model's turn, to the reply.
    pub fn new(host: &Host, reply: F) -> Self {
        Self {
            tokenizer: host.tokenizer.clone(),
            vocab_size: host.engine.limits().vocab_size,
            reply,
        }
    }
}

impl<F: Fn(&str) -> String + Send> FakeModel for FakeReplies<F> {
    fn logits(&self, token_ids: &[u32]) -> Vec<f32> {
        let turn = self.tokenizer.encode(ASSISTANT_TURN, false).expect("it is ASCII");
        let begin = (0..=token_ids.len().saturating_sub(turn.len()))
            .rev()
            .find(|at| token_ids[*at..].starts_with(&turn))
            .map_or(token_ids.len(), |at| at + turn.len());
        let (prompt, generated) = token_ids.split_at(begin);
        let prompt = self.tokenizer.decode(prompt, false).expect("known tokens");
        let reply = (self.reply)(&prompt);
        let reply = self.tokenizer.encode(&reply, false).expect("bytes are tokens");
        let end = self.tokenizer.eos_ids().first().copied();
        let next = reply.get(generated.len()).copied().or(end).unwrap_or(0);
        let mut logits = vec![0.0; self.vocab_size];
        logits[next as usize] = CERTAIN;
        logits
    }
}

/// Positions of a fake model, whatever its folder says: it has no position embedding.
const POSITIONS: usize = 1 << 15;

/// Starts a model folder's engine with a fake model in place of its weights. Name, tokenizer and
/// memory are the folder's.
///
/// # Errors
/// [`LoadError`] if the folder cannot be loaded.
pub fn host<M: FakeModel + 'static>(
    name: &str,
    dir: &Path,
    model: impl FnOnce(&Host) -> M,
) -> Result<Host, LoadError> {
    let mut host = Host::load(&HostSpec {
        name: name.to_owned(),
        folder: Folder::directory(dir),
        storage: Storage::default(),
        capacity: Capacity {
            kv_memory: 64 << 20,
            batch_tokens: 4096,
            max_sequences: 64,
            queue_tokens: 1 << 18,
        },
    })?;
    let limits = host.engine.limits().clone();
    let n_blocks = limits.kv_tokens / BLOCK;
    let forward =
        FakeForward { slots: vec![0; n_blocks * BLOCK], adapters: Vec::new(), model: model(&host) };
    let config = EngineConfig {
        n_blocks,
        batch_tokens: 4096,
        max_sequences: 64,
        queue_tokens: limits.queue_tokens,
        max_positions: POSITIONS,
        vocab_size: limits.vocab_size,
        has_vocabulary: limits.has_vocabulary,
        head_labels: limits.head_labels,
    };
    host.engine = Engine::start(forward, config)?;
    Ok(host)
}

/// A forward that remembers the token of every slot of the KV blocks.
struct FakeForward<M> {
    slots: Vec<u32>,
    adapters: Vec<bool>,
    model: M,
}

impl<M: FakeModel> FakeForward<M> {
    fn output(&self, token_ids: &[u32], read: &Read) -> Result<Output, ModelError> {
        let normalizer = |logits: &[f32]| {
            let most = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            most + logits.iter().map(|x| (x - most).exp()).sum::<f32>().ln()
        };
        Ok(match read {
            Read::Head => Output::Head(self.model.head(token_ids)),
            Read::Vocab => Output::Vocab(self.model.logits(token_ids)),
            Read::Labels { columns, mass } => {
                let logits = self.model.logits(token_ids);
                Output::Labels {
                    log_normalizer: mass.then(|| normalizer(&logits)),
                    logits: columns.iter().map(|id| logits[*id as usize]).collect(),
                }
            }
            Read::Logprob(id) => {
                let logits = self.model.logits(token_ids);
                let z = normalizer(&logits);
                let entropy = logits.iter().map(|x| (x - z).exp() * (z - x)).sum();
                Output::Logprob { logprob: logits[*id as usize] - z, entropy }
            }
            Read::Hidden => {
                return Err(ModelError::Batch("a fake model has no hidden states".to_owned()));
            }
        })
    }
}

impl<M: FakeModel> Forward for FakeForward<M> {
    fn forward(&mut self, batch: &RaggedBatch) -> Result<Outputs, ModelError> {
        let paging = batch.paging.as_ref().expect("the engine pages");
        for copy in &paging.copies {
            let (from, to) = (copy.from.0 as usize * BLOCK, copy.to.0 as usize * BLOCK);
            self.slots.copy_within(from..from + BLOCK, to);
        }
        for (slot, token) in paging.slot_mapping.iter().zip(&batch.token_ids) {
            self.slots[*slot as usize] = *token;
        }
        let mut rows = Vec::with_capacity(batch.rows.len());
        for row in &batch.rows {
            let blocks = &paging.block_table[row.sequence as usize];
            let end = batch.positions[row.index as usize] as usize + 1;
            let token = |at: usize| self.slots[blocks[at / BLOCK].0 as usize * BLOCK + at % BLOCK];
            let token_ids: Vec<u32> = (0..end).map(token).collect();
            rows.push(self.output(&token_ids, &row.read)?);
        }
        Ok(Outputs { rows })
    }

    fn insert(&mut self, _: Arc<Adapter>) -> AdapterSlot {
        let free = self.adapters.iter().position(|used| !used);
        let at = free.unwrap_or(self.adapters.len());
        self.adapters.resize(self.adapters.len().max(at + 1), false);
        self.adapters[at] = true;
        AdapterSlot(u32::try_from(at).expect("few adapters"))
    }

    fn remove(&mut self, slot: AdapterSlot) -> Option<Arc<Adapter>> {
        self.adapters[slot.0 as usize] = false;
        None
    }
}
