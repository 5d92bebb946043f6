//! The 8-bit path: weights quantised by output channel, activations by row.
//!
//! `W [n, k] ≈ s_c · w`, `x [m, k] ≈ s_r · q` with `s = max |·| / 127` and integers rounded to the
//! nearest, halves to even (symmetric quantisation, as in LLM.int8, Dettmers et al., 2022, without
//! its outlier columns). The sum `Σ q · w` is exact in 32 bits, so no order shows in it, and a row
//! is quantised by itself: a row's bits depend on that row alone, on every instruction set.

mod dot;
mod product;
mod quantise;
#[cfg(test)]
mod tests;
mod tile;

use crate::error::{ModelError, Result};
use crate::packed::PANEL;
use dot::{DotIsa, QUAD};
use product::Product;
use quantise::quantise;

/// Longest rows whose sums fit 32 bits: `k · 127² < 2³¹`.
pub const MOST_COLUMNS: usize = i32::MAX as usize / (127 * 127);

/// Four columns of sixteen channels: what one instruction multiplies.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(64))]
struct Quads([[i8; QUAD]; PANEL]);

/// A matrix `[n, k]` of 8-bit integers, with one scale an output channel.
///
/// Panels of sixteen channels, as [`crate::packed`] has them, but with four columns of `k` side by
/// side: `[n.div_ceil(16), k.div_ceil(4), 16, 4]`, filled with zeros.
#[derive(Clone, Debug)]
pub struct Int8Matrix {
    quads: Vec<Quads>,
    /// `[panels · 16]`.
    scales: Vec<f32>,
    /// Sum of each channel's integers, `[panels · 16]`: what an offset of the activations adds.
    sums: Vec<i32>,
    n: usize,
    k: usize,
}

impl Int8Matrix {
    /// Quantises a row-major matrix `rows [n, k]`.
    ///
    /// # Errors
    /// [`ModelError::Batch`] for rows longer than [`MOST_COLUMNS`], for another number of numbers
    /// than `n · k`, and for a number that is not finite.
    pub fn quantise(rows: &[f32], n: usize, k: usize) -> Result<Int8Matrix> {
        let mut matrix = Self::zeros(n, k)?;
        matrix.set_rows(0, rows)?;
        Ok(matrix)
    }

    /// A matrix of zeros, to be filled by [`Int8Matrix::set_rows`]: so that a loader need not hold
    /// the whole matrix in f32.
    ///
    /// # Errors
    /// [`ModelError::Batch`] for rows longer than [`MOST_COLUMNS`].
    pub fn zeros(n: usize, k: usize) -> Result<Int8Matrix> {
        if k > MOST_COLUMNS {
            return Err(ModelError::Batch(format!(
                "an 8-bit matrix has rows of {k} columns; sums fit 32 bits up to {MOST_COLUMNS}"
            )));
        }
        let panels = n.div_ceil(PANEL);
        Ok(Int8Matrix {
            quads: vec![Quads::default(); panels * k.div_ceil(QUAD)],
            scales: vec![0.0; panels * PANEL],
            sums: vec![0; panels * PANEL],
            n,
            k,
        })
    }

    /// Quantises `rows [_, k]` as the matrix's rows from `first` on.
    ///
    /// # Errors
    /// [`ModelError::Batch`] for rows that are not whole or not in the matrix, and for a number
    /// that is not finite, with its place.
    pub fn set_rows(&mut self, first: usize, rows: &[f32]) -> Result<()> {
        let (n, k) = (self.n, self.k);
        if k == 0 && rows.is_empty() {
            return Ok(());
        }
        if k == 0 || !rows.len().is_multiple_of(k) || first > n || rows.len() / k > n - first {
            return Err(ModelError::Batch(format!(
                "{} numbers from row {first} on are not rows of an 8-bit [{n}, {k}] matrix",
                rows.len()
            )));
        }
        let mut integers = vec![0; k];
        for (row, numbers) in (first..).zip(rows.chunks_exact(k)) {
            let scale = quantise(numbers, &mut integers);
            if scale.is_nan() {
                return Err(ModelError::Batch(format!(
                    "row {row} of a weight to be quantised holds a number that is not finite"
                )));
            }
            self.set_row(row, scale, &integers);
        }
        Ok(())
    }

    fn set_row(&mut self, row: usize, scale: f32, integers: &[i8]) {
        let depth = self.k.div_ceil(QUAD);
        let panel = &mut self.quads[row / PANEL * depth..][..depth];
        for (quads, four) in panel.iter_mut().zip(integers.chunks(QUAD)) {
            quads.0[row % PANEL][..four.len()].copy_from_slice(four);
        }
        self.scales[row] = scale;
        self.sums[row] = integers.iter().map(|w| i32::from(*w)).sum();
    }

    /// Output columns.
    pub fn n(&self) -> usize {
        self.n
    }

    /// Input columns.
    pub fn k(&self) -> usize {
        self.k
    }

    /// Memory that the matrix holds, in bytes.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.quads) + size_of_val(&*self.scales) + size_of_val(&*self.sums)
    }
}

/// `out [m, n] = x [m, k] · Wᵀ (+ bias [n])` with each row of `x` quantised by itself:
/// `Σ q w as f32 · (s_r · s_c) + bias`.
///
/// A row of `x` that holds a number that is not finite gives a row of NaN. The number of rows is
/// that of `out`. Runs on the current rayon pool where the product is large enough to gain by it.
pub fn matmul_int8(x: &[f32], weight: &Int8Matrix, bias: Option<&[f32]>, out: &mut [f32]) {
    product(DotIsa::best(), x, weight, bias, out);
}

/// The product without bias by every set of instructions that this CPU has, narrow to wide, with
/// their names; `len` is rows times output columns.
pub(super) fn by_instructions(
    x: &[f32],
    weight: &Int8Matrix,
    len: usize,
) -> Vec<(&'static str, Vec<f32>)> {
    let by = |isa: DotIsa| {
        let mut out = vec![0.0; len];
        product(isa, x, weight, None, &mut out);
        (isa.name(), out)
    };
    DotIsa::available().into_iter().map(by).collect()
}

fn product(isa: DotIsa, x: &[f32], weight: &Int8Matrix, bias: Option<&[f32]>, out: &mut [f32]) {
    if weight.n > 0 && !out.is_empty() {
        isa.product(&Product::new(x, weight, bias), out);
    }
}
