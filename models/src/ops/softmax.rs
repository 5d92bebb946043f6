//! Softmax over the last dimension.

use candle_core::{D, Tensor};

use crate::error::Result;

/// `[T, n] -> [T, n]`, composed of operations that candle differentiates. For short rows: the
/// choice of experts. The maximum is a constant to the gradient, as it cancels.
pub fn softmax(x: &Tensor) -> Result<Tensor> {
    let max = x.max_keepdim(D::Minus1)?.detach();
    let exp = x.broadcast_sub(&max)?.exp()?;
    Ok(exp.broadcast_div(&exp.sum_keepdim(D::Minus1)?)?)
}
