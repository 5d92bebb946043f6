//! Rotary position embedding.

use std::sync::Arc;

use candle_core::{CpuStorage, CustomOp1, Error, Layout, Shape, Tensor};

use super::storage::{Held, f32s};
use crate::error::Result;
use crate::kernels::rotary::{self, RotaryTable, Turn};
use crate::kernels::simd::Isa;

struct Rotary {
    table: Arc<RotaryTable>,
}

/// Rotates `x [T, heads, head_dim]`: the first `2 · half` dimensions of every head by the angles of
/// the row, pairing dimension `i` with `i + half`. The gradient is rotated back.
///
/// # Errors
/// A table wider than a head or without one row for each row of `x`, or an `x` that is not
/// contiguous f32.
pub fn rotary(x: &Tensor, table: &Arc<RotaryTable>) -> Result<Tensor> {
    Ok(x.apply_op1(Rotary { table: table.clone() })?)
}

impl Rotary {
    fn check(&self, (rows, _, head_dim): (usize, usize, usize)) -> candle_core::Result<()> {
        let RotaryTable { cos, sin, half } = self.table.as_ref();
        if [cos.len(), sin.len()] != [rows * half; 2] || 2 * half > head_dim || *half == 0 {
            return Err(Error::Msg(format!(
                "{rows} rows of heads of {head_dim} cannot be rotated by {} cosines and {} sines of \
                 {half} angles a row",
                cos.len(),
                sin.len(),
            )));
        }
        Ok(())
    }

    fn turn(&self, turn: Turn, head_dim: usize, x: &[f32]) -> Vec<f32> {
        let mut out = vec![0.0; x.len()];
        rotary::Rotary { table: &self.table, head_dim, turn }.run(Isa::best(), x, &mut out);
        out
    }
}

impl CustomOp1 for Rotary {
    fn name(&self) -> &'static str {
        "rotary"
    }

    fn cpu_fwd(&self, x: &CpuStorage, xl: &Layout) -> candle_core::Result<(CpuStorage, Shape)> {
        let dims = xl.shape().dims3()?;
        self.check(dims)?;
        let out = self.turn(Turn::Forth, dims.2, f32s(x, xl)?);
        Ok((CpuStorage::F32(out), xl.shape().clone()))
    }

    fn bwd(&self, x: &Tensor, _: &Tensor, grad: &Tensor) -> candle_core::Result<Option<Tensor>> {
        let grad = grad.contiguous()?;
        let (_, _, head_dim) = x.dims3()?;
        let out = self.turn(Turn::Back, head_dim, Held::new(&grad).f32s()?);
        Tensor::from_vec(out, x.shape(), x.device()).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use candle_core::{D, Device, Tensor};

    use super::{RotaryTable, rotary};
    use crate::gradcheck::{check_agreement, check_gradients, random, values_of};
    use crate::kernels::rotary::{Rotary, Turn};
    use crate::kernels::simd::Isa;

    fn table(positions: usize, half: usize) -> Arc<RotaryTable> {
        let angles = (0..positions * half).map(|i| ((i / half) * (i % half + 1)) as f32 * 0.3);
        let (cos, sin) = angles.map(|a| (a.cos(), a.sin())).unzip();
        Arc::new(RotaryTable { cos, sin, half })
    }

    /// By the half-rotation of transformers: `x cos + rotate_half(x) sin`.
    fn composed(x: &Tensor, table: &RotaryTable) -> candle_core::Result<Tensor> {
        let half = table.half;
        let angles = |of: &[f32]| Tensor::from_slice(of, (of.len() / half, 1, half), &Device::Cpu);
        let (cos, sin) = (angles(&table.cos)?, angles(&table.sin)?);
        let (a, b) = (x.narrow(2, 0, half)?, x.narrow(2, half, half)?);
        let first = (a.broadcast_mul(&cos)? - b.broadcast_mul(&sin)?)?;
        let second = (b.broadcast_mul(&cos)? + a.broadcast_mul(&sin)?)?;
        let rest = x.dim(2)? - 2 * half;
        Tensor::cat(&[first, second, x.narrow(2, 2 * half, rest)?], D::Minus1)
    }

    #[test]
    fn gradients_equal_composed_graph_and_differences() {
        for (heads, head_dim, half) in [(1, 2, 1), (3, 20, 10), (2, 40, 16), (2, 64, 32)] {
            let table = table(5, half);
            let inputs = [random(1, (5, heads, head_dim))];
            let op = |x: &[Tensor]| Ok(rotary(&x[0], &table).unwrap());
            check_gradients(op, &inputs, 1e-3);
            check_agreement(op, |x| composed(&x[0], &table), &inputs, 1e-6);
        }
    }

    #[test]
    fn row_bits_are_independent_of_batch_and_machine() {
        let (rows, heads, head_dim) = (700, 3, 24);
        let table = table(rows, 10);
        let x = random(2, (rows, heads, head_dim));
        let all = rotary(&x, &table).unwrap();
        for row in [0, 13, rows - 1] {
            let alone = x.narrow(0, row, 1).unwrap();
            let angles = |of: &[f32]| of[row * 10..(row + 1) * 10].to_vec();
            let (cos, sin) = (angles(&table.cos), angles(&table.sin));
            let alone = rotary(&alone, &Arc::new(RotaryTable { cos, sin, half: 10 })).unwrap();
            assert_eq!(values_of(&alone), values_of(&all.narrow(0, row, 1).unwrap()));
        }
        for isa in Isa::available() {
            let mut out = vec![0.0; x.elem_count()];
            let rotary = Rotary { table: &table, head_dim, turn: Turn::Forth };
            rotary.run(isa, &values_of(&x), &mut out);
            assert_eq!(out, values_of(&all), "{}", isa.name());
        }
    }

    #[test]
    fn operands_that_do_not_fit_are_refused() {
        for (rows, half) in [(3, 4), (1, 4), (2, 5), (2, 0)] {
            let x = random(1, (2, 1, 8));
            assert!(rotary(&x, &table(rows, half)).is_err(), "{rows} rows, half {half}");
        }
    }
}
