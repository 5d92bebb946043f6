//! An engine whose model is a function of the tokens, for tests of the layers above engines.
//!
//! Scheduler, cache and sampling are the real ones; only the numbers come from a [`Script`], so
//! that a test can set a judge's probabilities and check the arithmetic on them. All outputs of a
//! sequence follow from the same logits, as in a model.

use std::path::Path;
use std::sync::Arc;

use chat::{Folder, Tokenizer};
use engine::{Capacity, Device, DeviceModel, Engine, EngineConfig, Host, HostSpec, LoadError};
use models::BLOCK;
use models::LoadOptions;
use models::adapter::Adapter;
use models::batch::AdapterSlot;
use models::batch::OutputRow;
use models::{Forward, ModelError, Output, OutputSpec, Outputs, RaggedBatch};

/// The numbers of a scripted model.
pub trait Script: Send {
    /// Logits of the next token, given all tokens so far: one per token of the vocabulary.
    fn logits(&self, token_ids: &[u32]) -> Vec<f32>;

    /// The outputs of the model's own head at the last of these tokens.
    fn head(&self, token_ids: &[u32]) -> Vec<f32> {
        let _ = token_ids;
        Vec::new()
    }
}

/// A model that replies with texts, one token after the other and each with certainty.
pub struct Replies<F> {
    tokenizer: Arc<Tokenizer>,
    vocab_size: usize,
    reply: F,
}

/// Margin of a reply's tokens over all others in logits: enough for a probability of 1 in f32, and
/// small enough that nothing overflows.
const CERTAIN: f32 = 60.0;
/// The beginning of the model's turn in the template of generated models.
const TURN: &str = "<|im_start|>assistant\n";

impl<F: Fn(&str) -> String + Send> Replies<F> {
    /// `reply` receives the prompt, including special tokens, up to the beginning of the model's
    /// turn.
    pub fn new(host: &Host, reply: F) -> Self {
        Self {
            tokenizer: host.tokenizer.clone(),
            vocab_size: host.engine.limits().vocab_size,
            reply,
        }
    }
}

impl<F: Fn(&str) -> String + Send> Replies<F> {
    /// The token after these.
    fn next(&self, token_ids: &[u32]) -> u32 {
        let turn = self.tokenizer.encode(TURN, false).expect("it is ASCII");
        let begin = (0..=token_ids.len().saturating_sub(turn.len()))
            .rev()
            .find(|at| token_ids[*at..].starts_with(&turn))
            .map_or(token_ids.len(), |at| at + turn.len());
        let (prompt, said) = token_ids.split_at(begin);
        let prompt = self.tokenizer.decode(prompt, false).expect("known tokens");
        let reply = (self.reply)(&prompt);
        let reply = self.tokenizer.encode(&reply, false).expect("bytes are tokens");
        let end = self.tokenizer.eos_ids().first().copied();
        reply.get(said.len()).copied().or(end).unwrap_or(0)
    }
}

impl<F: Fn(&str) -> String + Send> Script for Replies<F> {
    fn logits(&self, token_ids: &[u32]) -> Vec<f32> {
        let mut logits = vec![0.0; self.vocab_size];
        logits[self.next(token_ids) as usize] = CERTAIN;
        logits
    }
}

/// Positions of a scripted model, independent of its folder: a script has no embedding to run out
/// of.
const POSITIONS: usize = 1 << 15;

/// Starts a model folder's engine with a script in place of its weights. Names, tokenizer and
/// memory are the folder's.
///
/// # Errors
/// [`LoadError`].
pub fn host<S: Script + 'static>(
    name: &str,
    dir: &Path,
    script: impl FnOnce(&Host) -> S,
) -> Result<Host, LoadError> {
    let mut host = Host::load(&HostSpec {
        name: name.to_owned(),
        folder: Folder::directory(dir),
        options: LoadOptions::default(),
        device: Device::Cpu,
        capacity: Capacity {
            kv_memory: 64 << 20,
            batch_tokens: 4096,
            max_sequences: 64,
            queue_tokens: 1 << 18,
        },
    })?;
    let limits = host.engine.limits().clone();
    let n_blocks = limits.kv_tokens / BLOCK;
    let scripted =
        Scripted { slots: TokenSlots::new(n_blocks), adapters: Vec::new(), script: script(&host) };
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
    host.engine = Engine::start(scripted, config)?;
    Ok(host)
}

/// A margin of a reply's tokens in logits of tiny models that leaves something to the numbers of the model.
const LEANING: f32 = 16.0;

/// Starts a model folder's engine on a device, and lets it say a text: the logits of the text's next token, and those of labels
/// that are read, are raised by a margin. All else is what the model computes there.
///
/// # Errors
/// [`LoadError`].
pub fn leaning<F>(name: &str, dir: &Path, device: &Device, reply: F) -> Result<Host, LoadError>
where
    F: Fn(&str) -> String + Send + 'static,
{
    let (folder, options) = (Folder::directory(dir), LoadOptions::default());
    let capacity = Capacity {
        kv_memory: 8 << 20,
        batch_tokens: 256,
        max_sequences: 16,
        queue_tokens: 1 << 18,
    };
    let mut host = Host::load(&HostSpec {
        name: name.to_owned(),
        folder: folder.clone(),
        options,
        device: device.clone(),
        capacity,
    })?;
    let limits = host.engine.limits().clone();
    let n_blocks = limits.kv_tokens / BLOCK;
    let leaning = Leaning {
        inner: DeviceModel::load(&folder, &options, device)?.forward(n_blocks)?,
        slots: TokenSlots::new(n_blocks),
        replies: Replies::new(&host, reply),
    };
    let config = EngineConfig {
        n_blocks,
        batch_tokens: capacity.batch_tokens,
        max_sequences: capacity.max_sequences,
        queue_tokens: limits.queue_tokens,
        max_positions: limits.max_positions,
        vocab_size: limits.vocab_size,
        has_vocabulary: limits.has_vocabulary,
        head_labels: limits.head_labels,
    };
    host.engine = Engine::start(leaning, config)?;
    Ok(host)
}

/// A forward whose numbers lean to a text.
struct Leaning<F> {
    inner: Box<dyn Forward + Send>,
    slots: TokenSlots,
    replies: Replies<F>,
}

impl<F: Fn(&str) -> String + Send> Forward for Leaning<F> {
    fn forward(&mut self, batch: &RaggedBatch) -> Result<Outputs, ModelError> {
        let mut outputs = self.inner.forward(batch)?;
        self.slots.record(batch);
        for (row, output) in batch.rows.iter().zip(&mut outputs.rows) {
            match output {
                Output::Vocab(logits) => {
                    let next = self.replies.next(&self.slots.before(batch, row));
                    logits[next as usize] += LEANING;
                }
                Output::Labels { logits, log_normalizer } => {
                    if let Some(normalizer) = log_normalizer {
                        let mass: f32 = logits.iter().map(|x| (x - *normalizer).exp()).sum();
                        *normalizer += (mass * LEANING.exp_m1()).ln_1p();
                    }
                    for logit in logits {
                        *logit += LEANING;
                    }
                }
                Output::Head(_) | Output::Hidden(_) | Output::Logprob { .. } => {}
            }
        }
        Ok(outputs)
    }

    fn insert(&mut self, adapter: Arc<Adapter>) -> Result<AdapterSlot, ModelError> {
        self.inner.insert(adapter)
    }

    fn remove(&mut self, slot: AdapterSlot) -> Option<Arc<Adapter>> {
        self.inner.remove(slot)
    }

    fn reload(&mut self) -> Result<(), ModelError> {
        self.inner.reload()
    }
}

/// The token of every slot of the KV blocks.
struct TokenSlots(Vec<u32>);

impl TokenSlots {
    fn new(n_blocks: usize) -> Self {
        Self(vec![0; n_blocks * BLOCK])
    }

    /// Copies blocks and writes tokens as the batch does.
    fn record(&mut self, batch: &RaggedBatch) {
        let paging = batch.paging.as_ref().expect("the engine pages");
        for copy in &paging.copies {
            let (from, to) = (copy.from.0 as usize * BLOCK, copy.to.0 as usize * BLOCK);
            self.0.copy_within(from..from + BLOCK, to);
        }
        for (slot, token) in paging.slot_mapping.iter().zip(&batch.token_ids) {
            self.0[*slot as usize] = *token;
        }
    }

    /// The tokens of a row's sequence up to the row.
    fn before(&self, batch: &RaggedBatch, row: &OutputRow) -> Vec<u32> {
        let paging = batch.paging.as_ref().expect("the engine pages");
        let blocks = &paging.block_table[row.sequence as usize];
        let end = batch.positions[row.index as usize] as usize + 1;
        let token = |at: usize| self.0[blocks[at / BLOCK].0 as usize * BLOCK + at % BLOCK];
        (0..end).map(token).collect()
    }
}

struct Scripted<S> {
    slots: TokenSlots,
    adapters: Vec<bool>,
    script: S,
}

impl<S: Script> Scripted<S> {
    fn output(&self, token_ids: &[u32], read: &OutputSpec) -> Result<Output, ModelError> {
        let normalizer = |logits: &[f32]| {
            let most = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            most + logits.iter().map(|x| (x - most).exp()).sum::<f32>().ln()
        };
        Ok(match read {
            OutputSpec::Head => Output::Head(self.script.head(token_ids)),
            OutputSpec::Vocab => Output::Vocab(self.script.logits(token_ids)),
            OutputSpec::Labels { columns, mass } => {
                let logits = self.script.logits(token_ids);
                Output::Labels {
                    log_normalizer: mass.then(|| normalizer(&logits)),
                    logits: columns.iter().map(|id| logits[*id as usize]).collect(),
                }
            }
            OutputSpec::Logprob(id) => {
                let logits = self.script.logits(token_ids);
                let z = normalizer(&logits);
                let entropy = logits.iter().map(|x| (x - z).exp() * (z - x)).sum();
                Output::Logprob { logprob: logits[*id as usize] - z, entropy }
            }
            OutputSpec::Hidden => {
                return Err(ModelError::Batch("a script has no hidden states".to_owned()));
            }
        })
    }
}

impl<S: Script> Forward for Scripted<S> {
    fn forward(&mut self, batch: &RaggedBatch) -> Result<Outputs, ModelError> {
        self.slots.record(batch);
        let output = |row| self.output(&self.slots.before(batch, row), &row.output);
        Ok(Outputs { rows: batch.rows.iter().map(output).collect::<Result<_, _>>()? })
    }

    fn insert(&mut self, _: Arc<Adapter>) -> Result<AdapterSlot, ModelError> {
        let free = self.adapters.iter().position(|used| !used);
        let at = free.unwrap_or(self.adapters.len());
        self.adapters.resize(self.adapters.len().max(at + 1), false);
        self.adapters[at] = true;
        Ok(AdapterSlot(u32::try_from(at).expect("few adapters")))
    }

    fn remove(&mut self, slot: AdapterSlot) -> Option<Arc<Adapter>> {
        self.adapters[slot.0 as usize] = false;
        None
    }
}
