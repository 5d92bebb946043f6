//! Gated activations `act(gate) · up` (Shazeer, 2020), element by element, and their gradients.

#![expect(
    clippy::inline_always,
    reason = "a kernel that is not inlined is compiled without its instructions"
)]

use std::f32::consts::FRAC_1_SQRT_2;

use rayon::prelude::*;

use super::exp::{erf, exp, sigmoid, tanh};
use super::norm::{load_or_zero, put};
use super::simd::{F32x16, Isa, Kernel, LANES};
use super::split::{is_large, rows_a_task};
use crate::config::Activation;

/// `out = act(gate) · up`; all of one length.
pub fn forward(isa: Isa, activation: Activation, gate: &[f32], up: &[f32], out: &mut [f32]) {
    let run = |gate: &[f32], up: &[f32], out: &mut [f32]| match activation {
        Activation::Silu => isa.run(GatedForward(Silu, gate, up, out)),
        Activation::Gelu => isa.run(GatedForward(Gelu, gate, up, out)),
        Activation::GeluTanh => isa.run(GatedForward(GeluTanh, gate, up, out)),
    };
    if !is_large(out.len()) {
        return run(gate, up, out);
    }
    let size = rows_a_task(1);
    out.par_chunks_mut(size)
        .zip(gate.par_chunks(size))
        .zip(up.par_chunks(size))
        .for_each(|((out, gate), up)| run(gate, up, out));
}

/// The operands of [`backward`].
#[derive(Clone, Copy, Debug)]
pub struct Operands<'a> {
    /// Argument of the activation.
    pub gate: &'a [f32],
    /// The other factor.
    pub up: &'a [f32],
    /// Gradient of the product.
    pub grad: &'a [f32],
}

/// Gradients of gate, `grad · up · act′(gate)`, and of up, `grad · act(gate)`.
pub fn backward(
    isa: Isa,
    activation: Activation,
    operands: Operands<'_>,
    grad_gate: &mut [f32],
    grad_up: &mut [f32],
) {
    let run = |operands: Operands<'_>, to: (&mut [f32], &mut [f32])| match activation {
        Activation::Silu => isa.run(Backward(Silu, operands, to)),
        Activation::Gelu => isa.run(Backward(Gelu, operands, to)),
        Activation::GeluTanh => isa.run(Backward(GeluTanh, operands, to)),
    };
    if !is_large(grad_up.len()) {
        return run(operands, (grad_gate, grad_up));
    }
    let size = rows_a_task(1);
    let Operands { gate, up, grad } = operands;
    let to = grad_gate.par_chunks_mut(size).zip(grad_up.par_chunks_mut(size));
    let from = gate.par_chunks(size).zip(up.par_chunks(size));
    to.zip(from.zip(grad.par_chunks(size)))
        .for_each(|(to, ((gate, up), grad))| run(Operands { gate, up, grad }, to));
}

/// An activation and its derivative.
trait Gate: Copy {
    fn value<L: F32x16>(x: L) -> L;
    fn slope<L: F32x16>(x: L) -> L;
}

/// `x σ(x)`; derivative `σ(x) (1 + x (1 − σ(x)))`.
#[derive(Clone, Copy)]
struct Silu;

impl Gate for Silu {
    #[inline(always)]
    fn value<L: F32x16>(x: L) -> L {
        x.div(exp(L::splat(0.0).sub(x)).add(L::splat(1.0)))
    }

    #[inline(always)]
    fn slope<L: F32x16>(x: L) -> L {
        let one = L::splat(1.0);
        let s = sigmoid(x);
        s.mul(x.mul_add(one.sub(s), one))
    }
}

/// `x Φ(x)` with the normal distribution Φ; derivative `Φ(x) + x φ(x)`.
#[derive(Clone, Copy)]
struct Gelu;

impl Gelu {
    #[inline(always)]
    fn phi<L: F32x16>(x: L) -> L {
        let half = L::splat(0.5);
        erf(x.mul(L::splat(FRAC_1_SQRT_2))).mul_add(half, half)
    }
}

impl Gate for Gelu {
    #[inline(always)]
    fn value<L: F32x16>(x: L) -> L {
        x.mul(Self::phi(x))
    }

    #[inline(always)]
    fn slope<L: F32x16>(x: L) -> L {
        /// `1 / √(2π)`.
        const DENSITY_AT_0: f32 = 0.398_942_3;
        let density = exp(x.mul(x).mul(L::splat(-0.5))).mul(L::splat(DENSITY_AT_0));
        x.mul_add(density, Self::phi(x))
    }
}

/// `x/2 (1 + tanh u)`, `u = √(2/π) (x + 0.044715 x³)`; derivative
/// `(1 + t)/2 + x/2 (1 − t²) u′` with `t = tanh u`.
#[derive(Clone, Copy)]
struct GeluTanh;

/// `√(2/π)`.
const SLOPE_AT_0: f32 = 0.797_884_6;
const CUBIC: f32 = 0.044_715;

impl GeluTanh {
    /// `tanh u` and `x²`.
    #[inline(always)]
    fn tanh<L: F32x16>(x: L) -> (L, L) {
        let square = x.mul(x);
        let inner = square.mul_add(L::splat(CUBIC), L::splat(1.0));
        (tanh(x.mul(inner).mul(L::splat(SLOPE_AT_0))), square)
    }
}

impl Gate for GeluTanh {
    #[inline(always)]
    fn value<L: F32x16>(x: L) -> L {
        let (t, _) = Self::tanh(x);
        let half = x.mul(L::splat(0.5));
        half.mul_add(t, half)
    }

    #[inline(always)]
    fn slope<L: F32x16>(x: L) -> L {
        // Beyond 16 the slope is 0 or 1 to the last place, and x² would overflow.
        let x = L::splat(16.0).min(L::splat(-16.0).max(x));
        let (t, square) = Self::tanh(x);
        let (half, one) = (L::splat(0.5), L::splat(1.0));
        let inner = square.mul_add(L::splat(3.0 * CUBIC), one).mul(L::splat(SLOPE_AT_0));
        let bend = one.sub(t.mul(t)).mul(inner).mul(x);
        bend.mul_add(half, t.mul_add(half, half))
    }
}

struct GatedForward<'a, G>(G, &'a [f32], &'a [f32], &'a mut [f32]);

impl<G: Gate> Kernel for GatedForward<'_, G> {
    type Output = ();

    #[inline(always)]
    fn run<L: F32x16>(self) {
        let GatedForward(_, gate, up, out) = self;
        for at in (0..out.len()).step_by(LANES) {
            put(G::value(load_or_zero::<L>(gate, at)).mul(load_or_zero(up, at)), out, at);
        }
    }
}

struct Backward<'a, G>(G, Operands<'a>, (&'a mut [f32], &'a mut [f32]));

impl<G: Gate> Kernel for Backward<'_, G> {
    type Output = ();

    #[inline(always)]
    fn run<L: F32x16>(self) {
        let Backward(_, operands, (grad_gate, grad_up)) = self;
        for at in (0..grad_up.len()).step_by(LANES) {
            let x = load_or_zero::<L>(operands.gate, at);
            let grad = load_or_zero::<L>(operands.grad, at);
            let slope = G::slope(x).mul(load_or_zero(operands.up, at));
            put(grad.mul(slope), grad_gate, at);
            put(grad.mul(G::value(x)), grad_up, at);
        }
    }
}
