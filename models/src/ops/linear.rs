//! `x · Wᵀ + b` over packed weights.
//!
//! One kernel runs for every weight. Only the backward differs: a variable gets its gradient in
//! panels, a frozen weight gets none and none is computed, bf16 pairs and 8-bit weights pass no
//! gradient.

use candle_core::{CpuStorage, CustomOp1, CustomOp2, CustomOp3, Layout, Shape};
use candle_core::{Result as TensorResult, Tensor};

use super::linear_served::linear_served;
use super::operands::{check_operands, trainable};
use super::storage::{f32s, panels};
use crate::error::Result;
use crate::kernels::backward;
use crate::kernels::gemm::{self, Addends};
use crate::kernels::panels::{PANEL, Panels};
use crate::packed::{Matrix, Weight};

/// `x [T, k] f32 · weight [n, k]ᵀ + bias [n] f32 -> [T, n] f32`.
///
/// Over [`Weight::Panels`] each element is one chain of fused multiply-adds along `k`, so a row's
/// bits depend on that row alone; so they do over the other weights, by their own rules. Backward, with `g [T, n]` upstream:
///
/// - `gx = g · W`, one chain along `n` an element, for weights of any float storage;
/// - `gW = gᵀ · x` in panels, one chain an element over the rows in ascending order, where the
///   weight is a variable. Rows whose `g` is zero leave its bits alone;
/// - `gbias`, the sum of `g` over the rows in ascending order.
///
/// A frozen weight (one that tracks no gradient) has no `gW`: it is neither computed nor kept.
///
/// # Errors
/// Operands of other shapes, a variable that is not f32, and, at the backward, bf16 pairs and 8-bit weights.
pub fn linear(x: &Tensor, weight: &Weight, bias: Option<&Tensor>) -> Result<Tensor> {
    let matrix = match weight {
        Weight::Panels(matrix) => matrix,
        Weight::Bf16(matrix) => return linear_served(x, matrix, bias, Vec::new()),
        Weight::Int8(matrix) => return linear_served(x, matrix, bias, Vec::new()),
    };
    check_operands(x, [matrix.n(), matrix.k()], bias)?;
    trainable("linear", matrix)?;
    Ok(match bias {
        None => x.apply_op2(matrix.tensor(), Linear::of(matrix))?,
        Some(bias) => x.apply_op3(matrix.tensor(), bias, Linear::of(matrix))?,
    })
}

#[derive(Clone, Copy)]
struct Linear {
    n: usize,
    k: usize,
}

impl Linear {
    fn of(matrix: &Matrix) -> Linear {
        Linear { n: matrix.n(), k: matrix.k() }
    }

    fn run(self, x: &[f32], w: Panels<'_>, bias: Option<&[f32]>) -> (CpuStorage, Shape) {
        let rows = x.len() / self.k;
        let mut out = vec![0.0; rows * self.n];
        gemm::matmul(x, w, Addends::bias(bias), &mut out);
        (CpuStorage::F32(out), Shape::from((rows, self.n)))
    }

    fn gradients(
        self,
        x: &Tensor,
        w: &Tensor,
        grad: &Tensor,
    ) -> TensorResult<(Option<Tensor>, Option<Tensor>)> {
        let (n, k) = (self.n, self.k);
        let grad = &grad.contiguous()?;
        let gx = || grad.apply_op2(&w.detach(), GradInput { n, k });
        let gw = || x.detach().apply_op2(grad, GradWeight { n, k });
        Ok((x.track_op().then(gx).transpose()?, w.track_op().then(gw).transpose()?))
    }
}

impl CustomOp2 for Linear {
    fn name(&self) -> &'static str {
        "linear"
    }

    fn cpu_fwd(
        &self,
        x: &CpuStorage,
        xl: &Layout,
        w: &CpuStorage,
        wl: &Layout,
    ) -> TensorResult<(CpuStorage, Shape)> {
        Ok(self.run(f32s(x, xl)?, panels(w, wl, self.n, self.k)?, None))
    }

    fn bwd(
        &self,
        x: &Tensor,
        w: &Tensor,
        _: &Tensor,
        grad: &Tensor,
    ) -> TensorResult<(Option<Tensor>, Option<Tensor>)> {
        self.gradients(x, w, grad)
    }
}

impl CustomOp3 for Linear {
    fn name(&self) -> &'static str {
        "linear with bias"
    }

    fn cpu_fwd(
        &self,
        x: &CpuStorage,
        xl: &Layout,
        w: &CpuStorage,
        wl: &Layout,
        b: &CpuStorage,
        bl: &Layout,
    ) -> TensorResult<(CpuStorage, Shape)> {
        let w = panels(w, wl, self.n, self.k)?;
        Ok(self.run(f32s(x, xl)?, w, Some(f32s(b, bl)?)))
    }

    fn bwd(
        &self,
        x: &Tensor,
        w: &Tensor,
        bias: &Tensor,
        _: &Tensor,
        grad: &Tensor,
    ) -> TensorResult<(Option<Tensor>, Option<Tensor>, Option<Tensor>)> {
        let (gx, gw) = self.gradients(x, w, grad)?;
        let gb = || grad.contiguous()?.apply_op1(GradBias(self.n));
        Ok((gx, gw, bias.track_op().then(gb).transpose()?))
    }
}

/// `g [T, n], W -> g · W [T, k]`, applied to detached tensors.
struct GradInput {
    n: usize,
    k: usize,
}

impl CustomOp2 for GradInput {
    fn name(&self) -> &'static str {
        "gradient of a linear's input"
    }

    fn cpu_fwd(
        &self,
        g: &CpuStorage,
        gl: &Layout,
        w: &CpuStorage,
        wl: &Layout,
    ) -> TensorResult<(CpuStorage, Shape)> {
        let g = f32s(g, gl)?;
        let rows = g.len() / self.n;
        let mut out = vec![0.0; rows * self.k];
        backward::grad_input(g, panels(w, wl, self.n, self.k)?, &mut out);
        Ok((CpuStorage::F32(out), Shape::from((rows, self.k))))
    }
}

/// `x [T, k], g [T, n] -> gᵀ · x` in panels, applied to detached tensors.
struct GradWeight {
    n: usize,
    k: usize,
}

impl CustomOp2 for GradWeight {
    fn name(&self) -> &'static str {
        "gradient of a linear's weight"
    }

    fn cpu_fwd(
        &self,
        x: &CpuStorage,
        xl: &Layout,
        g: &CpuStorage,
        gl: &Layout,
    ) -> TensorResult<(CpuStorage, Shape)> {
        let shape = Shape::from((self.n.div_ceil(PANEL), self.k, PANEL));
        let mut out = vec![0.0; shape.elem_count()];
        backward::grad_weight(f32s(x, xl)?, f32s(g, gl)?, self.n, self.k, &mut out);
        Ok((CpuStorage::F32(out), shape))
    }
}

/// `g [T, n] -> [n]`, the sum over the rows.
struct GradBias(usize);

impl CustomOp1 for GradBias {
    fn name(&self) -> &'static str {
        "gradient of a linear's bias"
    }

    fn cpu_fwd(&self, g: &CpuStorage, gl: &Layout) -> TensorResult<(CpuStorage, Shape)> {
        let mut out = vec![0.0; self.0];
        backward::sum_rows(f32s(g, gl)?, &mut out);
        Ok((CpuStorage::F32(out), Shape::from(self.0)))
    }
}

#[cfg(test)]
mod tests;
