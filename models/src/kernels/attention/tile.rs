//! The two products of attention over a few rows, and the transformation of scores between them.

use std::ops::Range;

use super::geometry::Geometry;
use super::layout::Strip;
use crate::kernels::exp::softcap;
use crate::kernels::kv_block::BLOCK;
use crate::kernels::norm::{load_or_zero, put};
use crate::kernels::simd::{F32x16, LANES};

/// Positions in one tile.
pub(super) const TILE: usize = TILE_BLOCKS * BLOCK;

/// Blocks in one tile.
pub(super) const TILE_BLOCKS: usize = 4;

/// Maximum rows of a micro-tile.
pub(super) const MAX_ROWS: usize = 8;

/// One row's numbers over a tile, on cache lines of its own.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct TileRow(pub(super) [f32; TILE]);

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

/// Index of each position within a tile.
const INDEX: TileRow = {
    let mut index = [0.0; TILE];
    let mut i = 0;
    while i < TILE {
        index[i] = i as f32;
        i += 1;
    }
    TileRow(index)
};

/// Calls `$function::<L, R>` with `R` equal to `$rows`, from 1 to [`MAX_ROWS`].
///
/// Only code that holds a row in a register is compiled for each number of rows.
macro_rules! with_rows {
    ($rows:expr, $function:ident :: <$lanes:ident> ( $($argument:expr),* )) => {
        match $rows {
            1 => $function::<$lanes, 1>($($argument),*),
            2 => $function::<$lanes, 2>($($argument),*),
            3 => $function::<$lanes, 3>($($argument),*),
            4 => $function::<$lanes, 4>($($argument),*),
            5 => $function::<$lanes, 5>($($argument),*),
            6 => $function::<$lanes, 6>($($argument),*),
            7 => $function::<$lanes, 7>($($argument),*),
            _ => $function::<$lanes, 8>($($argument),*),
        }
    };
}

/// Rows of a micro-tile for these instructions.
#[inline(always)]
pub(super) fn most_rows<L: F32x16>() -> usize {
    L::ACCUMULATORS.min(MAX_ROWS)
}

/// Writes `R` rows of `dim` numbers as `[dim, R]`.
pub(super) fn interleave<'a>(rows: impl ExactSizeIterator<Item = &'a [f32]>, to: &mut [f32]) {
    let n = rows.len();
    for (r, row) in rows.enumerate() {
        for (to, value) in to[r..].iter_mut().step_by(n).zip(row) {
            *to = *value;
        }
    }
}

/// Sets a block of each row of `to` to `Σ_d left[d][row] · panel[d]`, in order of `d`.
#[inline(always)]
pub(super) fn dots<L: F32x16>(left: &[f32], panel: &[f32], block: usize, to: &mut [TileRow]) {
    with_rows!(to.len(), dots_of::<L>(left, panel, block, to));
}

#[inline(always)]
fn dots_of<L: F32x16, const R: usize>(
    left: &[f32],
    panel: &[f32],
    block: usize,
    to: &mut [TileRow],
) {
    products::<L, R, R>((left, 0), panel, block, to);
}

/// As [`dots`], for rows `first..` of a block of left rows, `[dim, BLOCK]`.
#[inline(always)]
pub(super) fn dots_within<L: F32x16>(
    (left, first): (&[f32], usize),
    panel: &[f32],
    block: usize,
    to: &mut [TileRow],
) {
    with_rows!(to.len(), dots_within_of::<L>((left, first), panel, block, to));
}

#[inline(always)]
fn dots_within_of<L: F32x16, const R: usize>(
    (left, first): (&[f32], usize),
    panel: &[f32],
    block: usize,
    to: &mut [TileRow],
) {
    products::<L, R, BLOCK>((left, first), panel, block, to);
}

/// Rows `first..` of a left side `[dim, W]` with a panel.
#[inline(always)]
fn products<L: F32x16, const R: usize, const W: usize>(
    (left, first): (&[f32], usize),
    panel: &[f32],
    block: usize,
    to: &mut [TileRow],
) {
    let mut sums = [L::splat(0.0); R];
    let (left, _) = left.as_chunks::<W>();
    let (panel, _) = panel.as_chunks::<LANES>();
    for (left, panel) in left.iter().zip(panel) {
        let left: &[f32; R] = left[first..].first_chunk().expect("R rows of W");
        let panel = L::load(panel);
        for r in 0..R {
            sums[r] = L::splat(left[r]).mul_add(panel, sums[r]);
        }
    }
    for (to, sum) in to.iter_mut().zip(sums) {
        to.set_block(block, sum);
    }
}

/// The score of a product: scaled, and capped if there is a cap.
#[inline(always)]
pub(super) fn scaled_score<L: F32x16>(dot: L, geometry: &Geometry) -> L {
    let scaled = dot.mul(L::splat(geometry.scale));
    match geometry.softcap {
        None => scaled,
        Some(cap) => softcap(scaled, cap),
    }
}

/// Derivative of [`scaled_score`] at the result `score`.
#[inline(always)]
pub(super) fn score_slope<L: F32x16>(score: L, geometry: &Geometry) -> L {
    let scale = L::splat(geometry.scale);
    match geometry.softcap {
        None => scale,
        Some(cap) => {
            let t = score.div(L::splat(cap));
            scale.mul(L::splat(1.0).sub(t.mul(t)))
        }
    }
}

/// The scores within the span, −∞ elsewhere in the block.
#[inline(always)]
pub(super) fn mask_outside<L: F32x16>(scores: L, block: usize, span: &Range<usize>) -> L {
    let (index, outside) = (INDEX.block::<L>(block), L::splat(f32::NEG_INFINITY));
    let after = index.select_gt(L::splat(span.start as f32 - 0.5), scores, outside);
    L::splat(span.end as f32 - 0.5).select_gt(index, after, outside)
}

/// The part of `positions` that lies in a tile, counted from the tile's first position.
#[inline(always)]
pub(super) fn span_in(tile: usize, positions: &Range<usize>) -> Range<usize> {
    let first = tile * TILE;
    let clip = |position: usize| position.clamp(first, first + TILE) - first;
    clip(positions.start)..clip(positions.end)
}

/// [`span_in`] of several rows; the others have none.
#[inline(always)]
pub(super) fn spans_in(tile: usize, all: &[Range<usize>]) -> [Range<usize>; MAX_ROWS] {
    let mut spans = [const { 0..0 }; MAX_ROWS];
    for (span, positions) in spans.iter_mut().zip(all) {
        *span = span_in(tile, positions);
    }
    spans
}

/// The blocks of a tile that at least one span reaches into.
#[inline(always)]
pub(super) fn blocks_of(spans: &[Range<usize>]) -> Range<usize> {
    let (mut start, mut end) = (TILE, 0);
    for span in spans {
        if !span.is_empty() {
            start = start.min(span.start);
            end = end.max(span.end);
        }
    }
    start / BLOCK..end.div_ceil(BLOCK)
}

/// Rows to be summed with weights.
#[derive(Clone, Copy)]
pub(super) struct Summands<'a> {
    /// Blocks `[BLOCK, dim]`.
    pub(super) strip: Strip<'a>,
    /// The tile of the weights.
    pub(super) tile: usize,
    /// Width of a row.
    pub(super) dim: usize,
}

impl Summands<'_> {
    /// Width of a row of sums, rounded up to full vectors.
    pub(super) fn stride(dim: usize) -> usize {
        dim.next_multiple_of(LANES)
    }

    /// Adds to each row of sums its own span of the tile: `sums[r] += Σ weights[r][i] · row i`, in
    /// order of `i`; rows outside the span are not touched.
    ///
    /// The part that all rows share is computed in registers together; the parts before and after
    /// it, row by row. The chain of a sum is the same.
    #[inline(always)]
    pub(super) fn add<L: F32x16>(
        &self,
        weights: &[TileRow],
        spans: &[Range<usize>],
        sums: &mut [f32],
    ) {
        let (mut start, mut end) = (0, TILE);
        for span in spans {
            start = start.max(span.start);
            end = end.min(span.end);
        }
        let (end, all) = (end.max(start), weights.len());
        for (part, together) in [(0..start, 1), (start..end, all), (end..TILE, 1)] {
            for first in (0..all).step_by(together) {
                let span = spans[first].start.max(part.start)..spans[first].end.min(part.end);
                if !span.is_empty() {
                    let weights = &weights[first..first + together];
                    let sums = &mut sums[first * Self::stride(self.dim)..];
                    with_rows!(together, add_columns::<L>(self, weights, &span, sums));
                    self.add_rest::<L>(weights, &span, sums);
                }
            }
        }
    }

    /// The rows of a span, within their blocks, from a column on.
    #[inline(always)]
    fn rows(&self, block: usize, span: &Range<usize>) -> (Range<usize>, &[f32]) {
        let first = span.start.max(block * BLOCK);
        let end = span.end.min((block + 1) * BLOCK);
        let rows = self.strip.block(self.tile * TILE_BLOCKS + block);
        (first..end, &rows[(first - block * BLOCK) * self.dim..])
    }

    /// The columns that do not fill a vector.
    #[inline(always)]
    fn add_rest<L: F32x16>(&self, weights: &[TileRow], span: &Range<usize>, sums: &mut [f32]) {
        let column = self.dim / LANES * LANES;
        if column == self.dim {
            return;
        }
        for (weights, sums) in weights.iter().zip(sums.chunks_exact_mut(Self::stride(self.dim))) {
            let mut lanes = load_or_zero::<L>(sums, column);
            for block in span.start / BLOCK..span.end.div_ceil(BLOCK) {
                let (positions, rows) = self.rows(block, span);
                for (i, row) in positions.zip(rows.chunks_exact(self.dim)) {
                    let row = L::load_part(&row[column..], 0.0);
                    lanes = L::splat(weights.0[i]).mul_add(row, lanes);
                }
            }
            put(lanes, sums, column);
        }
    }
}

/// The columns of `R` rows that fill complete vectors.
#[inline(always)]
fn add_columns<L: F32x16, const R: usize>(
    summands: &Summands<'_>,
    weights: &[TileRow],
    span: &Range<usize>,
    sums: &mut [f32],
) {
    let end = summands.dim / LANES * LANES;
    let mut column = 0;
    // Two vectors at once: few rows give too few sums to hide latency, and a summand's cache lines
    // are requested together.
    if 2 * R <= L::ACCUMULATORS {
        while column + 2 * LANES <= end {
            add_vectors::<L, R, 2>(summands, (weights, span), column, sums);
            column += 2 * LANES;
        }
    }
    while column < end {
        add_vectors::<L, R, 1>(summands, (weights, span), column, sums);
        column += LANES;
    }
}

/// `V` vectors from a column on.
#[inline(always)]
fn add_vectors<L: F32x16, const R: usize, const V: usize>(
    summands: &Summands<'_>,
    (weights, span): (&[TileRow], &Range<usize>),
    column: usize,
    sums: &mut [f32],
) {
    let (dim, stride) = (summands.dim, Summands::stride(summands.dim));
    let weights: &[TileRow; R] = weights.first_chunk().expect("weights of R rows");
    let mut lanes = [[L::splat(0.0); V]; R];
    for (r, lanes) in lanes.iter_mut().enumerate() {
        for (v, lanes) in lanes.iter_mut().enumerate() {
            *lanes = load_or_zero(sums, r * stride + column + v * LANES);
        }
    }
    for block in span.start / BLOCK..span.end.div_ceil(BLOCK) {
        let (positions, rows) = summands.rows(block, span);
        for (i, row) in positions.zip(rows.chunks_exact(dim)) {
            let (row, _) = row[column..].as_chunks::<LANES>();
            let row: &[[f32; LANES]; V] = row.first_chunk().expect("V vectors from here on");
            let mut of_row = [L::splat(0.0); V];
            for v in 0..V {
                of_row[v] = L::load(&row[v]);
            }
            for r in 0..R {
                // `i` is below `TILE`, a power of two; the remainder shows this to the compiler.
                let weight = L::splat(weights[r].0[i % TILE]);
                for v in 0..V {
                    lanes[r][v] = weight.mul_add(of_row[v], lanes[r][v]);
                }
            }
        }
    }
    for (r, lanes) in lanes.into_iter().enumerate() {
        for (v, lanes) in lanes.into_iter().enumerate() {
            put(lanes, sums, r * stride + column + v * LANES);
        }
    }
}
