//! Checks of the operands of linear layers.

use candle_core::{DType, Error, Result as TensorResult, Tensor};

use super::storage::shape_error;
use crate::packed::Matrix;

/// Refuses operands of a product with a matrix `[n, k]` that do not fit.
pub(super) fn check_operands(
    x: &Tensor,
    [n, k]: [usize; 2],
    bias: Option<&Tensor>,
) -> TensorResult<()> {
    if x.dims2()?.1 != k {
        return Err(shape_error("linear: x", x, &format!("[T, {k}]")));
    }
    if let Some(bias) = bias
        && bias.dims() != [n]
    {
        return Err(shape_error("linear: bias", bias, &format!("[{n}]")));
    }
    Ok(())
}

/// Refuses variables that are not f32: no gradient is computed in half precision.
pub(super) fn trainable(op: &str, matrix: &Matrix) -> TensorResult<()> {
    let panels = matrix.tensor();
    if panels.track_op() && panels.dtype() != DType::F32 {
        return Err(Error::Msg(format!(
            "{op}: a trained weight is f32, this one is {:?}",
            panels.dtype()
        )));
    }
    Ok(())
}
