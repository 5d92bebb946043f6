//! Rows of `x` in the order in which tiles read them.

use std::borrow::Cow;
use std::ops::Range;

use rayon::prelude::*;

use crate::kernels::threads::Tiles;

/// Below this number of values one thread packs.
const SMALLEST_SHARED: usize = 1 << 15;

/// Rows `[m, k]` packed by blocks of `k`, within a block by tiles, within a tile `[k, rows]`: a
/// tile's loop reads them from front to back.
pub(super) struct PackedRows<'a> {
    data: Cow<'a, [f32]>,
    tiles: Tiles,
    m: usize,
}

impl<'a> PackedRows<'a> {
    /// Packs `x [m, k]`. A single row needs no packing.
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
            pack(&x[rows.start * k + block.start..], k, rows.len(), part);
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

/// Packs `rows` rows of `x`, which begin `stride` apart, into `part [k, rows]`.
fn pack(x: &[f32], stride: usize, rows: usize, part: &mut [f32]) {
    macro_rules! by_rows {
        ($($rows:literal)*) => {
            match rows {
                $($rows => transpose::<$rows>(x, stride, part),)*
                _ => unreachable!("no tile of {rows} rows"),
            }
        };
    }
    by_rows!(1 2 3 4 5 6 7 8 9 10 11 12);
}

/// The number of rows is a constant, so that the compiler keeps their pointers in registers.
fn transpose<const ROWS: usize>(x: &[f32], stride: usize, part: &mut [f32]) {
    let part = part.as_chunks_mut::<ROWS>().0;
    let k = part.len();
    let mut rows: [&[f32]; ROWS] = [&[]; ROWS];
    for (row, slice) in rows.iter_mut().enumerate() {
        *slice = &x[row * stride..][..k];
    }
    for (i, column) in part.iter_mut().enumerate() {
        for row in 0..ROWS {
            column[row] = rows[row][i];
        }
    }
}
