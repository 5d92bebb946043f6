//! Batches of the workloads that are measured.

use std::sync::Arc;

use models::batch::AdapterSlot;
use models::{
    BLOCK, BlockCopy, BlockId, OutputSpec, PackItem, RaggedBatch, RandomDraw, TokenDraw, pack,
};

use crate::lines::Trouble;

/// Distinct random tokens.
#[derive(Debug)]
pub(crate) struct Tokens {
    next: u32,
    vocabulary: u32,
}

impl Tokens {
    pub(crate) fn new(vocabulary: usize) -> Tokens {
        let vocabulary = u32::try_from(vocabulary).unwrap_or(u32::MAX);
        Tokens { next: 7, vocabulary }
    }

    fn take(&mut self, n: usize) -> Vec<u32> {
        let mut one = || {
            self.next = self.next.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (self.next >> 8) % self.vocabulary
        };
        (0..n).map(|_| one()).collect()
    }
}

/// Two labels, as a judge has.
fn labels() -> OutputSpec {
    OutputSpec::Labels { columns: Arc::from([5, 9]), mass: false }
}

/// Blocks from `first` on.
fn blocks(first: usize, n: usize) -> Vec<BlockId> {
    (first..first + n).map(|id| BlockId(u32::try_from(id).unwrap_or(u32::MAX))).collect()
}

/// Adapters of sequences: none, or these many in turn.
fn adapter(of: Option<u32>, at: usize) -> Option<AdapterSlot> {
    of.map(|n| AdapterSlot(u32::try_from(at).unwrap_or(0) % n))
}

/// Prompts of `len` tokens, each with two labels at its end.
pub(crate) fn prompts(
    tokens: &mut Tokens,
    (count, len): (usize, usize),
    adapters: Option<u32>,
) -> Result<RaggedBatch, Trouble> {
    let each = len.div_ceil(BLOCK);
    let item = |at| PackItem {
        token_ids: tokens.take(len),
        start: 0,
        adapter: adapter(adapters, at),
        outputs: vec![(len - 1, labels())],
        blocks: blocks(at * each, each),
    };
    let items: Vec<PackItem> = (0..count).map(item).collect();
    Ok(pack(&items)?)
}

/// One token each of `count` sequences after `before` others, with its logits: see [`draws`].
pub(crate) fn decodes(
    tokens: &mut Tokens,
    (count, before): (usize, usize),
    adapters: Option<u32>,
) -> Result<RaggedBatch, Trouble> {
    let each = (before + 1).div_ceil(BLOCK);
    let item = |at| PackItem {
        token_ids: tokens.take(1),
        start: before,
        adapter: adapter(adapters, at),
        outputs: vec![(0, OutputSpec::Vocab)],
        blocks: blocks(at * each, each),
    };
    let items: Vec<PackItem> = (0..count).map(item).collect();
    Ok(pack(&items)?)
}

/// The next token of each row at temperature 1, with its log-probability.
pub(crate) fn draws(count: usize) -> Vec<Option<TokenDraw>> {
    let draw = |row: u64| {
        let random = RandomDraw {
            temperature: 1.0,
            top_k: None,
            top_p: 1.0,
            least_weight: 1,
            bits: (row + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15),
        };
        Some(TokenDraw { random: Some(random), allowed: None, logprob: true })
    };
    (0..).map(draw).take(count).collect()
}

/// Requests of a query and several items that follow it, as a scorer of documents has them: the query's blocks are computed once,
/// and its last one, which is not full, is copied for each item.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ScoringLoad {
    pub(crate) requests: usize,
    pub(crate) query: usize,
    pub(crate) items: usize,
    pub(crate) item: usize,
    /// Tokens of a step.
    pub(crate) step: usize,
}

impl ScoringLoad {
    fn full(self) -> usize {
        self.query / BLOCK
    }

    /// Blocks that an item has of its own.
    fn own(self) -> usize {
        (self.query + self.item).div_ceil(BLOCK) - self.full()
    }

    pub(crate) fn n_blocks(self) -> usize {
        self.requests * (self.query.div_ceil(BLOCK) + self.items * self.own())
    }

    /// The steps: the queries, then the items.
    pub(crate) fn batches(self, tokens: &mut Tokens) -> Result<Vec<RaggedBatch>, Trouble> {
        let ScoringLoad { requests, query, items, item, step } = self;
        let of_query = query.div_ceil(BLOCK);
        let mut batches = Vec::new();
        let queries: Vec<PackItem> = (0..requests)
            .map(|at| PackItem {
                token_ids: tokens.take(query),
                start: 0,
                adapter: None,
                outputs: Vec::new(),
                blocks: blocks(at * of_query, of_query),
            })
            .collect();
        for some in queries.chunks((step / query).max(1)) {
            batches.push(pack(some)?);
        }
        let all: Vec<usize> = (0..requests * items).collect();
        for some in all.chunks((step / item).max(1)) {
            let mut packed = Vec::new();
            let mut copies = Vec::new();
            for &at in some {
                let request = at / items;
                let own = blocks(requests * of_query + at * self.own(), self.own());
                let mut all = blocks(request * of_query, self.full());
                if self.full() < of_query {
                    let from = blocks(request * of_query + self.full(), 1)[0];
                    copies.push(BlockCopy { from, to: own[0] });
                }
                all.extend(own);
                packed.push(PackItem {
                    token_ids: tokens.take(item),
                    start: query,
                    adapter: None,
                    outputs: vec![(item - 1, labels())],
                    blocks: all,
                });
            }
            let mut batch = pack(&packed)?;
            if let Some(paging) = &mut batch.paging {
                paging.copies = copies;
            }
            batches.push(batch);
        }
        Ok(batches)
    }
}
