//! Block tables and their allocation.

use models::BlockCopy;
use models::{BLOCK, BlockId};

use super::prefix::{CacheNamespace, SequenceId};
use super::tree::NodeId;

/// A request for a block table.
#[derive(Clone, Copy, Debug)]
pub struct Allocation<'a> {
    /// The sequence.
    pub owner: SequenceId,
    /// The namespace in which it shares prefixes.
    pub namespace: &'a CacheNamespace,
    /// Its tokens so far.
    pub token_ids: &'a [u32],
    /// The most tokens that may come from cache: tokens that are read must be computed.
    pub max_cached: usize,
    /// Positions that the table must hold; at least `token_ids.len()` if all of them are to be
    /// computed.
    pub n_positions: usize,
}

/// A new table, and the copies that are due before anything is computed into it.
#[derive(Debug)]
pub struct Allocated {
    /// The table.
    pub table: BlockTable,
    /// Blocks to copy, in this order and after those of tables allocated earlier. The sources do
    /// not change until the table's first commit.
    pub copies: Vec<BlockCopy>,
}

/// The blocks of one sequence. It goes back only by [`super::BlockManager::release`]; it cannot be
/// cloned, so that a double free does not compile.
#[must_use = "blocks that are not released are lost"]
#[derive(Debug)]
pub struct BlockTable {
    pub(super) blocks: Vec<BlockId>,
    pub(super) cached: usize,
    pub(super) computed: usize,
    /// The block that the table's first own block is a copy of, until the first commit.
    pub(super) copy_source: Option<BlockId>,
    pub(super) position: TreePosition,
    /// Number of invalidations before the table was allocated: it shares with no later cache.
    pub(super) generation: u64,
}

/// The place at which an open table is attached to the tree.
#[derive(Clone, Copy, Debug)]
pub(super) enum TreePosition {
    /// At the leaf that it computes: what it commits can be shared at once.
    Own(NodeId),
    /// At the end of the full blocks that it shares: what it computes can be shared only after its
    /// release.
    Shared(NodeId),
}

impl BlockTable {
    /// The blocks in order of position.
    pub fn blocks(&self) -> &[BlockId] {
        &self.blocks
    }

    /// Tokens that came from cache at allocation.
    pub fn cached(&self) -> usize {
        self.cached
    }

    /// Tokens in the blocks: cached ones and those committed since.
    pub fn computed(&self) -> usize {
        self.computed
    }

    /// Positions that the blocks hold.
    pub fn capacity(&self) -> usize {
        self.blocks.len() * BLOCK
    }
}
