//! Probabilities as integer weights.
//!
//! A token's weight is `e^((logit − max) / temperature)` in units of 2^−40, rounded; its
//! probability is its share of the sum. Integer sums are exact and do not depend on the order of
//! their terms, so that blocks, buckets and a full sort give the same token. A token less than
//! 2^−41 times as likely as the most likely one has weight 0.

#![expect(
    clippy::inline_always,
    reason = "a kernel that is not inlined is compiled without its instructions"
)]

use models::kernels::exp::exp;
use models::kernels::simd::{F32x16, Isa, Kernel, LANES};

use super::scan::BLOCK;

/// Weight of the most likely token.
pub(super) const ONE: u64 = 1 << 40;
/// The square root of [`ONE`]: a weight consists of two halves, each exact in an f32.
const HALF: f32 = 1_048_576.0;
/// Buckets of a [`LogitScale::histogram`].
pub(super) const BUCKETS: usize = 1024;
const LAST_BUCKET: f32 = 1023.0;
/// Buckets per unit of (max − logit) / temperature. Together they cover all non-zero weights: ln
/// 2^41 is 28.4.
const BUCKETS_PER_NAT: f32 = 35.0;

/// More than the rounding error of a bucket's edge.
const SLACK: f32 = 1e-4;

/// The map from logits to weights.
#[derive(Clone, Copy, Debug)]
pub(super) struct LogitScale {
    /// The largest logit; finite.
    pub(super) max: f32,
    /// One over the temperature; finite.
    pub(super) inverse_temperature: f32,
}

impl LogitScale {
    /// The weight of each logit.
    pub(super) fn weights(self, logits: &[f32]) -> Vec<u64> {
        let mut weights = Vec::with_capacity(logits.len());
        Isa::best().run(WeightKernel { scale: self, logits, weights: &mut weights });
        weights
    }

    /// The sum of the weights of each block.
    pub(super) fn block_sums(self, logits: &[f32]) -> Vec<u64> {
        let mut sums = Vec::with_capacity(logits.len().div_ceil(BLOCK));
        Isa::best().run(BlockSums { scale: self, logits, sums: &mut sums });
        sums
    }

    /// The sum of the weights of at least `least` in each bucket, from the largest logits down.
    pub(super) fn histogram(self, logits: &[f32], least: u64) -> [u64; BUCKETS] {
        let mut sums = [0; BUCKETS];
        Isa::best().run(Histogram { scale: self, logits, least, sums: &mut sums });
        sums
    }

    /// The bucket of a logit.
    pub(super) fn bucket(self, logit: f32) -> usize {
        bucket((logit - self.max) * self.inverse_temperature)
    }

    /// Distances from the largest logit that enclose a bucket, and little else.
    #[expect(clippy::cast_precision_loss, reason = "buckets are few")]
    pub(super) fn distances(self, bucket: usize) -> (f32, f32) {
        let width = 1.0 / (BUCKETS_PER_NAT * self.inverse_temperature);
        let end = match bucket + 1 {
            BUCKETS => f32::INFINITY,
            next => next as f32 * width * (1.0 + SLACK),
        };
        (bucket as f32 * width * (1.0 - SLACK), end)
    }

    #[inline(always)]
    fn shift<L: F32x16>(self, logits: L) -> L {
        logits.sub(L::splat(self.max)).mul(L::splat(self.inverse_temperature))
    }
}

/// The bucket of (logit − max) / temperature.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the shift is at most 0; distant logits go to the last bucket"
)]
#[inline(always)]
fn bucket(shift: f32) -> usize {
    // Bounded as a float, so that the rest stays in 32-bit lanes.
    let bucket = (-shift * BUCKETS_PER_NAT).min(LAST_BUCKET);
    (bucket as u32) as usize
}

/// The upper and lower halves of the weights as integers; the lower is signed.
#[inline(always)]
fn halves<L: F32x16>(shift: L) -> [L; 2] {
    let scaled = exp(shift).mul(L::splat(HALF));
    let upper = scaled.round();
    [upper, scaled.sub(upper).mul(L::splat(HALF)).round()]
}

/// A weight, or a sum of weights, from its halves.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "both are integers below 2^25, and their combination is not negative"
)]
#[inline(always)]
fn joined(upper: f32, lower: f32) -> u64 {
    // Nothing can overflow; unchecked operations vectorize.
    let upper = i64::from(upper as i32) << 20;
    upper.wrapping_add(i64::from(lower as i32)) as u64
}

struct WeightKernel<'a> {
    scale: LogitScale,
    logits: &'a [f32],
    weights: &'a mut Vec<u64>,
}

impl Kernel for WeightKernel<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: F32x16>(self) {
        for part in self.logits.chunks(LANES) {
            let shift = self.scale.shift(L::load_part(part, f32::NEG_INFINITY));
            let [upper, lower] = halves(shift);
            let (upper, lower) = (upper.to_array(), lower.to_array());
            for i in 0..part.len() {
                self.weights.push(joined(upper[i], lower[i]));
            }
        }
    }
}

struct BlockSums<'a> {
    scale: LogitScale,
    logits: &'a [f32],
    sums: &'a mut Vec<u64>,
}

impl Kernel for BlockSums<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: F32x16>(self) {
        for block in self.logits.chunks(BLOCK) {
            let (vectors, rest) = block.as_chunks::<LANES>();
            // A lane sums at most sixteen halves of at most 2^20: exact.
            let last = L::load_part(rest, f32::NEG_INFINITY);
            let mut sums = halves(self.scale.shift(last));
            for vector in vectors {
                let both = halves(self.scale.shift(L::load(vector)));
                sums = [sums[0].add(both[0]), sums[1].add(both[1])];
            }
            let (upper, lower) = (sums[0].to_array(), sums[1].to_array());
            let mut sum = 0;
            for i in 0..LANES {
                sum += joined(upper[i], lower[i]);
            }
            self.sums.push(sum);
        }
    }
}

struct Histogram<'a> {
    scale: LogitScale,
    logits: &'a [f32],
    least: u64,
    sums: &'a mut [u64; BUCKETS],
}

impl Kernel for Histogram<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: F32x16>(self) {
        for part in self.logits.chunks(LANES) {
            let shift = self.scale.shift(L::load_part(part, f32::NEG_INFINITY));
            let [upper, lower] = halves(shift);
            let (upper, lower) = (upper.to_array(), lower.to_array());
            let shift = shift.to_array();
            let (mut weights, mut buckets) = ([0; LANES], [0; LANES]);
            for i in 0..LANES {
                let weight = joined(upper[i], lower[i]);
                weights[i] = if weight >= self.least { weight } else { 0 };
                buckets[i] = bucket(shift[i]);
            }
            for i in 0..LANES {
                let sum = &mut self.sums[buckets[i] % BUCKETS];
                *sum = sum.wrapping_add(weights[i]);
            }
        }
    }
}
