//! One safetensors file, read by position: the header first, then only the tensors asked for.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use half::{bf16, f16};
use safetensors::Dtype;
use serde::Deserialize;

use crate::error::{ModelError, Result};

/// Headers above this are refused before memory is taken for them; the format's own limit.
const MAX_HEADER_BYTES: u64 = 100 << 20;

/// Name that the header keeps for its free text.
const METADATA: &str = "__metadata__";

/// Type, shape and place of one tensor.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Entry {
    /// Storage type.
    pub(crate) dtype: Dtype,
    /// Row-major shape.
    pub(crate) shape: Vec<usize>,
    /// `[start, end)` in bytes after the header.
    pub(crate) data_offsets: [u64; 2],
}

/// An open safetensors file.
#[derive(Debug)]
pub(crate) struct TensorFile {
    path: PathBuf,
    file: File,
    entries: BTreeMap<String, Entry>,
    data_start: u64,
}

impl Entry {
    /// Bytes in the file.
    pub(crate) fn n_bytes(&self) -> u64 {
        self.data_offsets[1] - self.data_offsets[0]
    }
}

impl TensorFile {
    /// Opens the file and checks its header: every tensor lies inside the file, has the bytes that
    /// its type and shape need, and overlaps no other, and no byte belongs to none.
    ///
    /// # Errors
    /// [`ModelError::Io`] where the system refuses, [`ModelError::File`] for a broken header,
    /// [`ModelError::Tensor`] for a broken entry.
    pub(crate) fn open(path: &Path) -> Result<TensorFile> {
        let io = |source| ModelError::Io {
            path: path.to_owned(),
            source,
        };
        let broken = |what: String| ModelError::File {
            path: path.to_owned(),
            what,
        };
        // Asked before opening, which would wait for a writer at the end of a pipe.
        if !std::fs::metadata(path).map_err(io)?.is_file() {
            return Err(broken("not a file".into()));
        }
        let mut file = File::open(path).map_err(io)?;
        let file_bytes = file.metadata().map_err(io)?.len();
        let mut length = [0; 8];
        if file_bytes < 8 {
            return Err(broken(format!(
                "{file_bytes} bytes, too short for a header"
            )));
        }
        file.read_exact(&mut length).map_err(io)?;
        let header_bytes = u64::from_le_bytes(length);
        if header_bytes > MAX_HEADER_BYTES || header_bytes > file_bytes - 8 {
            return Err(broken(format!(
                "a header of {header_bytes} bytes in a file of {file_bytes}"
            )));
        }
        let mut header = vec![0; usize::try_from(header_bytes).expect("below 100 MiB")];
        file.read_exact(&mut header).map_err(io)?;
        let entries = entries(&header).map_err(|error| broken(format!("header: {error}")))?;
        let opened = TensorFile {
            path: path.to_owned(),
            file,
            entries,
            data_start: 8 + header_bytes,
        };
        opened.check(file_bytes)?;
        Ok(opened)
    }

    /// The tensors by name.
    pub(crate) fn entries(&self) -> &BTreeMap<String, Entry> {
        &self.entries
    }

    /// An error that names a tensor of this file.
    pub(crate) fn refuse(&self, name: &str, what: impl Into<String>) -> ModelError {
        ModelError::Tensor {
            path: self.path.clone(),
            name: name.to_owned(),
            what: what.into(),
        }
    }

    /// The tensor's bytes, as they lie in the file.
    pub(crate) fn bytes(&mut self, name: &str) -> Result<Vec<u8>> {
        let entry = self
            .entries
            .get(name)
            .ok_or_else(|| self.refuse(name, "missing"))?;
        let start = self.data_start + entry.data_offsets[0];
        let mut bytes = vec![0; usize::try_from(entry.n_bytes()).expect("inside the file")];
        let io = |source| ModelError::Io {
            path: self.path.clone(),
            source,
        };
        self.file.seek(SeekFrom::Start(start)).map_err(io)?;
        self.file.read_exact(&mut bytes).map_err(io)?;
        Ok(bytes)
    }

    fn check(&self, file_bytes: u64) -> Result<()> {
        let data_bytes = file_bytes - self.data_start;
        let mut spans = Vec::new();
        for (name, entry) in &self.entries {
            let [start, end] = entry.data_offsets;
            if start > end || end > data_bytes {
                return Err(self.refuse(
                    name,
                    format!(
                        "bytes {start}..{end} of {data_bytes}: the file is cut short or corrupt"
                    ),
                ));
            }
            let bits = entry
                .shape
                .iter()
                .try_fold(entry.dtype.bitsize() as u64, |bits, dim| {
                    bits.checked_mul(*dim as u64)
                });
            if bits != (end - start).checked_mul(8) {
                return Err(self.refuse(
                    name,
                    format!(
                        "{} bytes for shape {:?} of {:?}",
                        end - start,
                        entry.shape,
                        entry.dtype
                    ),
                ));
            }
            spans.push((start, end, name));
        }
        spans.sort_unstable();
        let mut at = 0;
        for (start, end, name) in spans {
            if start != at {
                return Err(self.refuse(name, format!("starts at byte {start}, not {at}")));
            }
            at = end;
        }
        if at == data_bytes {
            return Ok(());
        }
        Err(ModelError::File {
            path: self.path.clone(),
            what: format!("{} bytes belong to no tensor", data_bytes - at),
        })
    }
}

/// `values` of an f32, f16 or bf16 tensor as f32; the type's name for any other.
pub(crate) fn widen(dtype: Dtype, bytes: &[u8]) -> Result<Vec<f32>, String> {
    fn all<const N: usize>(bytes: &[u8], to_f32: impl Fn([u8; N]) -> f32) -> Vec<f32> {
        let (values, rest) = bytes.as_chunks::<N>();
        debug_assert!(rest.is_empty(), "the header was checked");
        values.iter().map(|value| to_f32(*value)).collect()
    }
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "a foreign enum; every type that is not a weight's is refused by name"
    )]
    match dtype {
        Dtype::F32 => Ok(all(bytes, f32::from_le_bytes)),
        Dtype::F16 => Ok(all(bytes, |b| f16::from_le_bytes(b).to_f32())),
        Dtype::BF16 => Ok(all(bytes, |b| bf16::from_le_bytes(b).to_f32())),
        other => Err(format!("type {other:?}; F32, F16 and BF16 are read")),
    }
}

fn entries(header: &[u8]) -> serde_json::Result<BTreeMap<String, Entry>> {
    let mut raw: BTreeMap<String, serde_json::Value> = serde_json::from_slice(header)?;
    raw.remove(METADATA);
    raw.into_iter()
        .map(|(name, value)| Ok((name, serde_json::from_value(value)?)))
        .collect()
}
