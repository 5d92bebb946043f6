//! exp, tanh, erf and the logistic function over lanes.
//!
//! They are implemented here so that a number has the same bits in every lane, at every width and
//! on every machine; a system's mathematical library promises none of it. Coefficients are minimax
//! fits (Lawson's iteration on Chebyshev nodes, each coefficient rounded to f32 before the next was
//! fitted). A NaN gives a NaN.

#![expect(
    clippy::inline_always,
    reason = "a lane operation that is not inlined is compiled without its instructions"
)]

use super::simd::{F32x16, Kernel, LANES};

/// `e^x` within 1 ulp: 0 below −104, infinite above 88.8, gradual underflow between.
///
/// `x = n · ln 2 + r`, `|r| ≤ ln 2 / 2`, with `ln 2` in two parts of which the first has few bits,
/// so that `n` times it is exact (Cody and Waite, 1980); `e^r` by a polynomial; and the scaling by
/// `2^n` in two steps, so that neither leaves the range of an exponent.
#[inline(always)]
pub fn exp<L: F32x16>(x: L) -> L {
    // The operand returned for a NaN comes second.
    let x = L::splat(89.0).min(L::splat(-104.0).max(x));
    let n = x.mul(L::splat(std::f32::consts::LOG2_E)).round();
    let r = n.mul_add(L::splat(-0.693_359_4), x);
    let r = n.mul_add(L::splat(2.121_944_4e-4), r);
    let p =
        polynomial(r, [0.499_999_94, 0.166_665_21, 0.041_668_26, 0.008_368_666, 0.001_382_123_6]);
    let power = r.mul(r).mul_add(p, r).add(L::splat(1.0));
    let half = n.mul(L::splat(0.5)).round();
    power.mul(half.exp2i()).mul(n.sub(half).exp2i())
}

/// `tanh x` within 2 ulp.
#[inline(always)]
pub fn tanh<L: F32x16>(x: L) -> L {
    let square = x.mul(x);
    let p = polynomial(
        square,
        [-0.333_332_8, 0.133_314_06, -0.053_736_515, 0.020_628_167, -0.005_692_296],
    );
    let small = square.mul(x).mul_add(p, x);
    let one = L::splat(1.0);
    let e = exp(x.abs().add(x.abs()));
    let large = one.sub(L::splat(2.0).div(e.add(one)));
    x.abs().select_gt(L::splat(0.625), with_sign(large, x), small)
}

/// `erf x` within 2 ulp: an odd polynomial near 0, `1 − e^−t(1 + q(t))` beyond.
#[inline(always)]
pub fn erf<L: F32x16>(x: L) -> L {
    let p = polynomial(
        x.mul(x),
        [0.128_379_15, -0.376_124_9, 0.112_817_31, -0.026_762_964, 0.004_987_348, -0.000_595_955_5],
    );
    let small = x.mul_add(p, x);
    // From 4 on the value is 1, and the polynomial is not valid.
    let t = x.abs().min(L::splat(4.0));
    let q = polynomial(
        t,
        [
            0.128_514_36,
            0.635_718_3,
            0.105_261_91,
            -0.022_890_022,
            0.003_214_978_8,
            -0.000_213_988_36,
        ],
    );
    let one = L::splat(1.0);
    let tail = exp(L::splat(0.0).sub(t.mul_add(q, t)));
    let large = with_sign(one.sub(tail), x);
    x.abs().select_gt(L::splat(0.92), large, small)
}

/// `1 / (1 + e^−x)` within 2.5 ulp, and 0 where `e^−x` is infinite (below −88.7).
#[inline(always)]
pub fn sigmoid<L: F32x16>(x: L) -> L {
    let one = L::splat(1.0);
    one.div(exp(L::splat(0.0).sub(x)).add(one))
}

/// `cap · tanh(x / cap)`: a soft bound on logits and attention scores (Gemma 2).
#[inline(always)]
pub fn softcap<L: F32x16>(x: L, cap: f32) -> L {
    tanh(x.div(L::splat(cap))).mul(L::splat(cap))
}

/// `c₀ + c₁ x + c₂ x² + …` by Horner's rule.
#[inline(always)]
fn polynomial<L: F32x16, const N: usize>(x: L, coefficients: [f32; N]) -> L {
    let mut sum = L::splat(coefficients[N - 1]);
    for c in coefficients.iter().rev().skip(1) {
        sum = sum.mul_add(x, L::splat(*c));
    }
    sum
}

/// `magnitude` with the sign of `x`.
#[inline(always)]
fn with_sign<L: F32x16>(magnitude: L, x: L) -> L {
    let zero = L::splat(0.0);
    x.select_gt(zero, magnitude, zero.sub(magnitude))
}

/// A function of one number, over lanes.
pub trait Unary: Copy + Sync {
    /// The function's value; implement with `#[inline(always)]`.
    fn apply<L: F32x16>(self, x: L) -> L;
}

/// Applies a function to every number of a slice.
pub struct Map<'a, F> {
    /// The function.
    pub function: F,
    /// Its arguments.
    pub from: &'a [f32],
    /// As long as `from`.
    pub to: &'a mut [f32],
}

impl<F: Unary> Kernel for Map<'_, F> {
    type Output = ();

    #[inline(always)]
    fn run<L: F32x16>(self) {
        let (from, from_rest) = self.from.as_chunks::<LANES>();
        let (to, to_rest) = self.to.as_chunks_mut::<LANES>();
        for (from, to) in from.iter().zip(to) {
            self.function.apply(L::load(from)).store(to);
        }
        self.function.apply(L::load_part(from_rest, 0.0)).store_part(to_rest);
    }
}

#[cfg(test)]
mod tests {
    use super::{F32x16, Map, Unary, erf, exp, sigmoid, tanh};
    use crate::kernels::simd::Isa;

    macro_rules! unary {
        ($name:ident, $function:ident) => {
            #[derive(Clone, Copy)]
            struct $name;
            impl Unary for $name {
                #[inline(always)]
                fn apply<L: F32x16>(self, x: L) -> L {
                    $function(x)
                }
            }
        };
    }
    unary!(Exp, exp);
    unary!(Tanh, tanh);
    unary!(Erf, erf);
    unary!(Sigmoid, sigmoid);

    /// Every `STRIDE`-th pattern of bits: about a million numbers of every size and sign.
    const STRIDE: usize = 4099;

    fn patterns() -> Vec<f32> {
        (0..=u32::MAX).step_by(STRIDE).map(f32::from_bits).collect()
    }

    fn values(isa: Isa, function: impl Unary, from: &[f32]) -> Vec<f32> {
        let mut to = vec![0.0; from.len()];
        isa.run(Map { function, from, to: &mut to });
        to
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::float_cmp,
        reason = "the nearest f32 is meant, and equal means equal"
    )]
    /// Distance in units of the last place of the f32 nearest to `want`.
    fn ulps(got: f32, want: f64) -> f64 {
        let nearest = want as f32;
        if f64::from(got) == want || (got.is_infinite() && got == nearest) {
            return 0.0;
        }
        let next = f32::from_bits(nearest.abs().to_bits() + 1);
        (f64::from(got) - want).abs() / f64::from(next - nearest.abs())
    }

    fn check(function: impl Unary, exact: impl Fn(f64) -> f64, from: f32, allowed: f64) {
        let mut inputs = patterns();
        inputs.retain(|x| x.is_nan() || *x >= from);
        for isa in Isa::available() {
            let mut worst = (0.0, 0.0);
            for (x, got) in inputs.iter().zip(values(isa, function, &inputs)) {
                if x.is_nan() {
                    assert!(got.is_nan(), "a NaN gives {got} ({})", isa.name());
                    continue;
                }
                let off = ulps(got, exact(f64::from(*x)));
                assert!(off <= allowed, "at {x:e}: {got:e} is off by {off} ulp");
                worst = if off > worst.0 { (off, *x) } else { worst };
            }
            println!("{}: {} ulp at {:e}", isa.name(), worst.0, worst.1);
        }
    }

    #[test]
    fn functions_are_accurate_to_the_last_places() {
        check(Exp, f64::exp, f32::NEG_INFINITY, 1.0);
        check(Tanh, f64::tanh, f32::NEG_INFINITY, 2.0);
        check(Erf, candle_core::cpu::erf::erf_f64, f32::NEG_INFINITY, 2.0);
        check(Sigmoid, |x| 1.0 / (1.0 + (-x).exp()), -88.0, 2.5);
    }

    #[test]
    fn bits_depend_on_neither_lane_nor_width() {
        let inputs = patterns();
        let bits = |v: Vec<f32>| v.into_iter().map(f32::to_bits).collect::<Vec<_>>();
        let plain = bits(values(Isa::available()[0], Exp, &inputs));
        for isa in Isa::available() {
            assert_eq!(bits(values(isa, Exp, &inputs)), plain, "{}", isa.name());
            assert_eq!(bits(values(isa, Exp, &inputs[5..])), plain[5..]);
        }
    }

    #[test]
    fn functions_are_exact_at_the_ends_of_the_range() {
        let at = |x: f32| values(Isa::best(), Exp, &[x])[0];
        for (x, want) in [
            (f32::NEG_INFINITY, 0.0),
            (-104.0, 0.0),
            (0.0, 1.0),
            (-0.0, 1.0),
            (89.0, f32::INFINITY),
            (f32::INFINITY, f32::INFINITY),
        ] {
            assert_eq!(at(x).to_bits(), f32::to_bits(want), "exp({x})");
        }
    }
}
