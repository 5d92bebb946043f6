//! Slices out of candle storage.

use candle_core::backend::BackendStorage;
use candle_core::{CpuStorage, Error, Layout, Result, Storage, StorageRef, Tensor};

use crate::kernels::panels::{PanelData, Panels};

/// The f32 numbers of a contiguous operand.
pub(super) fn f32s<'a>(storage: &'a CpuStorage, layout: &Layout) -> Result<&'a [f32]> {
    let CpuStorage::F32(data) = storage else {
        return Err(Error::Msg("activations are f32".into()));
    };
    Ok(&data[range(layout)?])
}

/// The f32 numbers of a contiguous operand that an operation writes to.
pub(super) fn f32s_mut<'a>(storage: &'a mut CpuStorage, layout: &Layout) -> Result<&'a mut [f32]> {
    let CpuStorage::F32(data) = storage else {
        return Err(Error::Msg("activations are f32".into()));
    };
    Ok(&mut data[range(layout)?])
}

/// The panels of a contiguous weight.
pub(super) fn panels<'a>(
    storage: &'a CpuStorage,
    layout: &Layout,
    n: usize,
    k: usize,
) -> Result<Panels<'a>> {
    let range = range(layout)?;
    let data = match storage {
        CpuStorage::F32(data) => PanelData::F32(&data[range]),
        CpuStorage::F16(data) => PanelData::F16(&data[range]),
        CpuStorage::BF16(data) => PanelData::Bf16(&data[range]),
        CpuStorage::U8(_)
        | CpuStorage::U32(_)
        | CpuStorage::I16(_)
        | CpuStorage::I32(_)
        | CpuStorage::I64(_)
        | CpuStorage::F64(_)
        | CpuStorage::F8E4M3(_)
        | CpuStorage::F6E2M3(_)
        | CpuStorage::F6E3M2(_)
        | CpuStorage::F4(_)
        | CpuStorage::F8E8M0(_) => {
            return Err(Error::Msg(format!(
                "weights are f32, f16 or bf16, not {:?}",
                storage.dtype()
            )));
        }
    };
    Ok(Panels { data, n, k })
}

/// A tensor whose storage is locked for reading: for operands beyond the three of a candle op, and
/// for backward passes. It must not outlive the op, because the optimiser writes to the same
/// storage.
pub(super) struct Held<'a> {
    storage: StorageRef<'a>,
    layout: &'a Layout,
}

impl<'a> Held<'a> {
    pub(super) fn new(tensor: &'a Tensor) -> Held<'a> {
        let (storage, layout) = tensor.storage_and_layout();
        Held { storage, layout }
    }

    /// The f32 numbers of a contiguous tensor.
    pub(super) fn f32s(&self) -> Result<&[f32]> {
        f32s(self.cpu()?, self.layout)
    }

    /// The panels of the matrix `[n, k]` in this tensor.
    pub(super) fn panels(&self, n: usize, k: usize) -> Result<Panels<'_>> {
        panels(self.cpu()?, self.layout, n, k)
    }

    fn cpu(&self) -> Result<&CpuStorage> {
        match &*self.storage {
            Storage::Cpu(cpu) => Ok(cpu),
            Storage::Cuda(_) | Storage::Metal(_) => {
                Err(Error::Msg("this operation runs on the CPU".into()))
            }
        }
    }
}

fn range(layout: &Layout) -> Result<std::ops::Range<usize>> {
    let (start, end) = layout
        .contiguous_offsets()
        .ok_or_else(|| Error::Msg("an operand is not contiguous".into()))?;
    Ok(start..end)
}

/// An operand of the wrong shape.
pub(super) fn shape_error(what: &str, tensor: &Tensor, want: &str) -> Error {
    Error::Msg(format!("{what} has shape {:?}, it should be {want}", tensor.dims()))
}
