//! Rows of the embedding.

use candle_core::{CpuStorage, CustomOp1, Layout, Shape, Tensor};

use super::storage::panels;
use crate::error::Result;
use crate::kernels::gemm::at;
use crate::packed::Matrix;

struct Embedding {
    token_ids: Vec<u32>,
    n: usize,
    k: usize,
}

/// `table [vocab, d]`, ids `[T] -> [T, d] f32`. Ids are below the table's rows.
pub fn embedding(table: &Matrix, token_ids: &[u32]) -> Result<Tensor> {
    let op = Embedding {
        token_ids: token_ids.to_vec(),
        n: table.n(),
        k: table.k(),
    };
    Ok(table.tensor().apply_op1(op)?)
}

impl CustomOp1 for Embedding {
    fn name(&self) -> &'static str {
        "embedding"
    }

    fn cpu_fwd(
        &self,
        storage: &CpuStorage,
        layout: &Layout,
    ) -> candle_core::Result<(CpuStorage, Shape)> {
        let table = panels(storage, layout, self.n, self.k)?;
        let out = self
            .token_ids
            .iter()
            .flat_map(|id| (0..self.k).map(|col| at(table, *id as usize, col)))
            .collect();
        Ok((
            CpuStorage::F32(out),
            Shape::from((self.token_ids.len(), self.k)),
        ))
    }
}
