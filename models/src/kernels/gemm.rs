//! Products with packed weights.

use half::{bf16, f16};

use crate::packed::{PANEL, PanelData, Panels};

/// `out [m, n] = x [m, k] · Wᵀ (+ bias [n])`, all f32.
pub fn matmul(x: &[f32], weight: Panels<'_>, bias: Option<&[f32]>, out: &mut [f32]) {
    let (n, k) = (weight.n, weight.k);
    for (x, out) in x.chunks_exact(k).zip(out.chunks_exact_mut(n)) {
        for (column, value) in out.iter_mut().enumerate() {
            *value = dot(x, weight, column) + bias.map_or(0.0, |b| b[column]);
        }
    }
}

/// `out [m, n] += scale · x [m, k] · Wᵀ`.
pub fn matmul_add(x: &[f32], weight: Panels<'_>, scale: f32, out: &mut [f32]) {
    let (n, k) = (weight.n, weight.k);
    for (x, out) in x.chunks_exact(k).zip(out.chunks_exact_mut(n)) {
        for (column, value) in out.iter_mut().enumerate() {
            *value += scale * dot(x, weight, column);
        }
    }
}

/// `out [m, columns.len()]`: the product with these columns of the weight only. Each value has the
/// bits that [`matmul`] gives it.
pub fn columns(x: &[f32], weight: Panels<'_>, columns: &[u32], out: &mut [f32]) {
    for (x, out) in x
        .chunks_exact(weight.k)
        .zip(out.chunks_exact_mut(columns.len()))
    {
        for (column, value) in columns.iter().zip(out.iter_mut()) {
            *value = dot(x, weight, *column as usize);
        }
    }
}

/// Gradient of the input: `out [m, k] = grad [m, n] · W`.
pub fn grad_input(grad: &[f32], weight: Panels<'_>, out: &mut [f32]) {
    let (n, k) = (weight.n, weight.k);
    for (grad, out) in grad.chunks_exact(n).zip(out.chunks_exact_mut(k)) {
        for (col, value) in out.iter_mut().enumerate() {
            *value = (0..n).fold(0.0, |sum: f32, row| {
                grad[row].mul_add(at(weight, row, col), sum)
            });
        }
    }
}

/// Gradient of the weight, in panels: `out [panels, k, PANEL] = gradᵀ [n, m] · x [m, k]`.
pub fn grad_weight(x: &[f32], grad: &[f32], n: usize, k: usize, out: &mut [f32]) {
    for (x, grad) in x.chunks_exact(k).zip(grad.chunks_exact(n)) {
        for (row, g) in grad.iter().enumerate() {
            for (col, x) in x.iter().enumerate() {
                let value = &mut out[(row / PANEL) * k * PANEL + col * PANEL + row % PANEL];
                *value = g.mul_add(*x, *value);
            }
        }
    }
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

fn dot(x: &[f32], weight: Panels<'_>, column: usize) -> f32 {
    x.iter().enumerate().fold(0.0, |sum: f32, (col, x)| {
        x.mul_add(at(weight, column, col), sum)
    })
}
