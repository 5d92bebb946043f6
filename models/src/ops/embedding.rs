//! Rows of the embedding.

use candle_core::{CpuStorage, CustomOp1, DType, Error, Layout, Shape, Tensor};

use super::storage::{Held, panels};
use crate::error::Result;
use crate::kernels::embedding;
use crate::packed::Matrix;

struct Embedding {
    token_ids: Vec<u32>,
    n: usize,
    k: usize,
}

/// Gathers rows: `table [vocab, d]`, ids `[T] -> [T, d] f32`. The gradient of an f32 table is, for
/// each id, the sum over its rows in their order.
///
/// # Errors
/// An id that is not below the table's rows, or a trainable f16 or bf16 table.
pub fn embedding(table: &Matrix, token_ids: &[u32]) -> Result<Tensor> {
    let op = Embedding { token_ids: token_ids.to_vec(), n: table.n(), k: table.k() };
    let tensor = table.tensor();
    if tensor.track_op() && tensor.dtype() != DType::F32 {
        return Err(Error::Msg(format!(
            "a trainable embedding is f32, not {}",
            tensor.dtype().as_str()
        ))
        .into());
    }
    Ok(tensor.apply_op1(op)?)
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
        if let Some(id) = self.token_ids.iter().find(|id| **id as usize >= self.n) {
            return Err(Error::Msg(format!("token {id} of an embedding of {} rows", self.n)));
        }
        let mut out = vec![0.0; self.token_ids.len() * self.k];
        embedding::gather_rows(table, &self.token_ids, &mut out);
        let shape = Shape::from((self.token_ids.len(), self.k));
        Ok((CpuStorage::F32(out), shape))
    }

    fn bwd(
        &self,
        table: &Tensor,
        _: &Tensor,
        grad: &Tensor,
    ) -> candle_core::Result<Option<Tensor>> {
        let grad = grad.contiguous()?;
        let mut out = vec![0.0; table.elem_count()];
        embedding::grad_table(&self.token_ids, Held::new(&grad).f32s()?, self.k, &mut out);
        Tensor::from_vec(out, table.shape(), table.device()).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use candle_core::{DType, Tensor};

    use super::embedding;
    use crate::gradcheck::{check_gradients, compare, random, value_and_gradients, values_of};
    use crate::kernels::panels::{PANEL, unpack};
    use crate::packed::Matrix;

    /// `[n, k]` random numbers, and the same as a matrix.
    fn table(n: usize, k: usize) -> (Vec<f32>, Matrix) {
        let rows = values_of(&random(5, (n, k)));
        let matrix = Matrix::from_rows(&rows, n, k).unwrap();
        (rows, matrix)
    }

    #[test]
    fn rows_equal_the_table_in_every_storage() {
        for (n, k, ids) in [(1, 1, vec![0, 0]), (17, 5, vec![16, 0, 3]), (33, 700, vec![7; 80])] {
            for dtype in [DType::F32, DType::F16, DType::BF16] {
                let (_, matrix) = table(n, k);
                let matrix = matrix.to_dtype(dtype).unwrap();
                let rows = matrix.to_rows().unwrap();
                let got = values_of(&embedding(&matrix, &ids).unwrap());
                for (id, got) in ids.iter().zip(got.chunks_exact(k)) {
                    assert_eq!(got, &rows[*id as usize * k..][..k], "{dtype:?}");
                }
            }
        }
    }

    #[test]
    fn gradient_sums_the_rows_of_each_id_in_order() {
        let (n, k) = (40, 90);
        for count in [1, 7, 1000] {
            let ids: Vec<u32> = (0..count).map(|i| (i * i + 3) % 37).collect();
            let (_, matrix) = table(n, k);
            let op = |x: &[Tensor]| {
                let matrix = Matrix::from_panels(x[0].clone(), n, k).unwrap();
                Ok(embedding(&matrix, &ids).unwrap())
            };
            let (value, gradients) = value_and_gradients(op, &[matrix.tensor().clone()]);
            // The gradient of the projection is the projection itself, row by row.
            let grad = values_of(&crate::gradcheck::projection_weights(value.dims()));
            let mut want = vec![0.0; n * k];
            for (id, grad) in ids.iter().zip(grad.chunks_exact(k)) {
                for (want, g) in want[*id as usize * k..][..k].iter_mut().zip(grad) {
                    *want += g;
                }
            }
            let panels = values_of(&gradients[0]);
            assert_eq!(unpack(&panels, n, k), want, "{count} ids");
            // The lanes that pad the last panel stay zero.
            let total: f32 = panels.iter().map(|x| x.abs()).sum();
            compare("padding", &[total], &[want.iter().map(|x| x.abs()).sum()], 1e-5);
        }
        let (_, matrix) = table(PANEL + 1, 3);
        check_gradients(
            |x| {
                let matrix = Matrix::from_panels(x[0].clone(), PANEL + 1, 3).unwrap();
                Ok(embedding(&matrix, &[16, 2, 16]).unwrap())
            },
            &[matrix.tensor().clone()],
            1e-4,
        );
    }

    #[test]
    fn ids_beyond_the_table_and_half_precision_variables_are_refused() {
        let (_, matrix) = table(17, 4);
        assert!(embedding(&matrix, &[16]).is_ok());
        assert!(embedding(&matrix, &[17]).is_err());
        let (half, _) = matrix.to_dtype(DType::BF16).unwrap().to_var().unwrap();
        assert!(embedding(&half, &[1]).is_err());
    }
}
