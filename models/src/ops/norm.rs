//! Root-mean-square normalisation.

use candle_core::{CpuStorage, CustomOp2, Layout, Shape, Tensor};

use super::storage::f32s;
use crate::error::Result;
use crate::kernels::pointwise;

struct RmsNorm {
    eps: f32,
    unit_offset: bool,
}

/// `x [.., d]`, `weight [d] -> [.., d]`: each row of `d` divided by its root mean square and
/// multiplied by the weight (by `1 + weight` with `unit_offset`).
pub fn rms_norm(x: &Tensor, weight: &Tensor, eps: f32, unit_offset: bool) -> Result<Tensor> {
    Ok(x.apply_op2(weight, RmsNorm { eps, unit_offset })?)
}

impl CustomOp2 for RmsNorm {
    fn name(&self) -> &'static str {
        "rms_norm"
    }

    fn cpu_fwd(
        &self,
        x: &CpuStorage,
        xl: &Layout,
        w: &CpuStorage,
        wl: &Layout,
    ) -> candle_core::Result<(CpuStorage, Shape)> {
        let (x, w) = (f32s(x, xl)?, f32s(w, wl)?);
        let mut out = vec![0.0; x.len()];
        pointwise::rms_norm(x, w, self.eps, self.unit_offset, &mut out);
        Ok((CpuStorage::F32(out), xl.shape().clone()))
    }
}
