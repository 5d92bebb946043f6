//! Which blocks hold whose keys and values, and which beginnings are computed already.
//!
//! A [`BlockManager`] gives sequences tables of blocks and remembers, token by token, what was
//! computed into them: the next sequence that begins alike takes the common part from cache,
//! wherever it ends. Whole blocks are shared; of a partly shared block the table gets a copy, which
//! is due before anything is computed into it ([`BlockCopy`]). What a table is opened for is known
//! from then on as being computed, so that nobody computes it a second time.
//!
//! It is plain data. It knows no tensor, step, clock or channel, and neither what tokens mean nor
//! what is read from them; when to wait, to pre-empt or to refuse is the scheduler's business.
//!
//! Three rules make sharing safe:
//!
//! - a block is written by the one table that took it from the free ones, at positions that it has
//!   not committed; nobody else reads those;
//! - nothing is opened below a part that is not computed;
//! - every block that no open table references can be had. So a table fits exactly if what open
//!   tables reference leaves room for it, and a sequence that is alone can always go on.

mod audit;
mod evict;
mod manager;
mod pool;
mod run;
#[cfg(test)]
mod tests;
mod tree;

use std::sync::Arc;

use models::batch::BlockCopy;
use models::kv::{BLOCK, BlockId};

pub use manager::BlockManager;
use tree::NodeId;

/// Tokens are shared only within one space. A change of the weights is told by
/// [`BlockManager::invalidate`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CacheNamespace {
    /// The adapter's digest, or none for the base model.
    pub adapter: Option<Arc<str>>,
    /// What callers that may share have in common.
    pub salt: u64,
}

/// A sequence's number, given by the scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SequenceId(pub u64);

/// What the cache knows of a sequence's beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrefixMatch {
    /// Tokens at its start that are computed, at most the limit asked for.
    pub cached: usize,
    /// Who is computing more of it.
    pub pending: Option<PendingPrefix>,
}

/// A sequence that is computing more of a prefix: it pays to wait until it has computed `upto`
/// tokens, or is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PendingPrefix {
    /// Who.
    pub owner: SequenceId,
    /// Tokens at the start that can be shared then, at most the limit asked for.
    pub upto: usize,
}

/// What a table is opened for.
#[derive(Clone, Copy, Debug)]
pub struct Allocation<'a> {
    /// The sequence.
    pub owner: SequenceId,
    /// Whom it shares with.
    pub namespace: &'a CacheNamespace,
    /// Its tokens, as far as they are known.
    pub token_ids: &'a [u32],
    /// At most so many tokens are taken from cache: what is read must be computed.
    pub max_cached: usize,
    /// Positions that the table has room for; not less than `token_ids`, where all of them are to
    /// be computed.
    pub n_positions: usize,
}

/// A table, and what has to be done before anything is computed into it.
#[derive(Debug)]
pub struct Allocated {
    /// The table.
    pub table: BlockTable,
    /// Blocks to copy, in this order and after those of tables that were opened earlier. Their
    /// sources stay as they are until the table's first commit.
    pub copies: Vec<BlockCopy>,
}

/// The blocks of one sequence. It goes back by [`BlockManager::release`] and in no other way; it
/// cannot be cloned, so a double free does not compile.
#[must_use = "blocks that are not released are lost"]
#[derive(Debug)]
pub struct BlockTable {
    blocks: Vec<BlockId>,
    cached: usize,
    computed: usize,
    /// The block that the first own block begins as a copy of, until the first commit.
    copy_source: Option<BlockId>,
    position: TreePosition,
    /// The cache that it shares with: the one since the last [`BlockManager::invalidate`].
    generation: u64,
}

/// Where an open table stands in the tree.
#[derive(Clone, Copy, Debug)]
enum TreePosition {
    /// On the leaf that it computes: others see what it commits.
    Own(NodeId),
    /// On the whole blocks that it shares: what it computes is its own affair until it is released.
    Shared(NodeId),
}

impl BlockTable {
    /// The blocks in order of position.
    pub fn blocks(&self) -> &[BlockId] {
        &self.blocks
    }

    /// Tokens that were taken from cache when it was opened.
    pub fn cached(&self) -> usize {
        self.cached
    }

    /// Tokens that are in the blocks: cached ones and those committed since.
    pub fn computed(&self) -> usize {
        self.computed
    }

    /// Positions that it has room for.
    pub fn capacity(&self) -> usize {
        self.blocks.len() * BLOCK
    }
}

/// How many blocks there are of each kind; every block is of one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockCounts {
    /// Nobody's.
    pub free: usize,
    /// Referenced by open tables.
    pub held: usize,
    /// Referenced by the cache alone; to be had when blocks are lacking.
    pub cached: usize,
    /// All of them.
    pub total: usize,
}

impl BlockCounts {
    /// Blocks that a table can be given.
    pub fn available(&self) -> usize {
        self.free + self.cached
    }
}
