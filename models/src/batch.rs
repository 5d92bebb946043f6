//! Packed batches: host data that lists the tokens to run and the outputs to compute from rows.
//!
//! A batch carries no request ids: callers keep them in a list parallel to its sequences.

use std::sync::Arc;

use crate::error::{ModelError, Result};
use crate::kernels::kv_block::{BLOCK, BlockCopy, BlockId};

/// The adapter of a sequence: an index into the forward's adapter table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AdapterSlot(pub u32);

/// One sequence's part of a batch.
#[derive(Clone, Debug)]
pub struct PackItem {
    /// The tokens to run now. Tokens before them may already be in the KV blocks.
    pub token_ids: Vec<u32>,
    /// Position of the first of `token_ids`: the number of tokens that the KV blocks already hold.
    pub start: usize,
    /// The adapter; `None` for the base model.
    pub adapter: Option<AdapterSlot>,
    /// The outputs to compute, each with an index into `token_ids`.
    pub outputs: Vec<(usize, OutputSpec)>,
    /// The KV blocks in order of position, with room for `start + token_ids.len()` tokens; empty
    /// for a one-shot forward without KV.
    pub blocks: Vec<BlockId>,
}

/// An output to compute from a row's last hidden state.
#[derive(Clone, Debug, PartialEq)]
pub enum OutputSpec {
    /// The model's own head, or the adapter's if it has one: scalar, labels or step scores.
    Head,
    /// Logits over the vocabulary.
    Vocab,
    /// Logits of these token ids only.
    Labels {
        /// The label tokens.
        columns: Arc<[u32]>,
        /// Whether to compute log Σ exp over the vocabulary too, from which the label mass follows.
        mass: bool,
    },
    /// Log-probability of this next token, and the entropy of its distribution, in nats.
    Logprob(u32),
    /// The last hidden state itself, after the final norm.
    Hidden,
}

/// A row and the output to compute from it.
#[derive(Clone, Debug, PartialEq)]
pub struct OutputRow {
    /// Row of the packed batch, in `0..T`.
    pub index: u32,
    /// The sequence that the row belongs to.
    pub sequence: u32,
    /// The output to compute.
    pub output: OutputSpec,
}

/// Sequences packed end to end: `T` tokens of `B` sequences, no padding.
#[derive(Clone, Debug, Default)]
pub struct RaggedBatch {
    /// `[T]` token ids.
    pub token_ids: Vec<u32>,
    /// `[T]` absolute positions within their own sequence.
    pub positions: Vec<u32>,
    /// `[B + 1]` running sums of the tokens run now.
    pub cu_seqlens_q: Vec<u32>,
    /// `[B + 1]` running sums of all tokens attended to, those in KV included.
    pub cu_seqlens_k: Vec<u32>,
    /// `[R]` rows to read, in the order of the items and their reads.
    pub rows: Vec<OutputRow>,
    /// `[B]` adapters.
    pub adapters: Vec<Option<AdapterSlot>>,
    /// KV blocks and slots; `None` for a one-shot forward.
    pub paging: Option<Paging>,
    /// Prefix rows shared between sequences; `None` if nothing is shared. See
    /// [`pack_shared`](crate::pack_shared).
    pub sharing: Option<Sharing>,
}

/// Rows shared between the sequences of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sharing {
    /// `[B + 1]` running sums of the sequences' lengths, shared tokens included.
    pub cu_seqlens: Vec<u32>,
    /// `[cu_seqlens[B]]` the row of each token of each sequence.
    pub rows: Vec<u32>,
}

/// The place of a batch's keys and values.
#[derive(Clone, Debug, Default)]
pub struct Paging {
    /// The blocks of each sequence in order of position.
    pub block_table: Vec<Vec<BlockId>>,
    /// `[T]` slot for each new token's key and value: `block * BLOCK + offset`.
    pub slot_mapping: Vec<u32>,
    /// Blocks to copy before the computation, in this order. A sequence that shares part of a block
    /// starts with its own copy of it. [`pack`] leaves the list empty.
    pub copies: Vec<BlockCopy>,
}

/// The result of a forward: one output per requested row, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outputs {
    /// One for each of [`RaggedBatch::rows`].
    pub rows: Vec<Output>,
}

/// The value of one [`OutputSpec`].
#[derive(Clone, Debug, PartialEq)]
pub enum Output {
    /// The head's raw outputs, one per label.
    Head(Vec<f32>),
    /// One logit per token of the vocabulary.
    Vocab(Vec<f32>),
    /// One logit per requested column.
    Labels {
        /// The logits, in the order of the columns.
        logits: Vec<f32>,
        /// log Σ exp over the vocabulary, if requested.
        log_normalizer: Option<f32>,
    },
    /// The log-probability of the requested token, in nats.
    Logprob {
        /// log p(token).
        logprob: f32,
        /// −Σ p log p over the vocabulary.
        entropy: f32,
    },
    /// The last hidden state.
    Hidden(Vec<f32>),
}

impl RaggedBatch {
    /// Tokens in the batch.
    pub fn n_tokens(&self) -> usize {
        self.token_ids.len()
    }

    /// Sequences in the batch.
    pub fn n_sequences(&self) -> usize {
        self.adapters.len()
    }
}

/// Packs items in the given order.
///
/// # Errors
/// [`ModelError::Batch`] for an item without tokens, an output beyond its tokens, too few blocks,
/// or items with blocks beside items without.
pub fn pack(items: &[PackItem]) -> Result<RaggedBatch> {
    let mut batch =
        RaggedBatch { cu_seqlens_q: vec![0], cu_seqlens_k: vec![0], ..RaggedBatch::default() };
    let paged = items.iter().any(|item| !item.blocks.is_empty());
    let mut paging = Paging::default();
    for (index, item) in items.iter().enumerate() {
        check_item(index, item, paged)?;
        if paged {
            paging.push(item);
        }
        batch.push(item);
    }
    batch.paging = paged.then_some(paging);
    Ok(batch)
}

impl RaggedBatch {
    fn push(&mut self, item: &PackItem) {
        let first = as_u32(self.token_ids.len());
        let sequence = as_u32(self.adapters.len());
        let n = item.token_ids.len();
        self.token_ids.extend_from_slice(&item.token_ids);
        self.positions.extend((item.start..item.start + n).map(as_u32));
        self.cu_seqlens_q.push(first + as_u32(n));
        let keys = self.cu_seqlens_k.last().copied().unwrap_or(0);
        self.cu_seqlens_k.push(keys + as_u32(item.start + n));
        self.adapters.push(item.adapter);
        self.rows.extend(item.outputs.iter().map(|(at, spec)| OutputRow {
            index: first + as_u32(*at),
            sequence,
            output: spec.clone(),
        }));
    }
}

impl Paging {
    fn push(&mut self, item: &PackItem) {
        self.slot_mapping.extend((item.start..item.start + item.token_ids.len()).map(|position| {
            let block = item.blocks[position / BLOCK].0 as usize;
            as_u32(block * BLOCK + position % BLOCK)
        }));
        self.block_table.push(item.blocks.clone());
    }
}

fn check_item(index: usize, item: &PackItem, paged: bool) -> Result<()> {
    let n = item.token_ids.len();
    let fail = |what: String| Err(ModelError::Batch(format!("sequence {index}: {what}")));
    if n == 0 {
        return fail("no tokens".into());
    }
    if let Some((at, _)) = item.outputs.iter().find(|(at, _)| *at >= n) {
        return fail(format!("row {at} is read, and it has {n} tokens"));
    }
    let room = item.blocks.len() * BLOCK;
    if paged && room < item.start + n {
        return fail(format!("its blocks have room for {room} tokens of {}", item.start + n));
    }
    if !paged && item.start > 0 {
        return fail(format!("it starts at position {} and has no blocks", item.start));
    }
    Ok(())
}

fn as_u32(n: usize) -> u32 {
    u32::try_from(n).expect("a batch has fewer than 2^32 tokens and slots")
}
