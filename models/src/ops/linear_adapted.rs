//! `x · Wᵀ + b` with low-rank updates of segments of the batch, in one product.

use candle_core::{CpuStorage, CustomOp1, Layout, Result as TensorResult, Shape, Tensor};

use super::linear::linear;
use super::lora::{LoraPlan, LoraSegment, check_factors, is_trained, lora};
use super::operands::check_operands;
use super::storage::{Held, f32s};
use crate::error::Result;
use crate::kernels::gemm::{Addends, matmul};
use crate::kernels::lora::{Input, updates};
use crate::packed::{Matrix, Weight};

/// [`linear`] over panels, then [`lora`] on its output: the bits and the gradients of the two.
///
/// Where nothing is tracked the updates are added by the product itself, before its outputs leave
/// the processor's cache.
///
/// # Errors
/// Those of the two.
pub fn linear_adapted(
    x: &Tensor,
    matrix: &Matrix,
    bias: Option<&Tensor>,
    segments: &[LoraSegment<'_>],
) -> Result<Tensor> {
    let weight = Weight::Panels(matrix.clone());
    let is_tracked =
        matrix.tensor().track_op() || x.track_op() || bias.is_some_and(Tensor::track_op);
    if is_tracked || is_trained(segments) {
        return lora(x, linear(x, &weight, bias)?, segments);
    }
    check_operands(x, [matrix.n(), matrix.k()], bias)?;
    check_factors([x.dim(0)?, matrix.n(), matrix.k()], segments)?;
    let Some(plan) = LoraPlan::new(segments, None) else {
        return linear(x, &weight, bias);
    };
    let adapted = LinearAdapted { matrix: matrix.clone(), bias: bias.cloned(), plan };
    Ok(x.apply_op1(adapted)?)
}

struct LinearAdapted {
    matrix: Matrix,
    bias: Option<Tensor>,
    plan: LoraPlan,
}

impl CustomOp1 for LinearAdapted {
    fn name(&self) -> &'static str {
        "linear with adapters"
    }

    fn cpu_fwd(&self, x: &CpuStorage, xl: &Layout) -> TensorResult<(CpuStorage, Shape)> {
        let x = f32s(x, xl)?;
        let (n, k) = (self.matrix.n(), self.matrix.k());
        let shape = Shape::from((x.len() / k, n));
        let mut out = vec![0.0; shape.elem_count()];
        let bias = self.bias.as_ref().map(Held::new);
        let bias = bias.as_ref().map(Held::f32s).transpose()?;
        let held = Held::new(self.matrix.tensor());
        let panels = held.panels(n, k)?;
        self.plan.held(|segments| {
            let updates = updates(Input::Rows(x), segments);
            matmul(x, panels, Addends { bias, updates: &updates }, &mut out);
        })?;
        Ok((CpuStorage::F32(out), shape))
    }
}

#[cfg(test)]
mod tests;
