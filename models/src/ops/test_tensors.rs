//! Operands of the tests of operations over packed weights.

use candle_core::{Error, Result, Tensor};

use crate::gradcheck::{random, values_of};
use crate::packed::Matrix;

/// A matrix `[n, k]` that depends on the seed only.
pub(super) fn matrix(seed: u64, n: usize, k: usize) -> Matrix {
    Matrix::from_rows(&values_of(&random(seed, (n, k))), n, k).expect("n · k numbers")
}

/// Unpacks panels to the row-major matrix `[n, k]` by candle's own operations.
pub(super) fn unpack_panels(panels: &Tensor, n: usize) -> Result<Tensor> {
    let (count, k, width) = panels.dims3()?;
    panels.permute((0, 2, 1))?.reshape((count * width, k))?.narrow(0, 0, n)
}

/// Converts an error to candle's, for closures under test.
pub(super) fn candle_error<T>(result: crate::Result<T>) -> Result<T> {
    result.map_err(Error::wrap)
}

/// Asserts that two tensors have the same shape and bits.
pub(super) fn same_bits(what: &str, got: &Tensor, want: &Tensor) {
    assert_eq!(got.dims(), want.dims(), "{what}");
    for (i, (a, b)) in values_of(got).iter().zip(values_of(want)).enumerate() {
        assert_eq!(a.to_bits(), b.to_bits(), "{what}: {a} for {b} at {i}");
    }
}
