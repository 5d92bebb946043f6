//! Dot products of pairs of bf16 by f32 operations: the bits of VDPBF16PS on any CPU.
//!
//! The product of two bf16 has 16 significant bits, so a fused multiply-add of f32 is the
//! instruction's step wherever its result is normal. Below that range the instruction rounds to 24
//! bits with an unbounded exponent and then replaces what is less than 2⁻¹²⁶ by zero; an f32 step
//! would round on the coarser grid of subnormals. (The SDM leaves open that the size is judged after
//! rounding; values of a Zen 5 in the tests show it.) The same step on numbers that are 2²⁴ times as
//! large rounds as the instruction does, and shows whether its result is too small.

use super::{F32x16, LANES};

/// 2²⁴, and 2²⁴ times the least normal number. Where a factor or a sum is too large to be scaled,
/// the result is normal, an exact zero or not finite, and an infinite or NaN comparison keeps it.
const SCALE: f32 = 16_777_216.0;
const LEAST_SCALED: f32 = f32::MIN_POSITIVE * SCALE;

/// [`F32x16::dot_pairs`].
#[inline(always)]
pub(super) fn dot<L: F32x16>(x: L, w: L, sum: L) -> L {
    let (x, w) = (x.halves().map(flush), w.halves().map(flush));
    step(x[0], w[0], step(x[1], w[1], flush(sum)))
}

/// [`F32x16::to_pairs`].
#[inline(always)]
pub(super) fn join<L: F32x16>(x: L, next: L) -> L {
    let (x, next) = (flush(x).to_array(), flush(next).to_array());
    let mut halves = [0; 2 * LANES];
    for i in 0..LANES {
        halves[i] = nearest(x[i]);
        halves[LANES + i] = nearest(next[i]);
    }
    let mut pairs = [0; LANES];
    for (i, pair) in pairs.iter_mut().enumerate() {
        *pair = u32::from(halves[2 * i]) | u32::from(halves[2 * i + 1]) << 16;
    }
    L::load_bits(&pairs)
}

/// The bits of the nearest bf16, halves to even; NaN stays NaN.
#[inline(always)]
pub(in crate::kernels) fn nearest(x: f32) -> u16 {
    let bits = x.to_bits();
    let rounded = bits.wrapping_add(0x7fff + (bits >> 16 & 1));
    let kept = if x.is_nan() { bits | 0x40_0000 } else { rounded };
    (kept >> 16) as u16
}

/// Subnormal numbers become zeros of their sign.
#[inline(always)]
fn flush<L: F32x16>(x: L) -> L {
    L::splat(f32::MIN_POSITIVE).select_gt(x.abs(), x.mul(L::splat(0.0)), x)
}

/// `x · w + sum` of normal numbers, rounded once; zero of its sign where it is too small.
#[inline(always)]
fn step<L: F32x16>(x: L, w: L, sum: L) -> L {
    let result = x.mul_add(w, sum);
    let scale = L::splat(SCALE);
    let scaled = x.mul(scale).mul_add(w, sum.mul(scale));
    let zero = result.mul(L::splat(0.0));
    L::splat(LEAST_SCALED).select_gt(scaled.abs(), zero, result)
}

/// [`F32x16::dot_pairs`] of one lane by f64, as a reference for tests.
#[cfg(test)]
pub(in crate::kernels) fn plain_dot(x: [u16; 2], w: [u16; 2], sum: f32) -> f32 {
    let number = |bits: u16| plain_flush(f32::from_bits(u32::from(bits) << 16));
    let sum = plain_step(number(x[1]), number(w[1]), plain_flush(sum));
    plain_step(number(x[0]), number(w[0]), sum)
}

#[cfg(test)]
fn plain_flush(x: f32) -> f32 {
    if x.is_subnormal() { 0.0_f32.copysign(x) } else { x }
}

/// The product is exact in f64. The sum is rounded to odd in its last bit, so that a second rounding
/// to fewer bits is the only one.
#[cfg(test)]
#[expect(clippy::cast_possible_truncation, reason = "the rounding to f32 under test")]
fn plain_step(x: f32, w: f32, sum: f32) -> f32 {
    let (product, sum) = (f64::from(x) * f64::from(w), f64::from(sum));
    let total = product + sum;
    if total == 0.0 || !total.is_finite() {
        return total as f32;
    }
    let from_sum = total - product;
    let lost = (product - (total - from_sum)) + (sum - from_sum);
    let is_even = total.to_bits() & 1 == 0;
    let odd = match lost.partial_cmp(&0.0) {
        Some(order) if order.is_ne() && is_even => {
            let outwards = (lost > 0.0) == (total > 0.0);
            f64::from_bits(if outwards { total.to_bits() + 1 } else { total.to_bits() - 1 })
        }
        _ => total,
    };
    // 2⁶⁴ times as large it rounds with an exponent that f32 lacks.
    let scaled = (odd * 2.0_f64.powi(64)) as f32;
    if scaled.abs() < f32::MIN_POSITIVE * 2.0_f32.powi(64) {
        0.0_f32.copysign(scaled)
    } else {
        odd as f32
    }
}
