//! Runs batches: the decoder once over all tokens, then heads over the requested rows.
//!
//! This is the interface to the engine, which uses [`Forward`] and no tensor.

mod check;
mod groups;
mod outputs;
mod shards;

use std::sync::Arc;

use crate::adapter::{Adapter, AdapterTable};
use crate::batch::{AdapterSlot, OutputRow, Outputs, RaggedBatch};
use crate::config::ModelConfig;
use crate::decoder::{Decoder, RowSelection};
use crate::draw::{RowOutput, TokenDraw};
use crate::error::Result;
use crate::head::Head;
use crate::kv::KvCache;
use crate::ops;
use crate::weights::Site;
pub use check::BatchRules;
pub use groups::{HeadOf, OutputGroup, distinct_rows, groups, logprob_targets};
use shards::BatchShards;

/// A model as an engine uses it, or a fake in tests.
pub trait Forward {
    /// Runs one batch and computes the requested outputs, in order.
    ///
    /// # Errors
    /// [`crate::ModelError::Batch`] for a batch that cannot be run, and
    /// [`crate::ModelError::Unavailable`] for an output that the model cannot compute; in both
    /// cases nothing was computed and no KV block was written.
    fn forward(&mut self, batch: &RaggedBatch) -> Result<Outputs>;

    /// Adds an adapter; sequences refer to it by the slot.
    ///
    /// # Errors
    /// [`crate::ModelError::Unavailable`] for an adapter that this forward cannot compute,
    /// [`crate::ModelError::Device`] where its memory is full.
    fn insert(&mut self, adapter: Arc<Adapter>) -> Result<AdapterSlot>;

    /// Removes an adapter. Its slot is refused until another adapter fills it.
    fn remove(&mut self, slot: AdapterSlot) -> Option<Arc<Adapter>>;

    /// Takes weights and adapters anew after host code has written into their tensors, where it
    /// computes with copies on another device. The next step then sees what was written.
    ///
    /// # Errors
    /// [`crate::ModelError::Device`]; the weights are then those of two updates, and no step may
    /// follow.
    fn reload(&mut self) -> Result<()> {
        Ok(())
    }

    /// Whether [`Forward::forward_drawing`] draws tokens.
    fn draws_tokens(&self) -> bool {
        false
    }

    /// Runs one batch and draws tokens in place of logits. `draws` has an entry for each of
    /// [`RaggedBatch::rows`], of which only those that request [`crate::OutputSpec::Vocab`] may be
    /// `Some`. A forward that does not draw gives the logits.
    ///
    /// # Errors
    /// As [`Forward::forward`].
    fn forward_drawing(
        &mut self,
        batch: &RaggedBatch,
        draws: &[Option<TokenDraw>],
    ) -> Result<Vec<RowOutput>> {
        let _ = draws;
        self.forward(batch).map(Into::into)
    }
}

/// So that a forward may be chosen when the program runs.
impl<F: Forward + ?Sized> Forward for Box<F> {
    fn forward(&mut self, batch: &RaggedBatch) -> Result<Outputs> {
        (**self).forward(batch)
    }

    fn insert(&mut self, adapter: Arc<Adapter>) -> Result<AdapterSlot> {
        (**self).insert(adapter)
    }

    fn remove(&mut self, slot: AdapterSlot) -> Option<Arc<Adapter>> {
        (**self).remove(slot)
    }

    fn reload(&mut self) -> Result<()> {
        (**self).reload()
    }

    fn draws_tokens(&self) -> bool {
        (**self).draws_tokens()
    }

    fn forward_drawing(
        &mut self,
        batch: &RaggedBatch,
        draws: &[Option<TokenDraw>],
    ) -> Result<Vec<RowOutput>> {
        (**self).forward_drawing(batch, draws)
    }
}

/// A model with its head, its adapters and its KV blocks.
#[derive(Debug)]
pub struct Runner {
    decoder: Decoder,
    head: Option<Head>,
    adapters: AdapterTable,
    kv: Option<KvCache>,
    shards: BatchShards,
}

impl Runner {
    /// A runner for one-shot batches.
    pub fn new(decoder: Decoder, head: Option<Head>) -> Runner {
        Runner {
            shards: BatchShards::new(decoder.config()),
            decoder,
            head,
            adapters: AdapterTable::default(),
            kv: None,
        }
    }

    /// Adds a cache of `n_blocks` KV blocks, all of them free.
    pub fn with_kv(mut self, n_blocks: usize) -> Result<Runner> {
        self.kv = Some(KvCache::new(self.config(), self.decoder.kv_type(), n_blocks)?);
        Ok(self)
    }

    /// The model's configuration.
    pub fn config(&self) -> &ModelConfig {
        self.decoder.config()
    }

    /// The decoder.
    pub fn decoder(&self) -> &Decoder {
        &self.decoder
    }

    /// Runs decoder and heads over a batch that was checked and whose blocks were copied.
    fn compute(&self, batch: &RaggedBatch) -> Result<Outputs> {
        let segments = self.adapters.segments(batch)?;
        let rows = distinct_rows(&batch.rows);
        let kv = self.kv.as_ref();
        let hidden = self.decoder.forward(batch, &segments, kv, RowSelection::Only(&rows))?;
        self.read(batch, &rows, &hidden)
    }

    fn rules(&self) -> BatchRules<'_> {
        BatchRules {
            config: self.config(),
            adapters: &self.adapters,
            n_blocks: self.kv.as_ref().map(KvCache::n_blocks),
            head_labels: self.head.as_ref().map(Head::n_labels),
        }
    }

    /// The model's own head beside the vocabulary; `None` without one.
    pub fn head(&self) -> Option<&Head> {
        self.head.as_ref()
    }
}

impl Forward for Runner {
    fn forward(&mut self, batch: &RaggedBatch) -> Result<Outputs> {
        self.rules().check(batch)?;
        if let (Some(kv), Some(paging)) = (&self.kv, &batch.paging) {
            kv.layers().iter().try_for_each(|layer| ops::copy_blocks(layer, &paging.copies))?;
        }
        match self.shards.parts(batch) {
            Some(parts) => {
                let outputs = self.shards.run(&parts, |part| self.compute(part));
                in_order(&batch.rows, &parts, outputs)
            }
            // On a thread of the pool: a caller from outside would sleep and wake for every kernel
            // that is split between threads, which takes longer than a small kernel.
            None => rayon::scope(|_| self.compute(batch)),
        }
    }

    fn insert(&mut self, adapter: Arc<Adapter>) -> Result<AdapterSlot> {
        let rounds = |site: &Site| self.decoder.rounds_at(*site);
        let adapter = if adapter.pairs.keys().any(rounds) {
            Arc::new(adapter.rounded_at(rounds)?)
        } else {
            adapter
        };
        Ok(self.adapters.insert(adapter))
    }

    fn remove(&mut self, slot: AdapterSlot) -> Option<Arc<Adapter>> {
        self.adapters.remove(slot)
    }
}

/// Merges the outputs of parts into the order of the batch's rows.
fn in_order(
    rows: &[OutputRow],
    parts: &[RaggedBatch],
    outputs: Vec<Result<Outputs>>,
) -> Result<Outputs> {
    let mut ends = Vec::with_capacity(parts.len());
    let mut streams = Vec::with_capacity(parts.len());
    for (part, outputs) in parts.iter().zip(outputs) {
        ends.push(ends.last().copied().unwrap_or(0) + part.n_sequences());
        streams.push(outputs?.rows.into_iter());
    }
    let next = |row: &OutputRow| {
        let part = ends.partition_point(|end| *end <= row.sequence as usize);
        streams[part].next().expect("a part gives all of its rows")
    };
    Ok(Outputs { rows: rows.iter().map(next).collect() })
}
