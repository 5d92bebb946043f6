//! Low-rank updates `y += s · (x · Aᵀ) · Bᵀ` on ranges of rows, each with factors of its own.
//!
//! A row's update is two chains, along the input and along the rank, so it depends neither on the
//! other rows nor on the other segments.

use std::ops::Range;

use rayon::prelude::*;

use super::backward;
use super::bf16_dot;
use super::bf16_pairs::Bf16Matrix;
use super::gemm::{self, Addends, LowRank, SecondFactor, add_updates};
use super::simd::Isa;
use crate::kernels::panels::{PANEL, Panels};

/// Rows that share factors.
#[derive(Clone, Debug)]
pub struct Segment<'a> {
    /// Rows of the batch.
    pub rows: Range<usize>,
    /// `[r, k]`, or `[vocab, r]` for tokens.
    pub a: Panels<'a>,
    /// `[n, r]`.
    pub b: Panels<'a>,
    /// Factor on the update.
    pub scale: f32,
}

/// Rows that share factors of bf16, where the layer's product rounds its rows as well.
#[derive(Clone, Debug)]
pub struct RoundedSegment<'a> {
    /// Rows of the batch.
    pub rows: Range<usize>,
    /// `[r, k]`.
    pub a: &'a Bf16Matrix,
    /// `[n, r]`.
    pub b: &'a Bf16Matrix,
    /// Factor on the update.
    pub scale: f32,
}

/// The input of the first factor.
#[derive(Clone, Copy, Debug)]
pub enum Input<'a> {
    /// Activations `[T, k]`.
    Rows(&'a [f32]),
    /// One-hot rows `[T]`, by the index of the one: a token selects a row of `A [vocab, r]`.
    Tokens(&'a [u32]),
}

impl Input<'_> {
    /// `x · Aᵀ` of a segment's rows: `[rows, r]`.
    fn shrink(self, segment: &Segment<'_>) -> Vec<f32> {
        let rows = segment.rows.clone();
        let rank = segment.b.k;
        let mut inner = vec![0.0; rows.len() * rank];
        match self {
            Input::Rows(x) => {
                let k = segment.a.k;
                let x = &x[rows.start * k..rows.end * k];
                gemm::matmul(x, segment.a, Addends::default(), &mut inner);
            }
            Input::Tokens(ids) => {
                for (id, inner) in ids[rows].iter().zip(inner.chunks_exact_mut(rank)) {
                    for (i, value) in inner.iter_mut().enumerate() {
                        *value = gemm::at(segment.a, *id as usize, i);
                    }
                }
            }
        }
        inner
    }

    /// Adds the gradient of `A`, in panels, from that of a segment's `x · Aᵀ`.
    fn grad_factor(self, segment: &Segment<'_>, grad: &[f32], out: &mut [f32]) {
        let rows = segment.rows.clone();
        let rank = segment.b.k;
        match self {
            Input::Rows(x) => {
                let k = segment.a.k;
                backward::grad_weight(&x[rows.start * k..rows.end * k], grad, rank, k, out);
            }
            Input::Tokens(ids) => {
                for (id, grad) in ids[rows].iter().zip(grad.chunks_exact(rank)) {
                    let (panel, lane) = (*id as usize / PANEL, *id as usize % PANEL);
                    for (i, value) in grad.iter().enumerate() {
                        out[(panel * rank + i) * PANEL + lane] += value;
                    }
                }
            }
        }
    }
}

/// The updates of all segments, for the product whose output they change or for [`add_updates`].
/// Segments are in order and do not overlap.
pub fn updates<'a>(input: Input<'_>, segments: &[Segment<'a>]) -> Vec<LowRank<'a>> {
    let isa = Isa::best();
    let update = |segment: &Segment<'a>| {
        let b = SecondFactor::Panels(segment.b);
        LowRank::new(isa, segment.rows.clone(), input.shrink(segment), b, segment.scale)
    };
    let work = |segment: &Segment<'_>| segment.rows.len() * segment.a.k * segment.a.n;
    each(segments, work, update)
}

/// As [`updates`] of rows `x [T, k]`, with both factors multiplied as [`bf16_dot`] multiplies.
pub fn rounded_updates<'a>(x: &[f32], segments: &[RoundedSegment<'a>]) -> Vec<LowRank<'a>> {
    rounded_updates_by(Isa::best(), x, segments)
}

/// [`rounded_updates`] on these instructions.
pub(super) fn rounded_updates_by<'a>(
    isa: Isa,
    x: &[f32],
    segments: &[RoundedSegment<'a>],
) -> Vec<LowRank<'a>> {
    let update = |segment: &RoundedSegment<'a>| {
        let (rows, k) = (segment.rows.clone(), segment.a.k());
        let mut inner = vec![0.0; rows.len() * segment.a.n()];
        let x = &x[rows.start * k..rows.end * k];
        bf16_dot::product(isa, x, segment.a, Addends::default(), &mut inner);
        LowRank::new(isa, rows, inner, SecondFactor::Pairs(segment.b), segment.scale)
    };
    let work = |segment: &RoundedSegment<'_>| segment.rows.len() * segment.a.k() * segment.a.n();
    each(segments, work, update)
}

/// The updates of all segments, on several threads if there is `work` (multiply-adds) for them.
fn each<'a, S: Sync>(
    segments: &[S],
    work: impl Fn(&S) -> usize,
    update: impl Fn(&S) -> LowRank<'a> + Send + Sync,
) -> Vec<LowRank<'a>> {
    /// Below this number of multiply-adds one thread computes everything.
    const SMALLEST_SHARED: usize = 1 << 18;
    if segments.len() < 2 || segments.iter().map(work).sum::<usize>() < SMALLEST_SHARED {
        segments.iter().map(update).collect()
    } else {
        segments.par_iter().map(update).collect()
    }
}

/// Adds the updates of all segments to `y [T, n]`.
pub fn add(input: Input<'_>, segments: &[Segment<'_>], y: &mut [f32]) {
    if let Some(first) = segments.first() {
        add_updates(&updates(input, segments), first.b.n, y);
    }
}

/// Destinations of the gradients. All are added to.
#[derive(Debug)]
pub struct LoraGradients<'a> {
    /// Gradient of the input `[T, k]`; `None` for tokens, and for an input without gradient.
    pub x: Option<&'a mut [f32]>,
    /// Gradients of all factors, in panels end to end, and for each segment the offsets of its `A`
    /// and `B`. Segments may share factors.
    pub factors: Option<(&'a mut [f32], Vec<[usize; 2]>)>,
}

/// The backward of [`add`], with `grad [T, n]` upstream of `y`: `gB = s · gᵀ · (A x)`,
/// `gA = s · (Bᵀ g)ᵀ · x`, `gx = s · (g · B) · A`. `A x` is recomputed. Sums over rows run in
/// ascending order through all segments that share factors.
pub fn add_backward(
    input: Input<'_>,
    segments: &[Segment<'_>],
    grad: &[f32],
    gradients: &mut LoraGradients<'_>,
) {
    for (index, segment) in segments.iter().enumerate() {
        let (n, rank) = (segment.b.n, segment.b.k);
        let rows = segment.rows.clone();
        let grad = &grad[rows.start * n..rows.end * n];
        let mut inner_grad = vec![0.0; rows.len() * rank];
        backward::grad_input(grad, segment.b, &mut inner_grad);
        scale(&mut inner_grad, segment.scale);
        if let Some((out, at)) = &mut gradients.factors {
            let [a, b] = at[index];
            let mut inner = input.shrink(segment);
            scale(&mut inner, segment.scale);
            backward::grad_weight(&inner, grad, n, rank, panels_at(out, b, segment.b));
            input.grad_factor(segment, &inner_grad, panels_at(out, a, segment.a));
        }
        if let Some(x) = &mut gradients.x {
            let k = segment.a.k;
            let x = &mut x[rows.start * k..rows.end * k];
            backward::grad_input(&inner_grad, segment.a, x);
        }
    }
}

fn panels_at<'o>(all: &'o mut [f32], at: usize, like: Panels<'_>) -> &'o mut [f32] {
    &mut all[at..][..like.n.div_ceil(PANEL) * like.k * PANEL]
}

fn scale(values: &mut [f32], factor: f32) {
    for value in values {
        *value *= factor;
    }
}

#[cfg(test)]
mod tests;
