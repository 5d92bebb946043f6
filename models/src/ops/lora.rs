//! Low-rank updates by segment of the batch.

use std::ops::Range;

use candle_core::Tensor;

use crate::error::Result;
use crate::packed::{Matrix, Weight};

/// Rows of the batch that share an adapter, and its two factors at this layer.
#[derive(Clone, Debug)]
pub struct LoraSegment<'a> {
    /// Rows of the packed batch.
    pub rows: Range<usize>,
    /// `[r, k]`.
    pub a: &'a Matrix,
    /// `[n, r]`.
    pub b: &'a Matrix,
    /// `α / r`, or `α / √r`.
    pub scale: f32,
}

/// `y [T, n] + scale · (x [T, k] · Aᵀ) · Bᵀ` on the rows of each segment; other rows of `y` keep
/// their bits. Segments are in order and do not overlap.
pub fn lora(x: &Tensor, y: Tensor, segments: &[LoraSegment<'_>]) -> Result<Tensor> {
    let mut parts = Vec::new();
    let mut at = 0;
    for s in segments {
        parts.push(y.narrow(0, at, s.rows.start - at)?);
        let len = s.rows.len();
        let inner = super::linear(
            &x.narrow(0, s.rows.start, len)?,
            &Weight::Panels(s.a.clone()),
            None,
        )?;
        let update =
            (super::linear(&inner, &Weight::Panels(s.b.clone()), None)? * f64::from(s.scale))?;
        parts.push((y.narrow(0, s.rows.start, len)? + update)?);
        at = s.rows.end;
    }
    parts.push(y.narrow(0, at, y.dim(0)? - at)?);
    Ok(Tensor::cat(&parts, 0)?)
}
