//! The forms in which keys and values lie in blocks: f32, or pairs of bf16.
//!
//! A pair joins what is added in one step of a chain: for keys two dimensions of the head, for
//! values two positions. Queries and the weights of the softmax are rounded to pairs likewise, and
//! the steps are those of [`F32x16::dot_normal_pairs`].
//!
//! No step meets a subnormal number, so that CPUs without the instruction need no check of each.
//! What is rounded to bf16 counts as zero below [`LEAST`]: all products are then multiples of
//! 2⁻¹¹⁴ (twice 2⁻⁵⁰, with 7 more bits each). Sums that are rescaled count as zero below
//! [`LEAST_SUM`], and so are multiples of 2⁻¹¹³. Rounded sums of multiples are multiples: zero, or
//! normal.

use std::ops::Range;

use super::row::{TILE, TILE_BLOCKS, TileRow};
use crate::kernels::exp::exp;
use crate::kernels::kv_block::BLOCK;
use crate::kernels::simd::{F32x16, LANES, nearest};

/// 2⁻⁵⁰.
const LEAST: f32 = 1.0 / (1_u64 << 50) as f32;

/// 2⁻⁹⁰.
const LEAST_SUM: f32 = LEAST / (1_u64 << 40) as f32;

/// The form of keys and values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KvType {
    /// 32-bit floats, multiplied as they are.
    #[default]
    F32,
    /// Pairs of bf16, of which each takes 32 bits.
    Bf16,
}

impl KvType {
    /// Lanes of 32 bits in one block of one head: of the keys, and of the values.
    pub fn lanes(self, head_dim: usize) -> [usize; 2] {
        match self {
            KvType::F32 => [key_lanes::<f32>(head_dim), value_lanes::<f32>(head_dim)],
            KvType::Bf16 => [key_lanes::<u32>(head_dim), value_lanes::<u32>(head_dim)],
        }
    }
}

/// Lanes in one block of keys.
pub(super) fn key_lanes<T: KvLane>(head_dim: usize) -> usize {
    head_dim.div_ceil(T::NUMBERS) * BLOCK
}

/// Lanes in one block of values.
pub(super) fn value_lanes<T: KvLane>(head_dim: usize) -> usize {
    BLOCK / T::NUMBERS * head_dim
}

/// One lane of a block: an f32, or the bits of two bf16 of which the first is in the lower half.
pub trait KvLane: Copy + Default + Send + Sync {
    /// Numbers in a lane.
    const NUMBERS: usize;
    /// The weights of one row over a tile.
    type Weights: Copy;
    /// Weights of zero.
    const NONE: Self::Weights;

    /// Writes numbers along a head's dimensions to the lanes `at`, `at + stride` and so on.
    fn write_key(panels: &mut [Self], stride: usize, at: usize, key: &[f32]);
    /// Writes numbers along a head's dimensions to position `at` of rows `[positions / NUMBERS, dim]`.
    fn write_value(rows: &mut [Self], at: usize, value: &[f32]);

    /// Sixteen lanes.
    fn load<L: F32x16>(from: &[Self; LANES]) -> L;
    /// Every lane this one.
    fn splat<L: F32x16>(self) -> L;
    /// The step of a chain: `sum` and the products of each lane's numbers.
    fn mul_add<L: F32x16>(left: L, right: L, sum: L) -> L;
    /// The numbers at a position, which share lanes with those of the positions beside it.
    fn at<L: F32x16>(lanes: L, position: usize) -> L;

    /// `e^(score − max)` in these blocks as weights; returns their sum. Masked scores become 0.
    fn weigh<L: F32x16>(
        scores: &TileRow,
        blocks: &Range<usize>,
        max: f32,
        to: &mut Self::Weights,
    ) -> f32;
    /// One lane of weights.
    fn weights(all: &Self::Weights, lane: usize) -> Self;
    /// The weight at a position.
    fn weight(all: &Self::Weights, position: usize) -> f32;
    /// Sums that were rescaled, as the steps expect them.
    fn rescaled<L: F32x16>(sums: L) -> L;
}

impl KvLane for f32 {
    const NUMBERS: usize = 1;
    type Weights = TileRow;
    const NONE: TileRow = TileRow::ZERO;

    #[inline(always)]
    fn write_key(panels: &mut [f32], stride: usize, at: usize, key: &[f32]) {
        for (to, x) in panels[at..].iter_mut().step_by(stride).zip(key) {
            *to = *x;
        }
    }

    #[inline(always)]
    fn write_value(rows: &mut [f32], at: usize, value: &[f32]) {
        rows[at * value.len()..][..value.len()].copy_from_slice(value);
    }

    #[inline(always)]
    fn load<L: F32x16>(from: &[f32; LANES]) -> L {
        L::load(from)
    }

    #[inline(always)]
    fn splat<L: F32x16>(self) -> L {
        L::splat(self)
    }

    #[inline(always)]
    fn mul_add<L: F32x16>(left: L, right: L, sum: L) -> L {
        left.mul_add(right, sum)
    }

    #[inline(always)]
    fn at<L: F32x16>(lanes: L, _position: usize) -> L {
        lanes
    }

    #[inline(always)]
    fn weigh<L: F32x16>(
        scores: &TileRow,
        blocks: &Range<usize>,
        max: f32,
        to: &mut TileRow,
    ) -> f32 {
        let mut sum = L::splat(0.0);
        for block in blocks.clone() {
            let weight = exp(scores.block::<L>(block).sub(L::splat(max)));
            to.set_block(block, weight);
            sum = sum.add(weight);
        }
        sum.sum()
    }

    #[inline(always)]
    fn weights(all: &TileRow, lane: usize) -> f32 {
        // The lane is below `TILE`, a power of two; the remainder shows this to the compiler.
        all.0[lane % TILE]
    }

    #[inline(always)]
    fn weight(all: &TileRow, position: usize) -> f32 {
        all.0[position % TILE]
    }

    #[inline(always)]
    fn rescaled<L: F32x16>(sums: L) -> L {
        sums
    }
}

/// Numbers of a pair.
const PAIR: usize = 2;

/// One row's weights over a tile, in pairs of positions.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub struct TilePairs([u32; TILE / PAIR]);

impl KvLane for u32 {
    const NUMBERS: usize = PAIR;
    type Weights = TilePairs;
    const NONE: TilePairs = TilePairs([0; TILE / PAIR]);

    #[inline(always)]
    fn write_key(panels: &mut [u32], stride: usize, at: usize, key: &[f32]) {
        for (to, columns) in panels[at..].iter_mut().step_by(stride).zip(key.chunks(PAIR)) {
            *to = rounded(columns[0]) | columns.get(1).map_or(0, |x| rounded(*x) << 16);
        }
    }

    #[inline(always)]
    fn write_value(rows: &mut [u32], at: usize, value: &[f32]) {
        let (shift, other) = if at.is_multiple_of(PAIR) { (0, 0xffff_0000) } else { (16, 0xffff) };
        for (to, x) in rows[at / PAIR * value.len()..].iter_mut().zip(value) {
            *to = *to & other | rounded(*x) << shift;
        }
    }

    #[inline(always)]
    fn load<L: F32x16>(from: &[u32; LANES]) -> L {
        L::load_bits(from)
    }

    #[inline(always)]
    fn splat<L: F32x16>(self) -> L {
        L::splat(f32::from_bits(self))
    }

    #[inline(always)]
    fn mul_add<L: F32x16>(left: L, right: L, sum: L) -> L {
        left.dot_normal_pairs(right, sum)
    }

    #[inline(always)]
    fn at<L: F32x16>(lanes: L, position: usize) -> L {
        lanes.halves()[position % PAIR]
    }

    #[inline(always)]
    fn weigh<L: F32x16>(
        scores: &TileRow,
        blocks: &Range<usize>,
        max: f32,
        to: &mut TilePairs,
    ) -> f32 {
        let (zero, mut sum) = (L::splat(0.0), L::splat(0.0));
        let to = to.0.as_chunks_mut::<LANES>().0;
        for (pair, to) in to.iter_mut().enumerate().take(TILE_BLOCKS / PAIR) {
            let mut weights = [zero; PAIR];
            for (i, weights) in weights.iter_mut().enumerate() {
                let block = pair * PAIR + i;
                if blocks.contains(&block) {
                    let weight = exp(scores.block::<L>(block).sub(L::splat(max)));
                    *weights = L::splat(LEAST).select_gt(weight, zero, weight);
                }
            }
            let pairs = weights[0].to_pairs(weights[1]);
            pairs.store_bits(to);
            // What is multiplied is what is summed, so that the weights of equal values join to one.
            sum = pairs.dot_normal_pairs(0x3f80_3f80_u32.splat(), sum);
        }
        sum.sum()
    }

    #[inline(always)]
    fn weights(all: &TilePairs, lane: usize) -> u32 {
        all.0[lane % (TILE / PAIR)]
    }

    #[inline(always)]
    fn weight(all: &TilePairs, position: usize) -> f32 {
        let pair = all.0[position / PAIR % (TILE / PAIR)];
        f32::from_bits(if position.is_multiple_of(PAIR) { pair << 16 } else { pair & 0xffff_0000 })
    }

    #[inline(always)]
    fn rescaled<L: F32x16>(sums: L) -> L {
        L::splat(LEAST_SUM).select_gt(sums.abs(), L::splat(0.0), sums)
    }
}

/// The bits of the nearest bf16; zero below [`LEAST`].
#[inline(always)]
fn rounded(x: f32) -> u32 {
    if x.abs() < LEAST { 0 } else { u32::from(nearest(x)) }
}

/// Sixteen lanes from `at`; zeros where there are no more.
#[inline(always)]
pub(super) fn load_lanes<T: KvLane, L: F32x16>(from: &[T], at: usize) -> L {
    if let Some(lanes) = from[at..].first_chunk() {
        return T::load(lanes);
    }
    let mut all = [T::default(); LANES];
    let rest = &from[at..];
    all[..rest.len()].copy_from_slice(rest);
    T::load(&all)
}

/// Prefetches these lanes; sixteen of them fill a cache line.
#[inline(always)]
pub(super) fn prefetch_lanes<T: KvLane, L: F32x16>(soon: &[T]) {
    for line in soon.chunks(LANES) {
        L::prefetch_line(&line[0]);
    }
}
