//! Column panels: the layout in which kernels read a weight matrix.
//!
//! A matrix `W [n, k]` (output by input, as checkpoints store it) is kept as panels of [`PANEL`]
//! output columns: element `(row, col)` of `W` lies at
//! `(row / PANEL) * k * PANEL + col * PANEL + row % PANEL`. The last panel is padded with zeros. A
//! kernel reads one panel from front to back along `k`, so no call repacks.

use std::ops::Range;

use half::{bf16, f16};

/// Output columns in one panel.
pub const PANEL: usize = 16;

/// A borrowed view of panels in storage, the operand of kernels.
#[derive(Clone, Copy, Debug)]
pub struct Panels<'a> {
    /// The numbers, panel after panel.
    pub data: PanelData<'a>,
    /// Output columns, without the padding of the last panel.
    pub n: usize,
    /// Input columns.
    pub k: usize,
}

impl<'a> Panels<'a> {
    /// A range of the panels: the matrix of the columns that they cover.
    #[must_use]
    pub fn range(self, panels: Range<usize>) -> Panels<'a> {
        let (first, end) = (panels.start * PANEL, (panels.end * PANEL).min(self.n));
        let part = panels.start * self.k * PANEL..panels.end * self.k * PANEL;
        Panels {
            data: match self.data {
                PanelData::F32(data) => PanelData::F32(&data[part]),
                PanelData::F16(data) => PanelData::F16(&data[part]),
                PanelData::Bf16(data) => PanelData::Bf16(&data[part]),
            },
            n: end.saturating_sub(first),
            k: self.k,
        }
    }
}

/// The storage types that kernels read.
#[derive(Clone, Copy, Debug)]
pub enum PanelData<'a> {
    /// 32-bit floats.
    F32(&'a [f32]),
    /// IEEE half precision.
    F16(&'a [f16]),
    /// bfloat16.
    Bf16(&'a [bf16]),
}

/// Packs row-major `[n, k]` into panels.
pub fn pack(rows: &[f32], n: usize, k: usize) -> Vec<f32> {
    assert_eq!(rows.len(), n * k, "a [{n}, {k}] matrix");
    let mut panels = vec![0.0; n.div_ceil(PANEL) * k * PANEL];
    for (row, values) in rows.chunks_exact(k.max(1)).enumerate() {
        let base = (row / PANEL) * k * PANEL + row % PANEL;
        for (col, value) in values.iter().enumerate() {
            panels[base + col * PANEL] = *value;
        }
    }
    panels
}

/// Unpacks panels to row-major `[n, k]`.
pub fn unpack(panels: &[f32], n: usize, k: usize) -> Vec<f32> {
    let mut rows = vec![0.0; n * k];
    for (row, values) in rows.chunks_exact_mut(k.max(1)).enumerate() {
        let base = (row / PANEL) * k * PANEL + row % PANEL;
        for (col, value) in values.iter_mut().enumerate() {
            *value = panels[base + col * PANEL];
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::{PANEL, pack, unpack};

    #[test]
    fn unpacking_undoes_packing() {
        for (n, k) in [(1, 1), (16, 3), (17, 5), (40, 1), (3, 0)] {
            let rows: Vec<f32> = (0..n * k).map(|i| i as f32).collect();
            let panels = pack(&rows, n, k);
            assert_eq!(panels.len() % PANEL, 0);
            assert_eq!(unpack(&panels, n, k), rows, "[{n}, {k}]");
        }
    }
}
