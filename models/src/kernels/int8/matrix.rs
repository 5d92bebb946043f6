//! Matrices of 8-bit integers in panels.

use super::quantise::quantise;
use crate::error::{ModelError, Result};
use crate::kernels::panels::PANEL;

/// Adjacent columns of `k`.
pub(super) const QUAD: usize = 4;

/// Maximum row length whose sums fit 32 bits: `k · 127² < 2³¹`.
pub const MOST_COLUMNS: usize = i32::MAX as usize / (127 * 127);

/// Four columns of sixteen channels: the operand of one instruction.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(64))]
pub(super) struct Quads(pub(super) [[i8; QUAD]; PANEL]);

/// A matrix `[n, k]` of 8-bit integers, with one scale per output channel.
///
/// Panels of sixteen channels, as in [`crate::packed`], but with four adjacent columns of `k`:
/// `[n.div_ceil(16), k.div_ceil(4), 16, 4]`, padded with zeros.
#[derive(Clone, Debug)]
pub struct Int8Matrix {
    pub(super) quads: Vec<Quads>,
    /// `[panels · 16]`.
    pub(super) scales: Vec<f32>,
    /// Sum of each channel's integers, `[panels · 16]`, to correct for an offset of the
    /// activations.
    pub(super) sums: Vec<i32>,
    pub(super) n: usize,
    pub(super) k: usize,
}

impl Int8Matrix {
    /// Quantises a row-major matrix `rows [n, k]`.
    ///
    /// # Errors
    /// [`ModelError::Batch`] for rows longer than [`MOST_COLUMNS`], if there are not `n · k`
    /// numbers, and for a number that is not finite.
    pub fn quantise(rows: &[f32], n: usize, k: usize) -> Result<Int8Matrix> {
        let mut matrix = Self::zeros(n, k)?;
        matrix.set_rows(0, rows)?;
        Ok(matrix)
    }

    /// A matrix of zeros, to be filled by [`Int8Matrix::set_rows`], so that a loader need not hold
    /// the matrix in f32.
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
    /// [`ModelError::Batch`] for rows that are incomplete or not in the matrix, and for a number
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

    /// The matrix's memory in bytes.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.quads) + size_of_val(&*self.scales) + size_of_val(&*self.sums)
    }
}
