//! Rotary position embedding (Su et al., 2021), pairing dimension `i` with `i + half`.

#![expect(
    clippy::inline_always,
    reason = "a kernel that is not inlined is compiled without its instructions"
)]

use rayon::prelude::*;

use super::norm::{load_or_zero, put};
use super::simd::{F32x16, Isa, Kernel, LANES};
use super::split::{is_large, rows_a_task};

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

/// The direction of rotation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// By the angle of the position.
    Forth,
    /// By the opposite angle: the gradient of [`Turn::Forth`].
    Back,
}

/// Rotates the first `2 · half` dimensions of every head and copies the others.
#[derive(Clone, Copy, Debug)]
pub struct Rotary<'a> {
    /// The angles of every row; `half` is above 0.
    pub table: &'a RotaryTable,
    /// Width of a head, at least `2 · half`.
    pub head_dim: usize,
    /// The direction.
    pub turn: Turn,
}

impl Rotary<'_> {
    /// Rotates `x [T, heads, head_dim]` into `out` of the same shape.
    pub fn run(self, isa: Isa, x: &[f32], out: &mut [f32]) {
        let RotaryTable { cos, sin, half } = self.table;
        let width = x.len() / (cos.len() / half).max(1);
        if !is_large(x.len()) {
            let (rotary, angles) = (self, (cos.as_slice(), sin.as_slice()));
            return isa.run(RotaryRows { rotary, angles, x, out });
        }
        let rows = rows_a_task(width);
        let angles = cos.par_chunks(rows * half).zip(sin.par_chunks(rows * half));
        out.par_chunks_mut(rows * width).zip(x.par_chunks(rows * width)).zip(angles).for_each(
            |((out, x), angles)| {
                isa.run(RotaryRows { rotary: self, angles, x, out });
            },
        );
    }
}

struct RotaryRows<'a> {
    rotary: Rotary<'a>,
    /// Cosines and sines of these rows.
    angles: (&'a [f32], &'a [f32]),
    x: &'a [f32],
    out: &'a mut [f32],
}

impl Kernel for RotaryRows<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: F32x16>(self) {
        let Rotary { table, head_dim, turn } = self.rotary;
        let half = table.half;
        let sign = L::splat(match turn {
            Turn::Forth => 1.0,
            Turn::Back => -1.0,
        });
        let (cos, sin) = self.angles;
        let width = self.x.len() / (cos.len() / half).max(1);
        let rows = self.x.chunks_exact(width.max(1));
        let rows = rows.zip(self.out.chunks_exact_mut(width.max(1)));
        let angles = cos.chunks_exact(half).zip(sin.chunks_exact(half));
        for ((x, out), (cos, sin)) in rows.zip(angles) {
            for (x, out) in x.chunks_exact(head_dim).zip(out.chunks_exact_mut(head_dim)) {
                let (first, rest) = x.split_at(half);
                let (first_out, rest_out) = out.split_at_mut(half);
                for at in (0..half).step_by(LANES) {
                    let (c, s) = (load_or_zero::<L>(cos, at), load_or_zero::<L>(sin, at).mul(sign));
                    let (a, b) =
                        (load_or_zero::<L>(first, at), load_or_zero::<L>(&rest[..half], at));
                    let minus_bs = L::splat(0.0).sub(b.mul(s));
                    put(a.mul_add(c, minus_bs), first_out, at);
                    put(b.mul_add(c, a.mul(s)), &mut rest_out[..half], at);
                }
                rest_out[half..].copy_from_slice(&rest[half..]);
            }
        }
    }
}
