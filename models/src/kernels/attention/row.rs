//! One query row's numbers over a tile of key positions.

use crate::kernels::kv_block::BLOCK;
use crate::kernels::norm::load_or_zero;
use crate::kernels::simd::{F32x16, LANES};

/// Positions in one tile.
pub(super) const TILE: usize = TILE_BLOCKS * BLOCK;

/// Blocks in one tile.
pub(super) const TILE_BLOCKS: usize = 4;

/// One row's numbers over a tile, on cache lines of its own.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub struct TileRow(pub(super) [f32; TILE]);

impl TileRow {
    pub(super) const ZERO: TileRow = TileRow([0.0; TILE]);

    #[inline(always)]
    pub(super) fn block<L: F32x16>(&self, block: usize) -> L {
        load_or_zero(&self.0, block * LANES)
    }

    #[inline(always)]
    pub(super) fn set_block<L: F32x16>(&mut self, block: usize, lanes: L) {
        let to = &mut self.0[block * LANES..];
        lanes.store(to.first_chunk_mut().expect("a tile consists of full blocks"));
    }
}
