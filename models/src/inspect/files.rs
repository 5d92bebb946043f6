//! The weight files of a folder: sizes, types and digest, from their headers and one pass of
//! reading.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::adapter::tensors::{TensorFile, widen};
use crate::error::{ModelError, Result};

/// All safetensors files of a folder.
#[derive(Debug, Default, Serialize)]
pub struct WeightFiles {
    /// In order of their names.
    pub files: Vec<WeightFile>,
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
    /// How many tensors it holds.
    pub n_tensors: usize,
    /// SHA-256 of the file as `sha256:…`.
    pub digest: String,
}

/// Reads the headers of all safetensors files, and every tensor where `check` is set.
pub(super) fn read(dir: &Path, check: bool, problems: &mut Vec<String>) -> WeightFiles {
    let mut found = WeightFiles::default();
    let paths = match safetensors(dir) {
        Ok(paths) => paths,
        Err(error) => {
            problems.push(error.to_string());
            return found;
        }
    };
    if paths.is_empty() {
        problems.push("no safetensors file is here".into());
    }
    for path in paths {
        if let Err(error) = found.add(&path, check, problems) {
            problems.push(error.to_string());
        }
    }
    found
}

impl WeightFiles {
    fn add(&mut self, path: &Path, check: bool, problems: &mut Vec<String>) -> Result<()> {
        let mut tensors = TensorFile::open(path)?;
        for entry in tensors.entries().values() {
            *self
                .bytes_by_dtype
                .entry(format!("{:?}", entry.dtype))
                .or_default() += entry.n_bytes();
        }
        if check {
            problems.extend(not_finite(&mut tensors)?);
        }
        let (bytes, digest) = digest(path)?;
        self.files.push(WeightFile {
            name: path
                .file_name()
                .map(|name| name.to_string_lossy().into_owned())
                .unwrap_or_default(),
            bytes,
            n_tensors: tensors.entries().len(),
            digest,
        });
        Ok(())
    }
}

/// A sentence for every tensor with a number that is not finite, or of a type that is not read.
fn not_finite(tensors: &mut TensorFile) -> Result<Vec<String>> {
    let names: Vec<String> = tensors.entries().keys().cloned().collect();
    let mut found = Vec::new();
    for name in names {
        let dtype = tensors.entries()[&name].dtype;
        let bytes = tensors.bytes(&name)?;
        let what = match widen(dtype, &bytes) {
            Err(what) => Some(what),
            Ok(values) => values
                .iter()
                .position(|value| !value.is_finite())
                .map(|at| format!("{} at index {at}", values[at])),
        };
        found.extend(what.map(|what| tensors.refuse(&name, what).to_string()));
    }
    Ok(found)
}

fn safetensors(dir: &Path) -> Result<Vec<PathBuf>> {
    let io = |source| ModelError::Io {
        path: dir.to_owned(),
        source,
    };
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(dir).map_err(io)? {
        let path = entry.map_err(io)?.path();
        if path.extension().is_some_and(|end| end == "safetensors") {
            paths.push(path);
        }
    }
    paths.sort_unstable();
    Ok(paths)
}

/// Size and digest of a file, read in pieces.
pub(super) fn digest(path: &Path) -> Result<(u64, String)> {
    let io = |source| ModelError::Io {
        path: path.to_owned(),
        source,
    };
    let mut file = File::open(path).map_err(io)?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 1 << 20];
    let mut total = 0;
    loop {
        let n = file.read(&mut buffer).map_err(io)?;
        if n == 0 {
            break;
        }
        hasher.update(&buffer[..n]);
        total += n as u64;
    }
    Ok((total, hex(hasher)))
}

fn hex(hasher: Sha256) -> String {
    let digits: String = hasher
        .finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!("sha256:{digits}")
}
