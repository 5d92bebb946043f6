//! `x · Wᵀ + b` over 8-bit weights: for models that are not trained.

use std::sync::Arc;

use candle_core::{CpuStorage, CustomOp1, CustomOp2, Layout, Result, Shape, Tensor};

use super::storage::f32s;
use crate::kernels::int8::{Int8Matrix, matmul_int8};

/// `x [T, k] f32 -> [T, n] f32`, each row quantised separately, so that its bits depend on that row
/// alone. The caller has checked the shapes.
///
/// A backward through it is an error that names it: rounding has no gradient.
pub(super) fn linear_int8(
    x: &Tensor,
    weight: &Arc<Int8Matrix>,
    bias: Option<&Tensor>,
) -> Result<Tensor> {
    let op = LinearInt8(weight.clone());
    match bias {
        None => x.apply_op1(op),
        Some(bias) => x.apply_op2(bias, op),
    }
}

struct LinearInt8(Arc<Int8Matrix>);

impl LinearInt8 {
    fn run(&self, x: &[f32], bias: Option<&[f32]>) -> (CpuStorage, Shape) {
        let rows = x.len() / self.0.k();
        let mut out = vec![0.0; rows * self.0.n()];
        matmul_int8(x, &self.0, bias, &mut out);
        (CpuStorage::F32(out), Shape::from((rows, self.0.n())))
    }
}

impl CustomOp1 for LinearInt8 {
    fn name(&self) -> &'static str {
        "linear over 8-bit weights, which are only served"
    }

    fn cpu_fwd(&self, x: &CpuStorage, xl: &Layout) -> Result<(CpuStorage, Shape)> {
        Ok(self.run(f32s(x, xl)?, None))
    }
}

impl CustomOp2 for LinearInt8 {
    fn name(&self) -> &'static str {
        "linear over 8-bit weights, which are only served"
    }

    fn cpu_fwd(
        &self,
        x: &CpuStorage,
        xl: &Layout,
        bias: &CpuStorage,
        bl: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        Ok(self.run(f32s(x, xl)?, Some(f32s(bias, bl)?)))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use candle_core::{Device, Tensor, Var};

    use crate::kernels::int8::Int8Matrix;
    use crate::ops::linear;
    use crate::packed::Weight;

    fn weight(rows: &[f32], n: usize, k: usize) -> Weight {
        Weight::Int8(Arc::new(Int8Matrix::quantise(rows, n, k).unwrap()))
    }

    #[test]
    fn integers_are_multiplied_exactly() {
        // Both scales are 1: the largest magnitude of every row and channel is 127.
        let weight = weight(&[127.0, 1.0, -2.0, 127.0], 2, 2);
        let x = Tensor::new(&[[127.0_f32, 3.0], [0.0, -127.0]], &Device::Cpu).unwrap();
        let bias = Tensor::new(&[0.5_f32, -1.0], &Device::Cpu).unwrap();
        let check = |bias: Option<&Tensor>, expected: [[f32; 2]; 2]| {
            let y = linear(&x, &weight, bias).unwrap().to_vec2::<f32>().unwrap();
            assert_eq!(y, expected);
        };
        check(None, [[16132.0, 127.0], [-127.0, -16129.0]]);
        check(Some(&bias), [[16132.5, 126.0], [-126.5, -16130.0]]);
    }

    #[test]
    fn backward_of_8_bit_weights_is_refused() {
        let weight = weight(&[1.0, 2.0], 1, 2);
        let x = Var::new(&[[1.0_f32, 2.0]], &Device::Cpu).unwrap();
        let y = linear(x.as_tensor(), &weight, None).unwrap();
        let error = y.sum_all().unwrap().backward().unwrap_err().to_string();
        assert!(error.contains("8-bit"), "{error}");
    }
}
