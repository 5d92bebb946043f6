//! Gathers rows of a matrix in panels, and computes the gradient.

use half::{bf16, f16};
use rayon::prelude::*;

use super::split::{is_large, rows_a_task};
use crate::kernels::panels::{PANEL, PanelData, Panels};

/// Writes the rows of the ids to `out [T, k]` as f32. Every id is below the table's rows.
pub fn gather_rows(table: Panels<'_>, ids: &[u32], out: &mut [f32]) {
    let k = table.k;
    if !is_large(out.len()) {
        return copy_rows(table, ids, out);
    }
    let run = rows_a_task(k);
    out.par_chunks_mut(run * k)
        .zip(ids.par_chunks(run))
        .for_each(|(out, ids)| copy_rows(table, ids, out));
}

fn copy_rows(table: Panels<'_>, ids: &[u32], out: &mut [f32]) {
    match table.data {
        PanelData::F32(data) => copy_rows_of(data, table.k, ids, out, |x| x),
        PanelData::F16(data) => copy_rows_of(data, table.k, ids, out, f16::to_f32),
        PanelData::Bf16(data) => copy_rows_of(data, table.k, ids, out, bf16::to_f32),
    }
}

fn copy_rows_of<T: Copy>(
    data: &[T],
    k: usize,
    ids: &[u32],
    out: &mut [f32],
    widen: impl Fn(T) -> f32,
) {
    for (id, out) in ids.iter().zip(out.chunks_exact_mut(k.max(1))) {
        let (panel, lane) = (*id as usize / PANEL, *id as usize % PANEL);
        let panel = &data[panel * k * PANEL..(panel + 1) * k * PANEL];
        for (out, column) in out.iter_mut().zip(panel.chunks_exact(PANEL)) {
            *out = widen(column[lane]);
        }
    }
}

/// Gradient of the table, in panels `[panels, k, PANEL]`: adds to `out`, which must be zeros, for
/// each id the sum of its rows of `grad [T, k]`, in ascending order of row.
pub fn grad_table(ids: &[u32], grad: &[f32], k: usize, out: &mut [f32]) {
    let mut order: Vec<(u32, usize)> = ids.iter().copied().zip(0..).collect();
    order.sort_unstable();
    let panel_of = |entry: &(u32, usize)| entry.0 as usize / PANEL;
    let add = |(index, panel): (usize, &mut [f32])| {
        let from = order.partition_point(|entry| panel_of(entry) < index);
        for (id, row) in order[from..].iter().take_while(|entry| panel_of(entry) == index) {
            let columns = panel.chunks_exact_mut(PANEL);
            for (column, g) in columns.zip(&grad[row * k..(row + 1) * k]) {
                column[*id as usize % PANEL] += g;
            }
        }
    };
    let panel = (k * PANEL).max(1);
    if is_large(grad.len()) {
        out.par_chunks_exact_mut(panel).enumerate().for_each(add);
    } else {
        out.chunks_exact_mut(panel).enumerate().for_each(add);
    }
}
