//! The paged KV cache: the blocks of each sequence's keys and values, and the computed prefixes.
//!
//! A [`BlockManager`] gives sequences block tables and records, token by token, what was computed
//! into them. The next sequence with a common prefix takes that part from cache, wherever it ends.
//! Full blocks are shared. Of a partly shared block the table gets a copy, which is due before
//! anything is computed into it ([`models::BlockCopy`]). Tokens that a table is allocated for are
//! registered as pending, so that no other sequence computes them too.
//!
//! The cache is plain data. It must not depend on tensors, steps, clocks or channels, nor on the
//! meaning of tokens; waiting, preemption and refusal are the scheduler's.
//!
//! Three rules make sharing safe:
//!
//! - a block is written only by the table that took it from the free blocks, at positions that the
//!   table has not committed; no other table reads those;
//! - no node of the tree is below a part that is not computed;
//! - every block that no open table references can be evicted. So a new table fits if and only if
//!   the blocks not referenced by open tables are enough, and a sequence that runs alone never
//!   lacks blocks.

mod audit;
mod evict;
mod manager;
mod pool;
mod prefix;
mod table;
#[cfg(test)]
mod tests;
mod token_span;
mod tree;

pub use manager::BlockManager;
pub use pool::BlockCounts;
pub use prefix::{CacheNamespace, CachedAdapter, PendingPrefix, PrefixMatch, SequenceId};
pub use table::{Allocated, Allocation, BlockTable};
