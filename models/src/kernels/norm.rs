//! Root-mean-square normalisation of rows (Zhang and Sennrich, 2019), and its gradients.
//!
//! A row's sums run in sixteen lanes (element `i` in lane `i % 16`, in order) that are folded at
//! the end: an order that the row's width alone fixes.

#![expect(
    clippy::inline_always,
    reason = "a kernel that is not inlined is compiled without its instructions"
)]

use rayon::prelude::*;

use super::simd::{F32x16, Isa, Kernel, LANES};
use super::split::{is_large, rows_a_task};

/// Rows whose contribution to the weight's gradient is summed before it is added to the total.
const GRAD_ROWS: usize = 64;

/// The parameters common to every row: `y = x · ρ · w`, `ρ = (mean x² + ε)^−½`.
#[derive(Clone, Copy, Debug)]
pub struct RmsNorm<'a> {
    /// `[d]`.
    pub weight: &'a [f32],
    /// ε.
    pub eps: f32,
    /// Whether the factor is `1 + w` (Gemma) instead of `w`.
    pub unit_offset: bool,
}

impl RmsNorm<'_> {
    /// `x [rows, d] -> out [rows, d]`.
    pub fn forward(self, isa: Isa, x: &[f32], out: &mut [f32]) {
        self.for_rows(x, x, out, |norm, x, _, out| {
            isa.run(NormForward { norm, x, out });
        });
    }

    /// Gradient of `x [rows, d]` under `grad [rows, d]`: with `u = grad · w`,
    /// `ρ u − x ρ³ (Σ u x) / d`.
    pub fn grad_input(self, isa: Isa, x: &[f32], grad: &[f32], out: &mut [f32]) {
        self.for_rows(x, grad, out, |norm, x, grad, out| {
            isa.run(GradInput { norm, x, grad, out });
        });
    }

    /// Gradient of the weight, `out [d]`: `Σ grad · x · ρ` over the rows in order, in runs of
    /// [`GRAD_ROWS`].
    pub fn grad_weight(self, isa: Isa, x: &[f32], grad: &[f32], out: &mut [f32]) {
        let width = self.weight.len();
        let run = GRAD_ROWS * width;
        let part = |(x, grad): (&[f32], &[f32])| {
            let mut out = vec![0.0; width];
            isa.run(GradWeight { norm: self, x, grad, out: &mut out });
            out
        };
        let parts: Vec<Vec<f32>> = if is_large(x.len()) {
            x.par_chunks(run).zip(grad.par_chunks(run)).map(part).collect()
        } else {
            x.chunks(run).zip(grad.chunks(run)).map(part).collect()
        };
        out.fill(0.0);
        for part in parts {
            for (sum, term) in out.iter_mut().zip(part) {
                *sum += term;
            }
        }
    }

    /// Calls `run` with ranges of rows of the three, on as many threads as their size justifies.
    fn for_rows(
        self,
        a: &[f32],
        b: &[f32],
        out: &mut [f32],
        run: impl Fn(Self, &[f32], &[f32], &mut [f32]) + Sync,
    ) {
        if !is_large(out.len()) {
            return run(self, a, b, out);
        }
        let size = rows_a_task(self.weight.len()) * self.weight.len();
        out.par_chunks_mut(size)
            .zip(a.par_chunks(size))
            .zip(b.par_chunks(size))
            .for_each(|((out, a), b)| run(self, a, b, out));
    }

    /// The factors of lanes `at..at + 16`; zeros beyond the width.
    #[inline(always)]
    fn factor<L: F32x16>(self, at: usize) -> L {
        let w = load_or_zero::<L>(self.weight, at);
        if self.unit_offset { w.add(L::splat(1.0)) } else { w }
    }

    /// `ρ` of one row.
    #[inline(always)]
    fn rho<L: F32x16>(self, x: &[f32]) -> f32 {
        let mean = dot::<L>(x, x) / x.len() as f32;
        1.0 / (mean + self.eps).sqrt()
    }
}

struct NormForward<'a> {
    norm: RmsNorm<'a>,
    x: &'a [f32],
    out: &'a mut [f32],
}

impl Kernel for NormForward<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: F32x16>(self) {
        let d = self.norm.weight.len();
        for (x, out) in self.x.chunks_exact(d).zip(self.out.chunks_exact_mut(d)) {
            let rho = L::splat(self.norm.rho::<L>(x));
            for at in (0..d).step_by(LANES) {
                let y = load_or_zero::<L>(x, at).mul(rho).mul(self.norm.factor::<L>(at));
                put(y, out, at);
            }
        }
    }
}

struct GradInput<'a> {
    norm: RmsNorm<'a>,
    x: &'a [f32],
    grad: &'a [f32],
    out: &'a mut [f32],
}

impl Kernel for GradInput<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: F32x16>(self) {
        let d = self.norm.weight.len();
        let rows = self.x.chunks_exact(d).zip(self.grad.chunks_exact(d));
        for ((x, grad), out) in rows.zip(self.out.chunks_exact_mut(d)) {
            let rho = self.norm.rho::<L>(x);
            let mut sum = L::splat(0.0);
            for at in (0..d).step_by(LANES) {
                let u = load_or_zero::<L>(grad, at).mul(self.norm.factor::<L>(at));
                sum = u.mul_add(load_or_zero::<L>(x, at), sum);
            }
            let pull = L::splat(-(rho * rho * rho) * sum.sum() / d as f32);
            for at in (0..d).step_by(LANES) {
                let u = load_or_zero::<L>(grad, at).mul(self.norm.factor::<L>(at));
                let gx = load_or_zero::<L>(x, at).mul_add(pull, u.mul(L::splat(rho)));
                put(gx, out, at);
            }
        }
    }
}

struct GradWeight<'a> {
    norm: RmsNorm<'a>,
    x: &'a [f32],
    grad: &'a [f32],
    out: &'a mut [f32],
}

impl Kernel for GradWeight<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: F32x16>(self) {
        let d = self.norm.weight.len();
        for (x, grad) in self.x.chunks_exact(d).zip(self.grad.chunks_exact(d)) {
            let rho = L::splat(self.norm.rho::<L>(x));
            for at in (0..d).step_by(LANES) {
                let normal = load_or_zero::<L>(x, at).mul(rho);
                let sum =
                    normal.mul_add(load_or_zero::<L>(grad, at), load_or_zero::<L>(self.out, at));
                put(sum, self.out, at);
            }
        }
    }
}

/// `Σ a · b`.
#[inline(always)]
fn dot<L: F32x16>(a: &[f32], b: &[f32]) -> f32 {
    let mut sum = L::splat(0.0);
    for at in (0..a.len()).step_by(LANES) {
        sum = load_or_zero::<L>(a, at).mul_add(load_or_zero::<L>(b, at), sum);
    }
    sum.sum()
}

/// Sixteen numbers from `at`, zeros beyond the end.
#[inline(always)]
pub(super) fn load_or_zero<L: F32x16>(from: &[f32], at: usize) -> L {
    match from[at..].first_chunk() {
        Some(lanes) => L::load(lanes),
        None => L::load_part(&from[at..], 0.0),
    }
}

/// Stores sixteen lanes from `at`, as far as there is room.
#[inline(always)]
pub(super) fn put<L: F32x16>(lanes: L, to: &mut [f32], at: usize) {
    let to = &mut to[at..];
    match to.first_chunk_mut() {
        Some(to) => lanes.store(to),
        None => lanes.store_part(to),
    }
}
