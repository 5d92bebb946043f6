//! The two products of attention over a few rows, and the transformation of scores between them.

use std::ops::Range;

use super::geometry::Geometry;
use super::lane::{KvLane, load_lanes};
use super::layout::Strip;
use super::row::{TILE, TILE_BLOCKS, TileRow};
use crate::kernels::exp::softcap;
use crate::kernels::kv_block::BLOCK;
use crate::kernels::norm::{load_or_zero, put};
use crate::kernels::simd::{F32x16, LANES};

/// Maximum rows of a micro-tile.
pub(super) const MAX_ROWS: usize = 8;

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

/// Calls `$function::<…, R>` with `R` equal to `$rows`, from 1 to [`MAX_ROWS`].
///
/// Only code that holds a row in a register is compiled for each number of rows.
macro_rules! with_rows {
    ($rows:expr, $function:ident :: <$($generic:ident),*> ( $($argument:expr),* )) => {
        match $rows {
            1 => $function::<$($generic),*, 1>($($argument),*),
            2 => $function::<$($generic),*, 2>($($argument),*),
            3 => $function::<$($generic),*, 3>($($argument),*),
            4 => $function::<$($generic),*, 4>($($argument),*),
            5 => $function::<$($generic),*, 5>($($argument),*),
            6 => $function::<$($generic),*, 6>($($argument),*),
            7 => $function::<$($generic),*, 7>($($argument),*),
            _ => $function::<$($generic),*, 8>($($argument),*),
        }
    };
}

/// Rows of a micro-tile for these instructions.
#[inline(always)]
pub(super) fn most_rows<L: F32x16>() -> usize {
    L::ACCUMULATORS.min(MAX_ROWS)
}

/// Writes `R` rows of `dim` numbers as `[lanes, R]`.
pub(super) fn interleave<'a, T: KvLane>(
    rows: impl ExactSizeIterator<Item = &'a [f32]>,
    to: &mut [T],
) {
    let n = rows.len();
    for (r, row) in rows.enumerate() {
        T::write_key(to, n, r, row);
    }
}

/// Sets a block of each row of `to` to `Σ_d left[d][row] · panel[d]`, in order of `d`.
#[inline(always)]
pub(super) fn dots<T: KvLane, L: F32x16>(
    left: &[T],
    panel: &[T],
    block: usize,
    to: &mut [TileRow],
) {
    with_rows!(to.len(), dots_of::<T, L>(left, panel, block, to));
}

#[inline(always)]
fn dots_of<T: KvLane, L: F32x16, const R: usize>(
    left: &[T],
    panel: &[T],
    block: usize,
    to: &mut [TileRow],
) {
    products::<T, L, R, R>((left, 0), panel, block, to);
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
    products::<f32, L, R, BLOCK>((left, first), panel, block, to);
}

/// Rows `first..` of a left side `[lanes, W]` with a panel.
#[inline(always)]
fn products<T: KvLane, L: F32x16, const R: usize, const W: usize>(
    (left, first): (&[T], usize),
    panel: &[T],
    block: usize,
    to: &mut [TileRow],
) {
    let mut sums = [L::splat(0.0); R];
    let (left, _) = left.as_chunks::<W>();
    let (panel, _) = panel.as_chunks::<LANES>();
    for (left, panel) in left.iter().zip(panel) {
        let left: &[T; R] = left[first..].first_chunk().expect("R rows of W");
        let panel = T::load(panel);
        for r in 0..R {
            sums[r] = T::mul_add(left[r].splat::<L>(), panel, sums[r]);
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
pub(super) struct Summands<'a, T = f32> {
    /// Blocks `[BLOCK / NUMBERS, dim]`.
    pub(super) strip: Strip<'a, T>,
    /// The tile of the weights.
    pub(super) tile: usize,
    /// Width of a row.
    pub(super) dim: usize,
}

/// Width of a row of sums, rounded up to full vectors.
pub(super) fn sums_stride(dim: usize) -> usize {
    dim.next_multiple_of(LANES)
}

impl<T: KvLane> Summands<'_, T> {
    /// Adds to each row of sums its own span of the tile: `sums[r] += Σ weights[r][i] · row i`, in
    /// order of `i`; rows outside the span are not touched.
    ///
    /// The part that all rows share is computed in registers together; the parts before and after
    /// it, row by row. The chain of a sum is the same.
    #[inline(always)]
    pub(super) fn add<L: F32x16>(
        &self,
        weights: &[T::Weights],
        spans: &[Range<usize>],
        sums: &mut [f32],
    ) {
        let (mut start, mut end) = (0, TILE);
        for span in spans {
            start = start.max(span.start);
            end = end.min(span.end);
        }
        let shared = whole_lanes::<T>(&(start..end));
        let (start, end, all) = (shared.start, shared.end, weights.len());
        for (part, together) in [(0..start, 1), (start..end, all), (end..TILE, 1)] {
            for first in (0..all).step_by(together) {
                let span = spans[first].start.max(part.start)..spans[first].end.min(part.end);
                if !span.is_empty() {
                    let weights = &weights[first..first + together];
                    let sums = &mut sums[first * sums_stride(self.dim)..];
                    self.add_span::<L>(weights, &span, sums);
                }
            }
        }
    }

    /// Adds a span to rows; to one row if it begins or ends within a lane.
    #[inline(always)]
    fn add_span<L: F32x16>(&self, weights: &[T::Weights], span: &Range<usize>, sums: &mut [f32]) {
        let whole = whole_lanes::<T>(span);
        for position in span.start..whole.start.min(span.end) {
            self.add_position::<L>(&weights[0], position, sums);
        }
        if !whole.is_empty() {
            with_rows!(weights.len(), add_columns::<T, L>(self, weights, &whole, sums));
            self.add_rest::<L>(weights, &whole, sums);
        }
        for position in whole.end.max(span.start)..span.end {
            self.add_position::<L>(&weights[0], position, sums);
        }
    }

    /// Adds one position of a lane whose other positions the row does not see.
    #[inline(always)]
    fn add_position<L: F32x16>(&self, weights: &T::Weights, position: usize, sums: &mut [f32]) {
        let weight = L::splat(T::weight(weights, position));
        let rows = self.strip.block(self.tile * TILE_BLOCKS + position / BLOCK);
        let row = &rows[position % BLOCK / T::NUMBERS * self.dim..][..self.dim];
        for column in (0..self.dim).step_by(LANES) {
            let numbers = T::at(load_lanes::<T, L>(row, column), position);
            let sum = weight.mul_add(numbers, load_or_zero(sums, column));
            put(sum, sums, column);
        }
    }

    /// The lanes of a span of whole lanes within a block, and their rows.
    #[inline(always)]
    fn rows(&self, block: usize, span: &Range<usize>) -> (Range<usize>, &[T]) {
        let first = span.start.max(block * BLOCK);
        let end = span.end.min((block + 1) * BLOCK);
        let rows = self.strip.block(self.tile * TILE_BLOCKS + block);
        let lanes = first / T::NUMBERS..end / T::NUMBERS;
        (lanes, &rows[(first - block * BLOCK) / T::NUMBERS * self.dim..])
    }

    /// The columns that do not fill a vector. The vector's other lanes read on into the next
    /// position and change what lies behind a row's sums, which nothing reads.
    #[inline(always)]
    fn add_rest<L: F32x16>(&self, weights: &[T::Weights], span: &Range<usize>, sums: &mut [f32]) {
        let column = self.dim / LANES * LANES;
        if column == self.dim {
            return;
        }
        for (weights, sums) in weights.iter().zip(sums.chunks_exact_mut(sums_stride(self.dim))) {
            let mut lanes = load_or_zero::<L>(sums, column);
            for block in span.start / BLOCK..span.end.div_ceil(BLOCK) {
                let (positions, rows) = self.rows(block, span);
                let mut at = column;
                for i in positions {
                    let weight = T::weights(weights, i).splat::<L>();
                    lanes = T::mul_add(weight, load_lanes(rows, at), lanes);
                    at += self.dim;
                }
            }
            put(lanes, sums, column);
        }
    }
}

/// The part of a span of positions that fills lanes; empty, between the two ends, if there is none.
#[inline(always)]
fn whole_lanes<T: KvLane>(span: &Range<usize>) -> Range<usize> {
    let start = span.start.next_multiple_of(T::NUMBERS);
    start..(span.end / T::NUMBERS * T::NUMBERS).max(start)
}

/// The columns of `R` rows that fill complete vectors.
#[inline(always)]
fn add_columns<T: KvLane, L: F32x16, const R: usize>(
    summands: &Summands<'_, T>,
    weights: &[T::Weights],
    span: &Range<usize>,
    sums: &mut [f32],
) {
    let end = summands.dim / LANES * LANES;
    let mut column = 0;
    // Two vectors at once: few rows give too few sums to hide latency, and a summand's cache lines
    // are requested together.
    if 2 * R <= L::ACCUMULATORS {
        while column + 2 * LANES <= end {
            add_vectors::<T, L, R, 2>(summands, (weights, span), column, sums);
            column += 2 * LANES;
        }
    }
    while column < end {
        add_vectors::<T, L, R, 1>(summands, (weights, span), column, sums);
        column += LANES;
    }
}

/// `V` vectors from a column on.
#[expect(
    clippy::needless_range_loop,
    reason = "the compiler leaves calls of `Enumerate::next` that pass registers in memory"
)]
#[inline(always)]
fn add_vectors<T: KvLane, L: F32x16, const R: usize, const V: usize>(
    summands: &Summands<'_, T>,
    (weights, span): (&[T::Weights], &Range<usize>),
    column: usize,
    sums: &mut [f32],
) {
    let (dim, stride) = (summands.dim, sums_stride(summands.dim));
    let weights: &[T::Weights; R] = weights.first_chunk().expect("weights of R rows");
    let mut lanes = [[L::splat(0.0); V]; R];
    for r in 0..R {
        for v in 0..V {
            lanes[r][v] = load_or_zero(sums, r * stride + column + v * LANES);
        }
    }
    for block in span.start / BLOCK..span.end.div_ceil(BLOCK) {
        let (positions, mut rows) = summands.rows(block, span);
        for i in positions {
            let (row, rest) = rows.split_at(dim);
            rows = rest;
            let (row, _) = row[column..].as_chunks::<LANES>();
            let row: &[[T; LANES]; V] = row.first_chunk().expect("V vectors from here on");
            let mut of_row = [L::splat(0.0); V];
            for v in 0..V {
                of_row[v] = T::load(&row[v]);
            }
            for r in 0..R {
                let weight = T::weights(&weights[r], i).splat::<L>();
                for v in 0..V {
                    lanes[r][v] = T::mul_add(weight, of_row[v], lanes[r][v]);
                }
            }
        }
    }
    for r in 0..R {
        for v in 0..V {
            put(lanes[r][v], sums, r * stride + column + v * LANES);
        }
    }
}
