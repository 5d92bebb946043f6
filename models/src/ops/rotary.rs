//! Rotary position embedding.

use std::sync::Arc;

use candle_core::{CpuStorage, CustomOp1, Layout, Shape, Tensor};

use super::storage::f32s;
use crate::error::Result;
use crate::kernels::pointwise::{self, RotaryTable};

struct Rotary {
    table: Arc<RotaryTable>,
    head_dim: usize,
}

/// `x [T, heads, head_dim] -> ` the same shape, rotated by each row's angles.
pub fn rotary(x: &Tensor, table: &Arc<RotaryTable>) -> Result<Tensor> {
    let (_, _, head_dim) = x.dims3()?;
    Ok(x.apply_op1(Rotary {
        table: table.clone(),
        head_dim,
    })?)
}

impl CustomOp1 for Rotary {
    fn name(&self) -> &'static str {
        "rotary"
    }

    fn cpu_fwd(&self, x: &CpuStorage, xl: &Layout) -> candle_core::Result<(CpuStorage, Shape)> {
        let x = f32s(x, xl)?;
        let mut out = vec![0.0; x.len()];
        pointwise::rotary(x, &self.table, self.head_dim, &mut out);
        Ok((CpuStorage::F32(out), xl.shape().clone()))
    }
}
