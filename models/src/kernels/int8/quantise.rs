//! Quantises one row of f32 to 8-bit integers and a scale.

#![expect(
    clippy::inline_always,
    reason = "a function that is not inlined into a lane kernel is compiled without its instructions"
)]

use crate::kernels::simd::{F32x16, Isa, Kernel, LANES};

/// Quantises a row: `to[i] = x[i] / scale` to the nearest integer, halves to even.
///
/// The scale is `max |x| / 127`: 0 for a row of zeros, and NaN, with integers of 0, for a row with
/// a number that is not finite.
pub(super) fn quantise(x: &[f32], to: &mut [i8]) -> f32 {
    Isa::best().run(Quantise { x, to })
}

struct Quantise<'a> {
    x: &'a [f32],
    to: &'a mut [i8],
}

impl Kernel for Quantise<'_> {
    type Output = f32;

    #[inline(always)]
    fn run<L: F32x16>(self) -> f32 {
        let scale = scale::<L>(self.x);
        if scale.is_nan() || scale == 0.0 {
            self.to.fill(0);
            return scale;
        }
        let divisor = L::splat(scale);
        let (vectors, rest) = self.x.as_chunks::<LANES>();
        let (to, to_rest) = self.to.as_chunks_mut::<LANES>();
        for (x, to) in vectors.iter().zip(to) {
            *to = integers(L::load(x).div(divisor));
        }
        if !rest.is_empty() {
            let last = integers(L::load_part(rest, 0.0).div(divisor));
            to_rest.copy_from_slice(&last[..rest.len()]);
        }
        scale
    }
}

/// `max |x| / 127`, or NaN if a number is not finite.
#[inline(always)]
fn scale<L: F32x16>(x: &[f32]) -> f32 {
    let zero = L::splat(0.0);
    let (mut most, mut odd) = (zero, zero);
    let (vectors, rest) = x.as_chunks::<LANES>();
    for x in vectors {
        let x = L::load(x);
        most = x.abs().max(most);
        // Zero times a number that is not finite is NaN, and NaN stays.
        odd = x.mul_add(zero, odd);
    }
    let x = L::load_part(rest, 0.0);
    most = x.abs().max(most);
    odd = x.mul_add(zero, odd);
    if odd.sum().is_nan() { f32::NAN } else { most.largest() / 127.0 }
}

/// The nearest integers. A tiny scale loses digits and can put a quotient past 127.
#[inline(always)]
fn integers<L: F32x16>(x: L) -> [i8; LANES] {
    /// 1.5 · 2²³: a number next to it is rounded to an integer, whose last byte is that of its bits.
    const SHIFT: f32 = 12_582_912.0;
    let all = x.min(L::splat(127.0)).max(L::splat(-127.0)).add(L::splat(SHIFT)).to_array();
    all.map(|x| x.to_bits().to_le_bytes()[0].cast_signed())
}
