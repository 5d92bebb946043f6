//! Row-wise kernels: normalisation, rotation, gates.

use crate::config::Activation;

/// `out = x · ρ · w`, `ρ = (mean x² + ε)^−½`, row by row of `weight.len()`; with `unit_offset`, `1 + w`.
pub fn rms_norm(x: &[f32], weight: &[f32], eps: f32, unit_offset: bool, out: &mut [f32]) {
    let d = weight.len();
    for (x, out) in x.chunks_exact(d).zip(out.chunks_exact_mut(d)) {
        let mean = x.iter().fold(0.0, |sum: f32, x| x.mul_add(*x, sum)) / d as f32;
        let rho = 1.0 / (mean + eps).sqrt();
        for ((out, x), w) in out.iter_mut().zip(x).zip(weight) {
            *out = x * rho * if unit_offset { 1.0 + w } else { *w };
        }
    }
}

/// Rotates the first `2 · half` dimensions of every head by the angles of its row, pairing dimension
/// `i` with `i + half`. `x`, `out`: `[T, heads, head_dim]`.
pub fn rotary(x: &[f32], table: &RotaryTable, head_dim: usize, out: &mut [f32]) {
    let half = table.half;
    let rows = table.cos.len() / half;
    let width = x.len() / rows.max(1);
    let angles = table
        .cos
        .chunks_exact(half)
        .zip(table.sin.chunks_exact(half));
    for ((x, out), (cos, sin)) in x
        .chunks_exact(width)
        .zip(out.chunks_exact_mut(width))
        .zip(angles)
    {
        for (x, out) in x.chunks_exact(head_dim).zip(out.chunks_exact_mut(head_dim)) {
            for i in 0..half {
                out[i] = x[i] * cos[i] - x[i + half] * sin[i];
                out[i + half] = x[i + half] * cos[i] + x[i] * sin[i];
            }
            out[2 * half..].copy_from_slice(&x[2 * half..]);
        }
    }
}

/// Cosines and sines of the rows of a batch.
#[derive(Clone, Debug, PartialEq)]
pub struct RotaryTable {
    /// `[T, half]`.
    pub cos: Vec<f32>,
    /// `[T, half]`.
    pub sin: Vec<f32>,
    /// Half the rotated dimensions.
    pub half: usize,
}

/// `out = act(gate) · up`.
pub fn gated(gate: &[f32], up: &[f32], activation: Activation, out: &mut [f32]) {
    for ((out, a), b) in out.iter_mut().zip(gate).zip(up) {
        *out = activate(*a, activation) * b;
    }
}

fn activate(x: f32, activation: Activation) -> f32 {
    match activation {
        Activation::Silu => x / (1.0 + (-x).exp()),
        Activation::Gelu => {
            0.5 * x * (1.0 + candle_core::cpu::erf::erf_f32(x * std::f32::consts::FRAC_1_SQRT_2))
        }
        Activation::GeluTanh => {
            let inner = (2.0 / std::f32::consts::PI).sqrt() * (x + 0.044_715 * x * x * x);
            0.5 * x * (1.0 + inner.tanh())
        }
    }
}
