//! Slices out of candle storage.

use candle_core::{CpuStorage, Error, Layout, Result};

use crate::packed::{PanelData, Panels};

/// The f32 numbers of a contiguous operand.
pub(super) fn f32s<'a>(storage: &'a CpuStorage, layout: &Layout) -> Result<&'a [f32]> {
    let CpuStorage::F32(data) = storage else {
        return Err(Error::Msg("activations are f32".into()));
    };
    Ok(&data[range(layout)?])
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
        other => {
            return Err(Error::Msg(format!(
                "weights are f32, f16 or bf16, not {:?}",
                candle_core::backend::BackendStorage::dtype(other)
            )));
        }
    };
    Ok(Panels { data, n, k })
}

fn range(layout: &Layout) -> Result<std::ops::Range<usize>> {
    let (start, end) = layout
        .contiguous_offsets()
        .ok_or_else(|| Error::Msg("an operand is not contiguous".into()))?;
    Ok(start..end)
}
