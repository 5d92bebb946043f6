//! Blocks of keys and values: the unit in which attention reads a cache.

use super::panels::PANEL;

/// Positions in one block; one panel of keys.
pub const BLOCK: usize = PANEL;

/// A block of the cache: an index in `0..n_blocks`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlockId(pub u32);

/// A copy of one block's keys and values, of every layer, over another's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BlockCopy {
    /// The source.
    pub from: BlockId,
    /// The destination.
    pub to: BlockId,
}
