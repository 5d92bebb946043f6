//! The 8-bit path: weights quantised by output channel, activations by row.
//!
//! `W [n, k] ≈ s_c · w`, `x [m, k] ≈ s_r · q` with `s = max |·| / 127` and integers rounded to the
//! nearest, halves to even (symmetric quantisation, as in LLM.int8, Dettmers et al., 2022, without
//! its outlier columns). The sum `Σ q · w` is exact in 32 bits, so its order has no effect, and
//! each row is quantised separately: a row's bits depend on that row alone, on every instruction
//! set.

mod chains;
mod dot;
mod matrix;
mod product;
mod quantise;
#[cfg(test)]
mod tests;
mod tile;

use super::gemm::Addends;
use dot::DotIsa;
use product::{Int8Product, ProductInto};

pub(super) use chains::dot_chains;
pub use matrix::{Int8Matrix, MOST_COLUMNS};

/// Computes `out [m, n] = x [m, k] · Wᵀ` with each row of `x` quantised separately:
/// `Σ q w as f32 · (s_r · s_c) + bias`, and then the updates of rows, in f32.
///
/// A row of `x` with a number that is not finite gives a row of NaN. The number of rows is that of
/// `out`. Runs on the current rayon pool if the product is large enough to benefit.
pub fn matmul_int8(x: &[f32], weight: &Int8Matrix, addends: Addends<'_>, out: &mut [f32]) {
    product(DotIsa::best(), x, weight, addends, out);
}

/// The product on every instruction set of this CPU, narrow to wide, with their names; `len` is rows
/// times output columns.
pub(super) fn by_instructions(
    x: &[f32],
    weight: &Int8Matrix,
    addends: Addends<'_>,
    len: usize,
) -> Vec<(&'static str, Vec<f32>)> {
    let by = |isa: DotIsa| {
        let mut out = vec![0.0; len];
        product(isa, x, weight, addends, &mut out);
        (isa.name(), out)
    };
    DotIsa::available().into_iter().map(by).collect()
}

fn product(isa: DotIsa, x: &[f32], weight: &Int8Matrix, addends: Addends<'_>, out: &mut [f32]) {
    if weight.n > 0 && !out.is_empty() {
        isa.dispatch(ProductInto { product: Int8Product::new(x, weight, addends), out });
    }
}
