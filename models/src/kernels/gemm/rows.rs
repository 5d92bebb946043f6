//! Rows of `x` in the order in which tiles read them.

use std::borrow::Cow;
use std::ops::Range;

use rayon::prelude::*;

use crate::kernels::threads::Tiles;

/// Below so many numbers one thread packs.
const SMALLEST_SHARED: usize = 1 << 15;

/// Rows `[m, k]` packed by blocks of `k`, within a block by tiles, within a tile `[k, rows]`: a
/// tile's loop reads it from front to back.
pub(super) struct PackedRows<'a> {
    data: Cow<'a, [f32]>,
    tiles: Tiles,
    m: usize,
}

impl<'a> PackedRows<'a> {
    /// Packs `x [m, k]`. What has one row is in order as it is.
    pub(super) fn new(x: &'a [f32], m: usize, blocks: &[Range<usize>], tiles: Tiles) -> Self {
        if m == 1 || x.is_empty() {
            let data = Cow::Borrowed(x);
            return PackedRows { data, tiles, m };
        }
        let k = x.len() / m;
        let mut data = vec![0.0; x.len()];
        let mut parts = Vec::with_capacity(blocks.len() * tiles.count());
        let mut rest = data.as_mut_slice();
        for block in blocks {
            for tile in 0..tiles.count() {
                let rows = tiles.rows(tile);
                let (part, after) = rest.split_at_mut(block.len() * rows.len());
                parts.push((part, rows, block.clone()));
                rest = after;
            }
        }
        let pack = |(part, rows, block): (&mut [f32], Range<usize>, Range<usize>)| {
            for (column, row) in rows.clone().enumerate() {
                let source = &x[row * k..][block.clone()];
                let target = part[column..].iter_mut().step_by(rows.len());
                for (target, source) in target.zip(source) {
                    *target = *source;
                }
            }
        };
        if x.len() < SMALLEST_SHARED {
            parts.into_iter().for_each(pack);
        } else {
            parts.into_par_iter().for_each(pack);
        }
        let data = Cow::Owned(data);
        PackedRows { data, tiles, m }
    }

    /// A tile's part of one block: `[k, rows]`.
    pub(super) fn tile(&self, block: &Range<usize>, tile: usize) -> &[f32] {
        let rows = self.tiles.rows(tile);
        &self.data[block.start * self.m + rows.start * block.len()..][..rows.len() * block.len()]
    }
}
