//! Weights as tensors in column panels ([`panels`](crate::kernels::panels)).
//!
//! The panels *are* the parameter: a trainer's optimiser is elementwise and updates them in place;
//! only loading and saving use the row-major form.

use std::sync::Arc;

use candle_core::{DType, Device, Tensor, Var};

use crate::error::{ModelError, Result};
use crate::kernels::bf16_pairs::Bf16Matrix;
use crate::kernels::int8::Int8Matrix;
use crate::kernels::panels::{PANEL, pack, unpack};

/// A matrix `[n, k]` in column panels, stored as f32, f16 or bf16.
///
/// Cloning shares storage. Gradients are recorded if [`Matrix::tensor`] is a variable's tensor.
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
        // Detached, because a variable's own tensor would be shared, and written with the copy.
        let var = Var::from_tensor(&self.panels.detach())?;
        Ok((Self::from_panels(var.as_tensor().clone(), self.n, self.k)?, var))
    }

    /// The same matrix over the same storage without gradients: it follows a variable that is
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
    /// Floating point panels, multiplied in f32; trainable if their tensor is a variable's.
    Panels(Matrix),
    /// Pairs of bf16, multiplied in bf16, for models that are not trained.
    Bf16(Arc<Bf16Matrix>),
    /// 8-bit panels, for models that are not trained.
    Int8(Arc<Int8Matrix>),
}

impl Weight {
    /// The same weight over the same storage without gradients.
    #[must_use]
    pub fn detached(&self) -> Weight {
        match self {
            Weight::Panels(matrix) => Weight::Panels(matrix.detached()),
            Weight::Bf16(matrix) => Weight::Bf16(matrix.clone()),
            Weight::Int8(matrix) => Weight::Int8(matrix.clone()),
        }
    }

    /// The floating point panels of a weight that can be trained.
    ///
    /// # Errors
    /// bf16 pairs and 8-bit weights, which have no gradient.
    pub fn trainable(&self) -> Result<&Matrix> {
        let requested = match self {
            Weight::Panels(matrix) => return Ok(matrix),
            Weight::Bf16(_) => "gradient of weights multiplied in bf16",
            Weight::Int8(_) => "gradient of 8-bit weights",
        };
        Err(ModelError::Unavailable {
            requested: requested.into(),
            available: "those of weights multiplied in f32".into(),
        })
    }

    /// Output columns.
    pub fn n(&self) -> usize {
        match self {
            Weight::Panels(matrix) => matrix.n(),
            Weight::Bf16(matrix) => matrix.n(),
            Weight::Int8(matrix) => matrix.n(),
        }
    }

    /// Input columns.
    pub fn k(&self) -> usize {
        match self {
            Weight::Panels(matrix) => matrix.k(),
            Weight::Bf16(matrix) => matrix.k(),
            Weight::Int8(matrix) => matrix.k(),
        }
    }
}
