//! Weight matrices in column panels.
//!
//! A matrix `W [n, k]` (output by input, as checkpoints store it) is kept as panels of [`PANEL`]
//! output columns: element `(row, col)` of `W` lies at
//! `(row / PANEL) * k * PANEL + col * PANEL + row % PANEL`. The last panel is filled with zeros.
//! A kernel reads one panel from front to back while it walks along `k`, so nothing is repacked at
//! a call. The panels *are* the parameter: a trainer's optimiser is elementwise and works on them
//! in place, and only loading and saving know the row-major form.

use std::ops::Range;
use std::sync::Arc;

use candle_core::{DType, Device, Tensor, Var};
use half::{bf16, f16};

use crate::error::{ModelError, Result};
use crate::kernels::int8::Int8Matrix;

/// Output columns in one panel.
pub const PANEL: usize = 16;

/// A matrix `[n, k]` in column panels, stored as f32, f16 or bf16.
///
/// Cloning shares storage. Gradients are recorded when [`Matrix::tensor`] is a variable's tensor.
#[derive(Clone, Debug)]
pub struct Matrix {
    panels: Tensor,
    n: usize,
    k: usize,
}

impl Matrix {
    /// Wraps panels `[n.div_ceil(PANEL), k, PANEL]` that are already in order.
    pub fn from_panels(panels: Tensor, n: usize, k: usize) -> Result<Matrix> {
        let want = [n.div_ceil(PANEL), k, PANEL];
        if panels.dims() != want {
            return Err(ModelError::Batch(format!(
                "panels of a [{n}, {k}] matrix have shape {want:?}, not {:?}",
                panels.dims()
            )));
        }
        Ok(Matrix { panels, n, k })
    }

    /// Packs a row-major matrix `[n, k]` of f32.
    pub fn from_rows(rows: &[f32], n: usize, k: usize) -> Result<Matrix> {
        Self::from_panels(
            Tensor::from_vec(pack(rows, n, k), (n.div_ceil(PANEL), k, PANEL), &Device::Cpu)?,
            n,
            k,
        )
    }

    /// The same matrix in another storage type (f32, f16 or bf16).
    pub fn to_dtype(&self, dtype: DType) -> Result<Matrix> {
        Self::from_panels(self.panels.to_dtype(dtype)?, self.n, self.k)
    }

    /// A copy of the matrix whose panels are a trainable variable.
    pub fn to_var(&self) -> Result<(Matrix, Var)> {
        // A variable's own tensor would be taken as it is, and written with the copy.
        let var = Var::from_tensor(&self.panels.detach())?;
        Ok((Self::from_panels(var.as_tensor().clone(), self.n, self.k)?, var))
    }

    /// The same matrix over the same storage, recording no gradient: it follows a variable that is
    /// written in place.
    #[must_use]
    pub fn detached(&self) -> Matrix {
        Matrix { panels: self.panels.detach(), ..*self }
    }

    /// The row-major matrix `[n, k]` as f32.
    pub fn to_rows(&self) -> Result<Vec<f32>> {
        let panels = self.panels.to_dtype(DType::F32)?.flatten_all()?.to_vec1::<f32>()?;
        Ok(unpack(&panels, self.n, self.k))
    }

    /// The panels: `[n.div_ceil(PANEL), k, PANEL]`.
    pub fn tensor(&self) -> &Tensor {
        &self.panels
    }

    /// Output columns.
    pub fn n(&self) -> usize {
        self.n
    }

    /// Input columns.
    pub fn k(&self) -> usize {
        self.k
    }
}

/// The weight of a linear layer.
#[derive(Clone, Debug)]
pub enum Weight {
    /// Floating point panels; trainable when their tensor is a variable's.
    Panels(Matrix),
    /// 8-bit panels, for models that are only served.
    Int8(Arc<Int8Matrix>),
}

impl Weight {
    /// The same weight over the same storage, recording no gradient.
    #[must_use]
    pub fn detached(&self) -> Weight {
        match self {
            Weight::Panels(matrix) => Weight::Panels(matrix.detached()),
            Weight::Int8(matrix) => Weight::Int8(matrix.clone()),
        }
    }

    /// Output columns.
    pub fn n(&self) -> usize {
        match self {
            Weight::Panels(matrix) => matrix.n(),
            Weight::Int8(matrix) => matrix.n(),
        }
    }

    /// Input columns.
    pub fn k(&self) -> usize {
        match self {
            Weight::Panels(matrix) => matrix.k(),
            Weight::Int8(matrix) => matrix.k(),
        }
    }
}

/// A borrowed view of panels in storage, as kernels take it.
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
    /// Some of the panels: the matrix of the columns they cover.
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

/// Row-major `[n, k]` to panels.
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

/// Panels to row-major `[n, k]`.
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
