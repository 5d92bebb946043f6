//! `x · Wᵀ + b` over weights that are only served, bf16 pairs and 8-bit integers, with the updates of
//! adapters.

use std::ops::Range;
use std::sync::Arc;

use candle_core::{
    CpuStorage, CustomOp1, CustomOp2, Layout, Result as TensorResult, Shape, Tensor,
};

use super::lora::{check_rows, misfit};
use super::operands::check_operands;
use super::storage::f32s;
use crate::error::Result;
use crate::kernels::bf16_dot::matmul_bf16;
use crate::kernels::bf16_pairs::Bf16Matrix;
use crate::kernels::gemm::Addends;
use crate::kernels::int8::{Int8Matrix, matmul_int8};
use crate::kernels::lora::{RoundedSegment, rounded_updates};

/// Rows of the batch that share an adapter, and its two factors at a layer whose product rounds.
#[derive(Clone, Debug)]
pub struct RoundedLora {
    /// Rows of the packed batch.
    pub rows: Range<usize>,
    /// `[r, k]`.
    pub a: Arc<Bf16Matrix>,
    /// `[n, r]`.
    pub b: Arc<Bf16Matrix>,
    /// `α / r`, or `α / √r`.
    pub scale: f32,
}

impl RoundedLora {
    fn segment(&self) -> RoundedSegment<'_> {
        RoundedSegment { rows: self.rows.clone(), a: &self.a, b: &self.b, scale: self.scale }
    }
}

/// A matrix `[n, k]` whose product rounds each row of its other operand.
pub trait ServedMatrix: Send + Sync {
    /// The operation in errors.
    const OP: &'static str;
    /// `[n, k]`.
    fn shape(&self) -> [usize; 2];
    /// `out [m, n] = x [m, k] · Wᵀ`, to which the addends are added.
    fn product(&self, x: &[f32], addends: Addends<'_>, out: &mut [f32]);
}

impl ServedMatrix for Bf16Matrix {
    const OP: &'static str = "linear over bf16 pairs, which are only served";

    fn shape(&self) -> [usize; 2] {
        [self.n(), self.k()]
    }

    fn product(&self, x: &[f32], addends: Addends<'_>, out: &mut [f32]) {
        matmul_bf16(x, self, addends, out);
    }
}

impl ServedMatrix for Int8Matrix {
    const OP: &'static str = "linear over 8-bit weights, which are only served";

    fn shape(&self) -> [usize; 2] {
        [self.n(), self.k()]
    }

    fn product(&self, x: &[f32], addends: Addends<'_>, out: &mut [f32]) {
        matmul_int8(x, self, addends, out);
    }
}

/// `x [T, k] f32 · weight [n, k]ᵀ + bias [n] -> [T, n] f32`, and low-rank updates of segments of the
/// batch, whose factors are multiplied as bf16 weights are: `scale · (x · Aᵀ) · Bᵀ`.
///
/// Each row is rounded separately, so that its bits depend on that row alone, and not on how rows are
/// cut into segments. A backward through it is an error that names it: rounding has no gradient.
///
/// # Errors
/// Operands of other shapes; segments out of order, overlapping or past the batch; factors that do
/// not fit.
pub fn linear_served<M: ServedMatrix + 'static>(
    x: &Tensor,
    weight: &Arc<M>,
    bias: Option<&Tensor>,
    segments: Vec<RoundedLora>,
) -> Result<Tensor> {
    let [n, k] = weight.shape();
    check_operands(x, [n, k], bias)?;
    check_rows(x.dim(0)?, segments.iter().map(|segment| &segment.rows))?;
    for RoundedLora { a, b, .. } in &segments {
        let shapes = [[a.n(), a.k()], [b.n(), b.k()]];
        if shapes != [[b.k(), k], [n, a.n()]] {
            return Err(misfit("A is [r, k], B is [n, r]", shapes, k));
        }
    }
    let op = LinearServed { weight: weight.clone(), segments };
    Ok(match bias {
        None => x.apply_op1(op)?,
        Some(bias) => x.apply_op2(bias, op)?,
    })
}

struct LinearServed<M> {
    weight: Arc<M>,
    segments: Vec<RoundedLora>,
}

impl<M: ServedMatrix> LinearServed<M> {
    fn run(&self, x: &[f32], bias: Option<&[f32]>) -> (CpuStorage, Shape) {
        let [n, k] = self.weight.shape();
        let rows = x.len() / k;
        let mut out = vec![0.0; rows * n];
        let segments = self.segments.iter().filter(|segment| !segment.rows.is_empty());
        let segments: Vec<_> = segments.map(RoundedLora::segment).collect();
        let updates = rounded_updates(x, &segments);
        self.weight.product(x, Addends { bias, updates: &updates }, &mut out);
        (CpuStorage::F32(out), Shape::from((rows, n)))
    }
}

impl<M: ServedMatrix> CustomOp1 for LinearServed<M> {
    fn name(&self) -> &'static str {
        M::OP
    }

    fn cpu_fwd(&self, x: &CpuStorage, xl: &Layout) -> TensorResult<(CpuStorage, Shape)> {
        Ok(self.run(f32s(x, xl)?, None))
    }
}

impl<M: ServedMatrix> CustomOp2 for LinearServed<M> {
    fn name(&self) -> &'static str {
        M::OP
    }

    fn cpu_fwd(
        &self,
        x: &CpuStorage,
        xl: &Layout,
        bias: &CpuStorage,
        bl: &Layout,
    ) -> TensorResult<(CpuStorage, Shape)> {
        Ok(self.run(f32s(x, xl)?, Some(f32s(bias, bl)?)))
    }
}

#[cfg(test)]
mod tests;
