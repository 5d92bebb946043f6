//! Weight files in the safetensors format, written from front to back in bounded memory.
//!
//! The format: eight bytes of length, a JSON header with each tensor's type, shape and place, then
//! the numbers. Lengths are known in advance, so that only the current piece is in memory.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use half::{bf16, f16};
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use crate::weights::FloatType;

/// A tensor's name and row-major shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedShape {
    /// Name in the file.
    pub name: String,
    /// Row-major shape.
    pub shape: Vec<usize>,
}

impl NamedShape {
    /// Numbers in the tensor.
    pub fn n_numbers(&self) -> u64 {
        self.shape.iter().map(|n| *n as u64).product()
    }
}

/// A file being written: after the header, the numbers of the entries in order.
#[derive(Debug)]
pub struct Writer<'a> {
    out: BufWriter<File>,
    storage: FloatType,
    digest: &'a mut Sha256,
    n_bytes: u64,
}

impl<'a> Writer<'a> {
    /// Creates the file and writes its header; all bytes go into `digest` too.
    pub fn create(
        path: &Path,
        storage: FloatType,
        entries: &[NamedShape],
        digest: &'a mut Sha256,
    ) -> io::Result<Writer<'a>> {
        let mut writer =
            Writer { out: BufWriter::new(File::create_new(path)?), storage, digest, n_bytes: 0 };
        let header = header(storage, entries);
        writer.bytes(&(header.len() as u64).to_le_bytes())?;
        writer.bytes(header.as_bytes())?;
        Ok(writer)
    }

    /// Writes the next numbers.
    pub fn numbers(&mut self, numbers: &[f32]) -> io::Result<()> {
        let bytes: Vec<u8> = match self.storage {
            FloatType::F32 => numbers.iter().flat_map(|x| x.to_le_bytes()).collect(),
            FloatType::F16 => {
                numbers.iter().flat_map(|x| f16::from_f32(*x).to_le_bytes()).collect()
            }
            FloatType::Bf16 => {
                numbers.iter().flat_map(|x| bf16::from_f32(*x).to_le_bytes()).collect()
            }
        };
        self.bytes(&bytes)
    }

    /// Flushes the file to the disk; returns its length in bytes.
    pub fn finish(self) -> io::Result<u64> {
        let file = self.out.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.sync_all()?;
        Ok(self.n_bytes)
    }

    fn bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.digest.update(bytes);
        self.n_bytes += bytes.len() as u64;
        self.out.write_all(bytes)
    }
}

/// The header, padded with spaces so that the numbers start at a multiple of eight bytes.
fn header(storage: FloatType, entries: &[NamedShape]) -> String {
    let mut fields = Map::new();
    fields.insert("__metadata__".into(), json!({ "format": "pt" }));
    let mut start = 0;
    for entry in entries {
        let end = start + entry.n_numbers() * storage.byte_len() as u64;
        let value: Value = json!({
            "dtype": storage.format_name(), "shape": entry.shape, "data_offsets": [start, end],
        });
        fields.insert(entry.name.clone(), value);
        start = end;
    }
    let mut header = Value::from(fields).to_string();
    header.push_str(&" ".repeat(header.len().next_multiple_of(8) - header.len()));
    header
}

#[cfg(test)]
mod tests {
    use safetensors::SafeTensors;
    use sha2::{Digest as _, Sha256};

    use super::{FloatType, NamedShape, Writer};

    #[test]
    fn safetensors_reader_reads_the_file() {
        let entries = [("a", vec![2, 3]), ("b.weight", vec![1])]
            .map(|(name, shape)| NamedShape { name: name.into(), shape });
        for storage in FloatType::ALL {
            let folder = tempfile::tempdir().expect("a folder");
            let path = folder.path().join("weights");
            let mut digest = Sha256::new();
            let mut writer =
                Writer::create(&path, storage, &entries, &mut digest).expect("created");
            writer.numbers(&[0.0, 1.0, 2.0]).expect("written");
            writer.numbers(&[3.0, -4.0, 0.5, 7.0]).expect("written");
            let n_bytes = writer.finish().expect("on disk");
            let bytes = std::fs::read(&path).expect("readable");
            assert_eq!(n_bytes, bytes.len() as u64);
            assert_eq!(digest.finalize(), Sha256::digest(&bytes));

            let file = SafeTensors::deserialize(&bytes).expect("well formed");
            let shape = |name| file.tensor(name).expect("there").shape().to_vec();
            assert_eq!((shape("a"), shape("b.weight")), (vec![2, 3], vec![1]));
            let last = file.tensor("b.weight").expect("there").data();
            match storage {
                FloatType::F32 => assert_eq!(last, 7.0_f32.to_le_bytes()),
                FloatType::F16 => assert_eq!(last, half::f16::from_f32(7.0).to_le_bytes()),
                FloatType::Bf16 => assert_eq!(last, half::bf16::from_f32(7.0).to_le_bytes()),
            }
        }
    }
}
