//! Gated activations (SwiGLU, GeGLU).

use candle_core::{CpuStorage, CustomOp2, Layout, Shape, Tensor};

use super::storage::f32s;
use crate::config::Activation;
use crate::error::Result;
use crate::kernels::pointwise;

struct Gated(Activation);

/// `act(gate) · up`, element by element: `[T, d], [T, d] -> [T, d]`.
pub fn gated(gate: &Tensor, up: &Tensor, activation: Activation) -> Result<Tensor> {
    Ok(gate.apply_op2(up, Gated(activation))?)
}

impl CustomOp2 for Gated {
    fn name(&self) -> &'static str {
        "gated"
    }

    fn cpu_fwd(
        &self,
        a: &CpuStorage,
        al: &Layout,
        b: &CpuStorage,
        bl: &Layout,
    ) -> candle_core::Result<(CpuStorage, Shape)> {
        let (a, b) = (f32s(a, al)?, f32s(b, bl)?);
        let mut out = vec![0.0; a.len()];
        pointwise::gated(a, b, self.0, &mut out);
        Ok((CpuStorage::F32(out), al.shape().clone()))
    }
}
