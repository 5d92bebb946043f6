//! `x · Wᵀ + b` over packed weights.

use candle_core::{CpuStorage, CustomOp2, CustomOp3, Layout, Shape, Tensor};

use super::storage::{f32s, panels};
use crate::error::{ModelError, Result};
use crate::kernels::gemm;
use crate::packed::Weight;

struct Linear {
    n: usize,
    k: usize,
}

/// `x [T, k] f32 -> [T, n] f32`.
pub fn linear(x: &Tensor, weight: &Weight, bias: Option<&Tensor>) -> Result<Tensor> {
    let op = Linear {
        n: weight.n(),
        k: weight.k(),
    };
    match weight {
        Weight::Panels(matrix) => Ok(match bias {
            None => x.apply_op2(matrix.tensor(), op)?,
            Some(bias) => x.apply_op3(matrix.tensor(), bias, op)?,
        }),
        Weight::Int8(_) => Err(ModelError::Batch("int8".into())),
    }
}

impl CustomOp2 for Linear {
    fn name(&self) -> &'static str {
        "linear"
    }

    fn cpu_fwd(
        &self,
        x: &CpuStorage,
        x_layout: &Layout,
        w: &CpuStorage,
        w_layout: &Layout,
    ) -> candle_core::Result<(CpuStorage, Shape)> {
        self.run(
            f32s(x, x_layout)?,
            panels(w, w_layout, self.n, self.k)?,
            None,
        )
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
    ) -> candle_core::Result<(CpuStorage, Shape)> {
        self.run(
            f32s(x, xl)?,
            panels(w, wl, self.n, self.k)?,
            Some(f32s(b, bl)?),
        )
    }
}

impl Linear {
    fn run(
        &self,
        x: &[f32],
        w: crate::packed::Panels<'_>,
        bias: Option<&[f32]>,
    ) -> candle_core::Result<(CpuStorage, Shape)> {
        let rows = x.len() / self.k;
        let mut out = vec![0.0; rows * self.n];
        gemm::matmul(x, w, bias, &mut out);
        Ok((CpuStorage::F32(out), Shape::from((rows, self.n))))
    }
}
