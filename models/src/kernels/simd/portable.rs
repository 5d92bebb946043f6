//! Sixteen lanes as an array: every target, and NEON by the compiler's own vectorising.

#![expect(
    clippy::needless_range_loop,
    reason = "several arrays in step: an index says it once, and is what the compiler vectorises"
)]

use half::{bf16, f16};

use super::{F32x16, LANES};

/// An array of lanes.
#[derive(Clone, Copy)]
pub(super) struct Array([f32; LANES]);

impl Array {
    #[inline(always)]
    fn map(self, f: impl Fn(f32) -> f32) -> Self {
        let mut all = self.0;
        for x in &mut all {
            *x = f(*x);
        }
        Array(all)
    }

    #[inline(always)]
    fn zip(self, other: Self, f: impl Fn(f32, f32) -> f32) -> Self {
        let mut all = self.0;
        for i in 0..LANES {
            all[i] = f(all[i], other.0[i]);
        }
        Array(all)
    }
}

impl F32x16 for Array {
    /// 24 registers of four lanes, where there are 32.
    const ACCUMULATORS: usize = 6;

    #[inline(always)]
    fn splat(x: f32) -> Self {
        Array([x; LANES])
    }

    #[inline(always)]
    fn load(from: &[f32; LANES]) -> Self {
        Array(*from)
    }

    #[inline(always)]
    fn load_f16(from: &[f16; LANES]) -> Self {
        let mut all = [0.0; LANES];
        for (x, from) in all.iter_mut().zip(from) {
            *x = from.to_f32();
        }
        Array(all)
    }

    #[inline(always)]
    fn load_bf16(from: &[bf16; LANES]) -> Self {
        let mut all = [0.0; LANES];
        for (x, from) in all.iter_mut().zip(from) {
            *x = f32::from_bits(u32::from(from.to_bits()) << 16);
        }
        Array(all)
    }

    #[inline(always)]
    fn store(self, to: &mut [f32; LANES]) {
        *to = self.0;
    }

    #[inline(always)]
    fn mul_add(self, a: Self, b: Self) -> Self {
        let mut all = self.0;
        for i in 0..LANES {
            all[i] = all[i].mul_add(a.0[i], b.0[i]);
        }
        Array(all)
    }

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        self.zip(other, |a, b| a + b)
    }

    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        self.zip(other, |a, b| a - b)
    }

    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        self.zip(other, |a, b| a * b)
    }

    #[inline(always)]
    fn div(self, other: Self) -> Self {
        self.zip(other, |a, b| a / b)
    }

    #[inline(always)]
    fn sqrt(self) -> Self {
        self.map(f32::sqrt)
    }

    #[inline(always)]
    fn max(self, other: Self) -> Self {
        self.zip(other, |a, b| if a > b { a } else { b })
    }

    #[inline(always)]
    fn min(self, other: Self) -> Self {
        self.zip(other, |a, b| if a < b { a } else { b })
    }

    #[inline(always)]
    fn abs(self) -> Self {
        self.map(f32::abs)
    }

    #[inline(always)]
    fn round(self) -> Self {
        self.map(f32::round_ties_even)
    }

    #[inline(always)]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "lanes are integers from -126 to 127; `as` saturates on others"
    )]
    fn exp2i(self) -> Self {
        self.map(|x| f32::from_bits((x as i32).wrapping_add(127).cast_unsigned() << 23))
    }

    #[inline(always)]
    fn select_gt(self, other: Self, yes: Self, no: Self) -> Self {
        let mut all = no.0;
        for i in 0..LANES {
            if self.0[i] > other.0[i] {
                all[i] = yes.0[i];
            }
        }
        Array(all)
    }
}
