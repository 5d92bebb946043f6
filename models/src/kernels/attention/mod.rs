//! Causal attention over packed sequences and over KV blocks, forward and backward.
//!
//! Keys and values lie in blocks of [`BLOCK`](crate::kernels::kv_block::BLOCK) positions, whether they come from
//! the batch itself or from a cache, and are walked in tiles of four blocks that begin at multiples
//! of 64 positions of their own sequence. The rows of a micro-tile are the query heads that share a
//! key head, at a few positions next to each other, so that decoding (one position) and prefill run
//! the same code. A row's bits follow from its own keys alone:
//!
//! - scores are chains of fused multiply-adds along the head's dimensions;
//! - the running maximum, the exponentials and the rescaling are those of the row's keys, tile by
//!   tile (Milakov and Gimelshein, 2018; Dao et al., 2022);
//! - weighted values are chains along the key positions, from the row's first key to its last.
//!   A key after the row's position, or before its window, is not multiplied by zero: it is not
//!   touched.
//!
//! The backward recomputes the scores (Dao et al., 2022): one pass by query row gives the softmax
//! statistics and dQ, a second by key gives dK and dV, summed over the queries in order of position.

#![expect(
    clippy::inline_always,
    reason = "a kernel that is not inlined is compiled without its instructions"
)]

mod backward;
mod forward;
mod geometry;
mod lane;
mod layout;
mod packed;
mod row;
mod tasks;
#[cfg(test)]
mod tests;
mod tile;

pub use backward::{AttentionGradients, Operands, backward};
pub use forward::{Queries, forward};
pub use geometry::Geometry;
pub use lane::{KvLane, KvType};
pub use layout::{BlockLayout, Blocks};
pub use packed::{Packed, packed};
