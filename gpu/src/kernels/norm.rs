//! Root mean square norms of rows.

use half::bf16;

use super::{Address, count, fits, row_a_warp};
use crate::error::Result;
use crate::launch::Launch;
use crate::memory::DeviceSlice;
use crate::open::Gpu;

/// Where the normalised rows go.
#[derive(Clone, Debug)]
pub enum NormOutput {
    /// The input of a product.
    Bf16(DeviceSlice<bf16>),
    /// As they are.
    F32(DeviceSlice<f32>),
    /// Added: a norm after attention or MLP, into the residual stream.
    Add(DeviceSlice<f32>),
}

/// The weight of a norm `[n]`, and its formula `x / √(mean x² + eps) · (weight + offset)`.
#[derive(Clone, Debug)]
pub struct RowNorm {
    /// `[n]`.
    pub weight: DeviceSlice<f32>,
    /// Added to the mean square.
    pub eps: f32,
    /// 1 for Gemma, else 0.
    pub offset: f32,
}

#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
struct RawNorm {
    x: Address,
    weight: Address,
    y: Address,
    rows: u32,
    n: u32,
    eps: f32,
    offset: f32,
    output: u32,
}

/// Rows up to this length are summed by a warp, longer ones by a block: by the length alone, so that a row has the same
/// bits in any company.
const LONG_ROW: usize = 2048;

/// Normalises the rows of `x [rows, n]`.
///
/// # Errors
/// [`crate::GpuError::Argument`] for operands that do not fit.
pub fn norm(gpu: &Gpu, x: &DeviceSlice<f32>, by: &RowNorm, output: &NormOutput) -> Result<()> {
    const NAME: &str = "norm";
    let n = by.weight.len();
    let rows = x.len().checked_div(n).unwrap_or(0);
    fits(NAME, "x", x, rows * n)?;
    let (y, kind) = match output {
        NormOutput::Bf16(y) => fits(NAME, "y", y, x.len()).map(|()| (y.into(), 0))?,
        NormOutput::F32(y) => fits(NAME, "y", y, x.len()).map(|()| (y.into(), 1))?,
        NormOutput::Add(y) => fits(NAME, "y", y, x.len()).map(|()| (y.into(), 2))?,
    };
    let params = RawNorm {
        x: x.into(),
        weight: (&by.weight).into(),
        y,
        rows: count(NAME, rows)?,
        n: count(NAME, n)?,
        eps: by.eps,
        offset: by.offset,
        output: kind,
    };
    if n <= LONG_ROW {
        gpu.launch("norm_warp", row_a_warp(NAME, rows)?, &params)
    } else {
        let grid = Launch { blocks: [params.rows, 1, 1], threads: 256, shared: 32 };
        gpu.launch("norm_block", grid, &params)
    }
}
