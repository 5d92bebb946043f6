//! The bf16 path: weights and activations in bf16, sums in f32.
//!
//! Each row of `x [m, k]` is rounded to bf16 (to the nearest, halves to even; a number below 2⁻¹²⁶ counts
//! as zero) once per product. An element of the output is one chain of fused multiply-adds along `k`, from zero at the first pair
//! of columns, each rounded to f32; of a pair, the second column is added first, and a number below
//! 2⁻¹²⁶ counts as zero ([`F32x16::dot_pairs`]). A bias is added last. The loops are those of
//! [`super::gemm`], so a row's bits depend on that row and the weights alone, on every instruction
//! set.

#[cfg(test)]
mod tests;

use super::bf16_pairs::{Bf16Matrix, pair_rows, round_rows};
use super::gemm::{self, Addends, Finish, Product, SLAB_ROWS};
use super::simd::Isa;
use super::threads::Tiles;

/// Computes `out [m, n] = round(x [m, k]) · Wᵀ` and adds a bias and updates of rows, all f32 but the
/// operands of the product.
///
/// The number of rows is that of `out`. Runs on the current rayon pool if the product is large
/// enough to benefit.
pub fn matmul_bf16(x: &[f32], weight: &Bf16Matrix, addends: Addends<'_>, out: &mut [f32]) {
    product(Isa::best(), x, weight, addends, out);
}

/// [`matmul_bf16`] on these instructions.
pub(super) fn product(
    isa: Isa,
    x: &[f32],
    weight: &Bf16Matrix,
    Addends { bias, updates }: Addends<'_>,
    out: &mut [f32],
) {
    let (n, k) = (weight.n(), weight.k());
    if n == 0 || out.is_empty() {
        return;
    }
    let m = out.len() / n;
    assert_eq!(x.len(), m * k, "x has as many rows as the output");
    assert!(bias.is_none_or(|bias| bias.len() == n), "a bias for every output column");
    if bias.is_none() && updates.is_empty() && gemm::is_narrow(m, n) {
        gemm::narrow_pairs(isa, x, weight, out);
        return;
    }
    let finish = bias.map_or(Finish::Store, Finish::Bias);
    let slabs = Tiles::new(m, SLAB_ROWS);
    for slab in 0..slabs.count() {
        let rows = slabs.rows(slab);
        let pairs = round_rows(isa, &x[rows.start * k..rows.end * k], rows.len(), k);
        let out = &mut out[rows.start * n..rows.end * n];
        let product = Product::new(isa, &pairs, weight.panels(), [n, pair_rows(k)], finish);
        let is_normal = !isa.has_bf16_dots() && weight.keeps_normal(&pairs);
        product.normal(is_normal).updates(updates, rows.start).run(out);
    }
}
