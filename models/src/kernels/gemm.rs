//! Products with packed weights.
//!
//! An element of the output is one chain of fused multiply-adds along `k`, from zero at `k = 0`; a
//! bias is added last. Tiles, blocks of `k` and threads only decide which chains advance when: a
//! chain that a block leaves unfinished is stored in the output as an f32. So a row has the same
//! bits in every batch, and f16 or bf16 weights give the bits of an f32 matrix with the same
//! values.

mod narrow;
mod product;
mod rows;
#[cfg(test)]
mod tests;
mod tile;
mod updates;

use half::{bf16, f16};

use super::bf16_pairs::{Bf16Matrix, pair_rows};
use super::simd::Isa;
use crate::kernels::panels::{PANEL, PanelData, Panels};
pub(super) use narrow::is_narrow;
pub(super) use product::{Product, SLAB_ROWS};
pub(super) use tile::{Finish, PanelRow};
pub(super) use updates::TileUpdates;
pub use updates::{Addends, LowRank, SecondFactor, add_updates};

use narrow::NarrowProduct;

/// Computes `out [m, n] = x [m, k] · Wᵀ` and adds a bias and updates of rows, all f32.
///
/// The number of rows is that of `out`. Runs on the current rayon pool if the product is large
/// enough to benefit.
pub fn matmul(x: &[f32], weight: Panels<'_>, addends: Addends<'_>, out: &mut [f32]) {
    matmul_by(Isa::best(), x, weight, addends, out);
}

/// Computes `out [m, columns.len()]`: the product with these columns of the weight only. Each value
/// has the bits of [`matmul`].
///
/// The columns are gathered into panels of their own, once for all rows, so that memory is read for
/// them alone.
pub fn columns(x: &[f32], weight: Panels<'_>, columns: &[u32], out: &mut [f32]) {
    let (n, k) = (columns.len(), weight.k);
    let chosen = |data| Panels { data, n, k };
    match weight.data {
        PanelData::F32(data) => {
            matmul(x, chosen(PanelData::F32(&gather(data, k, columns))), Addends::default(), out);
        }
        PanelData::F16(data) => {
            matmul(x, chosen(PanelData::F16(&gather(data, k, columns))), Addends::default(), out);
        }
        PanelData::Bf16(data) => {
            matmul(x, chosen(PanelData::Bf16(&gather(data, k, columns))), Addends::default(), out);
        }
    }
}

/// Copies these columns into panels.
fn gather<E: Copy + Default>(panels: &[E], k: usize, columns: &[u32]) -> Vec<E> {
    let mut chosen = vec![E::default(); columns.len().div_ceil(PANEL) * k * PANEL];
    for (to, column) in columns.iter().enumerate() {
        let from = *column as usize;
        let source = panels[(from / PANEL) * k * PANEL + from % PANEL..].iter().step_by(PANEL);
        let target = chosen[(to / PANEL) * k * PANEL + to % PANEL..].iter_mut().step_by(PANEL);
        for (target, source) in target.zip(source.take(k)) {
            *target = *source;
        }
    }
    chosen
}

/// [`matmul`] on these instructions.
pub(super) fn matmul_by(
    isa: Isa,
    x: &[f32],
    weight: Panels<'_>,
    Addends { bias, updates }: Addends<'_>,
    out: &mut [f32],
) {
    let ends = (bias.map_or(Finish::Store, Finish::Bias), updates);
    let shape = [weight.n, weight.k];
    if weight.n == 0 || out.is_empty() {
        return;
    }
    match weight.data {
        PanelData::F32(w) => by_panels(isa, x, (w.as_chunks::<PANEL>().0, shape), ends, out),
        PanelData::F16(w) => by_panels(isa, x, (w.as_chunks::<PANEL>().0, shape), ends, out),
        PanelData::Bf16(w) => by_panels(isa, x, (w.as_chunks::<PANEL>().0, shape), ends, out),
    }
}

fn by_panels<W: PanelRow>(
    isa: Isa,
    x: &[f32],
    (w, shape): (&[W], [usize; 2]),
    (finish, updates): (Finish<'_>, &[LowRank<'_>]),
    out: &mut [f32],
) {
    Product::new(isa, x, w, shape, finish).updates(updates, 0).run(out);
}

/// Computes `out [m, n] = round(x [m, k]) · Wᵀ` where `n` is small ([`is_narrow`]).
pub(super) fn narrow_pairs(isa: Isa, x: &[f32], matrix: &Bf16Matrix, out: &mut [f32]) {
    let (w, n, k) = (matrix.panels(), matrix.n(), pair_rows(matrix.k()));
    NarrowProduct { isa, x, w, n, k, pairs: Some(matrix) }.run(out);
}

/// Element `(row, col)` of the matrix, as f32.
pub fn at(weight: Panels<'_>, row: usize, col: usize) -> f32 {
    let at = (row / PANEL) * weight.k * PANEL + col * PANEL + row % PANEL;
    match weight.data {
        PanelData::F32(data) => data[at],
        PanelData::F16(data) => f16::to_f32(data[at]),
        PanelData::Bf16(data) => bf16::to_f32(data[at]),
    }
}
