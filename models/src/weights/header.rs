//! The header of a safetensors file: its tensors and their places.
//!
//! The format is eight bytes of length, that many bytes of JSON, and the tensors without gaps. The
//! header is checked against the file's length before it determines an allocation.

use std::collections::BTreeSet;
use std::fmt;

use safetensors::tensor::TensorInfo;
use serde::Deserialize;
use serde::de::{Error, IgnoredAny, MapAccess, Visitor};

use crate::error::{ModelError, Result};
use chat::Positioned;

/// Maximum header length, which is also the format's own limit.
const MAX_HEADER_BYTES: u64 = 100_000_000;
/// Bytes of the length field in front of the header.
const LENGTH_BYTES: u64 = 8;

/// A tensor in a file.
#[derive(Clone, Debug)]
pub(super) struct StoredTensor {
    pub(super) name: String,
    pub(super) info: TensorInfo,
    /// The offset of its first byte in the file.
    pub(super) offset: u64,
}

/// Reads and checks the header of a file.
pub(super) fn read_header(file: &Positioned) -> Result<Vec<StoredTensor>> {
    let mut length = [0; size_of::<u64>()];
    if file.byte_len() < LENGTH_BYTES {
        return Err(file.error("too short for a safetensors file").into());
    }
    file.read_exact_at(&mut length, 0)?;
    let length = u64::from_le_bytes(length);
    if length > MAX_HEADER_BYTES {
        let what = format!("a header of {length} bytes; at most {MAX_HEADER_BYTES} are read");
        return Err(file.error(what).into());
    }
    let data = LENGTH_BYTES + length;
    if data > file.byte_len() {
        let what =
            format!("truncated: a header of {length} bytes in a file of {} bytes", file.byte_len());
        return Err(file.error(what).into());
    }
    let mut json = vec![0; usize::try_from(length).expect("it is at most 10^8")];
    file.read_exact_at(&mut json, LENGTH_BYTES)?;
    let Header(mut tensors) = serde_json::from_slice(&json)
        .map_err(|error| file.error(format!("the header is not one of safetensors: {error}")))?;
    tensors.sort_by_key(|(_, info)| info.data_offsets);
    check_names(file, &tensors)?;
    check_layout(file, &tensors, file.byte_len() - data)?;
    let entry = |(name, info): (String, TensorInfo)| StoredTensor {
        name,
        offset: data + info.data_offsets.0 as u64,
        info,
    };
    Ok(tensors.into_iter().map(entry).collect())
}

fn check_names(file: &Positioned, tensors: &[(String, TensorInfo)]) -> Result<()> {
    let mut seen = BTreeSet::new();
    match tensors.iter().find(|(name, _)| !seen.insert(name)) {
        None => Ok(()),
        Some((name, _)) => Err(ModelError::tensor(file.path(), name, "is twice in the header")),
    }
}

/// Checks that every tensor is as long as its shape and type require, and that they follow each
/// other from the first byte of the data to the last.
fn check_layout(file: &Positioned, tensors: &[(String, TensorInfo)], data: u64) -> Result<()> {
    let mut end = 0;
    for (name, info) in tensors {
        let (start, stop) = info.data_offsets;
        if start < end {
            let what =
                format!("starts at byte {start} of the data, inside the one that ends at {end}");
            return Err(ModelError::tensor(file.path(), name, what));
        }
        if start > end {
            let what =
                format!("starts at byte {start} of the data, and the one before ends at {end}");
            return Err(ModelError::tensor(file.path(), name, what));
        }
        if stop as u64 > data {
            let what = format!("truncated: it ends at byte {stop} of the data, which has {data}");
            return Err(ModelError::tensor(file.path(), name, what));
        }
        let span = stop.checked_sub(start);
        if span.is_none() || span != byte_len(info) {
            let what = format!(
                "bytes {start} to {stop} are not a tensor {:?} of {}",
                info.shape, info.dtype
            );
            return Err(ModelError::tensor(file.path(), name, what));
        }
        end = stop;
    }
    match data - end as u64 {
        0 => Ok(()),
        rest => Err(file.error(format!("{rest} bytes after the last tensor")).into()),
    }
}

/// Bytes of a tensor; `None` on overflow or if they are not a multiple of eight bits.
fn byte_len(info: &TensorInfo) -> Option<usize> {
    let mut shape = info.shape.iter();
    let numbers = shape.try_fold(1_usize, |n, dim| n.checked_mul(*dim))?;
    let bits = numbers.checked_mul(info.dtype.bitsize())?;
    bits.is_multiple_of(8).then_some(bits / 8)
}

/// The tensors of the JSON object, repeated names included.
struct Header(Vec<(String, TensorInfo)>);

impl<'de> Deserialize<'de> for Header {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(HeaderVisitor).map(Header)
    }
}

struct HeaderVisitor;

impl<'de> Visitor<'de> for HeaderVisitor {
    type Value = Vec<(String, TensorInfo)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of tensors by name")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut tensors = Vec::new();
        while let Some(name) = map.next_key::<String>()? {
            if name == "__metadata__" {
                map.next_value::<IgnoredAny>()?;
            } else {
                let info = map.next_value();
                let info =
                    info.map_err(|error| A::Error::custom(format!("tensor `{name}`: {error}")))?;
                tensors.push((name, info));
            }
        }
        Ok(tensors)
    }
}
