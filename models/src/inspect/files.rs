//! The weight files of a folder, from their headers.

use std::collections::BTreeMap;

use rayon::prelude::*;
use safetensors::tensor::TensorInfo;
use serde::Serialize;

use crate::error::Result;
use chat::Positioned;

use crate::weights::{Checkpoint, pack};

/// Numbers read at once.
const BLOCK: usize = 1 << 22;

/// The safetensors files of a folder.
#[derive(Debug, Serialize)]
pub struct WeightFiles {
    /// In order of their names.
    pub files: Vec<WeightFile>,
    /// Number of tensors.
    pub n_tensors: usize,
    /// Bytes of tensors by storage type.
    pub bytes_by_dtype: BTreeMap<String, u64>,
}

/// One file.
#[derive(Debug, Serialize)]
pub struct WeightFile {
    /// Its name in the folder.
    pub name: String,
    /// Its size, header included.
    pub bytes: u64,
}

impl WeightFiles {
    pub(super) fn of(checkpoint: &Checkpoint) -> WeightFiles {
        let mut bytes_by_dtype: BTreeMap<String, u64> = BTreeMap::new();
        for (_, info) in checkpoint.infos() {
            let (start, end) = info.data_offsets;
            *bytes_by_dtype.entry(info.dtype.to_string()).or_default() += (end - start) as u64;
        }
        WeightFiles {
            files: checkpoint.files().iter().map(WeightFile::of).collect(),
            n_tensors: checkpoint.infos().count(),
            bytes_by_dtype,
        }
    }
}

impl WeightFile {
    fn of(file: &Positioned) -> WeightFile {
        let name = file.path().file_name();
        WeightFile {
            name: name.map_or_else(String::new, |name| name.to_string_lossy().into_owned()),
            bytes: file.byte_len(),
        }
    }
}

/// Reads every tensor. Returns a sentence for each with a number that is not finite, or of a type
/// that weights cannot have.
pub(super) fn unreadable(checkpoint: &Checkpoint) -> Vec<String> {
    let tensors: Vec<(&str, &TensorInfo)> = checkpoint.infos().collect();
    let failed = tensors
        .par_iter()
        .filter_map(|(name, info)| check_tensor(checkpoint, name, &info.shape).err());
    failed.map(|error| error.to_string()).collect()
}

fn check_tensor(checkpoint: &Checkpoint, name: &str, shape: &[usize]) -> Result<()> {
    let tensor = checkpoint.tensor(name, shape)?;
    let len: usize = shape.iter().product();
    (0..len)
        .step_by(BLOCK)
        .try_for_each(|start| pack::to_f32(tensor, start..len.min(start + BLOCK)).map(drop))
}
