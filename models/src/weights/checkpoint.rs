//! The tensors of a folder: one safetensors file, or shards with an index.
//!
//! Tensors are read at positions and not through a memory map. A file that is truncated while
//! mapped ends the process with a signal that cannot be handled, and mapped pages count as the
//! process's memory beside the packed copy of the same weights; a read returns an error, and holds
//! one block.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use safetensors::tensor::TensorInfo;

use super::float_type::FloatType;
use super::header::{self, StoredTensor};
use super::index::Index;
use crate::error::{ModelError, Result};
use chat::{Folder, Positioned};

const SINGLE: &str = "model.safetensors";
const INDEX: &str = "model.safetensors.index.json";
/// Files of older folders: pickled Python objects, which can run code when loaded.
const PICKLED: &[&str] = &["pytorch_model.bin", "pytorch_model.bin.index.json"];

/// The tensors of a folder, by name.
#[derive(Debug)]
pub struct Checkpoint {
    dir: PathBuf,
    files: Vec<Positioned>,
    tensors: BTreeMap<String, Stored>,
}

/// The place of a tensor.
#[derive(Clone, Debug)]
struct Stored {
    file: usize,
    entry: StoredTensor,
}

/// A tensor of floats in a file.
#[derive(Clone, Copy, Debug)]
pub struct TensorRef<'a> {
    /// Its name.
    pub name: &'a str,
    /// The file that holds it.
    pub file: &'a Positioned,
    /// The offset of its first byte.
    pub offset: u64,
    /// Its numbers' type.
    pub dtype: FloatType,
    /// Its shape.
    pub shape: &'a [usize],
}

impl TensorRef<'_> {
    /// An error about this tensor.
    pub fn error(&self, what: impl Into<String>) -> ModelError {
        ModelError::tensor(self.file.path(), self.name, what)
    }
}

impl Checkpoint {
    /// Opens the files of a folder and checks their headers; no weight is read.
    ///
    /// # Errors
    /// [`ModelError::Io`] and [`ModelError::File`] for folders and files that cannot be read in
    /// their format, [`ModelError::Tensor`] for a tensor that is misplaced in its file, is in two
    /// files, or is not where the index says.
    pub fn open(dir: &Path) -> Result<Checkpoint> {
        Checkpoint::of_folder(&Folder::directory(dir))
    }

    /// As [`Checkpoint::open`], for a folder that may be in memory.
    ///
    /// # Errors
    /// As [`Checkpoint::open`].
    pub fn of_folder(folder: &Folder) -> Result<Checkpoint> {
        let error = |what: String| ModelError::File { path: folder.path().to_path_buf(), what };
        folder.check()?;
        let there = |name: &&str| folder.has(name);
        match (there(&SINGLE), there(&INDEX)) {
            (true, true) => Err(error(format!(
                "holds {SINGLE} and {INDEX}, and the choice between them is ambiguous"
            ))),
            (true, false) => Checkpoint::read(folder, &BTreeSet::from([SINGLE])),
            (false, true) => Checkpoint::sharded(folder),
            (false, false) => Err(error(match PICKLED.iter().find(|name| there(name)) {
                None => format!("holds neither {SINGLE} nor {INDEX}"),
                Some(pickled) => format!(
                    "holds {pickled} and no safetensors; convert it (transformers' \
                     `save_pretrained` writes safetensors)"
                ),
            })),
        }
    }

    /// Opens a single file, such as an adapter's.
    ///
    /// # Errors
    /// As [`Checkpoint::open`].
    pub fn of_file(path: &Path) -> Result<Checkpoint> {
        let parts = (path.parent(), path.file_name().and_then(|name| name.to_str()));
        let (Some(dir), Some(name)) = parts else {
            return Err(ModelError::File {
                path: path.to_path_buf(),
                what: "no name of a file".into(),
            });
        };
        Checkpoint::read(&Folder::directory(dir), &BTreeSet::from([name]))
    }

    fn sharded(folder: &Folder) -> Result<Checkpoint> {
        let file = folder.open(INDEX)?;
        let index = Index::read(&file)?;
        let names: BTreeSet<&str> = index.shards().values().map(String::as_str).collect();
        if let Some(absent) = names.iter().find(|name| !folder.has(name)) {
            return Err(ModelError::File {
                path: folder.path_of(absent),
                what: format!("named by {INDEX}, and absent"),
            });
        }
        let checkpoint = Checkpoint::read(folder, &names)?;
        checkpoint.check_index(&index, file.path())?;
        Ok(checkpoint)
    }

    /// Opens files of a folder, in the order of their names.
    fn read(folder: &Folder, names: &BTreeSet<&str>) -> Result<Checkpoint> {
        let mut checkpoint = Checkpoint {
            dir: folder.path().to_path_buf(),
            files: Vec::new(),
            tensors: BTreeMap::new(),
        };
        for name in names {
            let file = folder.open(name)?;
            for entry in header::read_header(&file)? {
                let (name, stored) =
                    (entry.name.clone(), Stored { file: checkpoint.files.len(), entry });
                if let Some(other) = checkpoint.tensors.insert(name.clone(), stored) {
                    let other = checkpoint.files[other.file].path().display();
                    return Err(ModelError::tensor(
                        file.path(),
                        &name,
                        format!("is also in {other}"),
                    ));
                }
            }
            checkpoint.files.push(file);
        }
        Ok(checkpoint)
    }

    /// Checks that the index and the shards list the same tensors in the same files.
    fn check_index(&self, index: &Index, path: &Path) -> Result<()> {
        for (name, shard) in index.shards() {
            let path = self.dir.join(shard);
            let found = self.tensors.get(name);
            if found.is_none_or(|stored| self.files[stored.file].path() != path) {
                return Err(ModelError::Tensor {
                    path,
                    name: name.clone(),
                    what: format!("is not in this file, where {INDEX} has it"),
                });
            }
        }
        let mut names = self.tensors.keys();
        match names.find(|name| !index.shards().contains_key(*name)) {
            None => Ok(()),
            Some(name) => Err(ModelError::Tensor {
                path: path.to_path_buf(),
                name: name.clone(),
                what: "is in a shard, and not in the index".into(),
            }),
        }
    }

    /// The folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The files that hold the tensors, in the order of their names.
    pub fn files(&self) -> &[Positioned] {
        &self.files
    }

    /// The names of all tensors, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tensors.keys().map(String::as_str)
    }

    /// The header entries of all tensors, in order of their names.
    pub fn infos(&self) -> impl Iterator<Item = (&str, &TensorInfo)> {
        let tensors = self.tensors.iter();
        tensors.map(|(name, stored)| (name.as_str(), &stored.entry.info))
    }

    /// The header entry of a tensor.
    pub fn info(&self, name: &str) -> Option<&TensorInfo> {
        self.tensors.get(name).map(|stored| &stored.entry.info)
    }

    /// Whether a tensor of this name exists.
    pub fn has(&self, name: &str) -> bool {
        self.tensors.contains_key(name)
    }

    /// A float tensor of a known shape.
    ///
    /// # Errors
    /// [`ModelError::Tensor`] if it is missing, of another shape, or of a type that weights cannot
    /// have.
    pub fn tensor(&self, name: &str, shape: &[usize]) -> Result<TensorRef<'_>> {
        let tensor = self.float(name, shape)?;
        if tensor.shape == shape {
            return Ok(tensor);
        }
        Err(tensor.error(format!("has shape {:?}; expected {shape:?}", tensor.shape)))
    }

    fn float(&self, name: &str, shape: &[usize]) -> Result<TensorRef<'_>> {
        let Some((name, stored)) = self.tensors.get_key_value(name) else {
            return Err(ModelError::Tensor {
                path: self.dir.clone(),
                name: name.into(),
                what: format!("is missing; expected {shape:?}"),
            });
        };
        let (file, info) = (&self.files[stored.file], &stored.entry.info);
        let Some(dtype) = FloatType::of(info.dtype) else {
            let what = format!("is of {}; weights are F32, F16 or BF16", info.dtype);
            return Err(ModelError::tensor(file.path(), name, what));
        };
        Ok(TensorRef { name, file, offset: stored.entry.offset, dtype, shape: &info.shape })
    }

    /// An error about a tensor that is in the files.
    pub fn tensor_error(&self, name: &str, what: impl Into<String>) -> ModelError {
        match self.tensors.get(name) {
            Some(stored) => ModelError::tensor(self.files[stored.file].path(), name, what),
            None => {
                ModelError::Tensor { path: self.dir.clone(), name: name.into(), what: what.into() }
            }
        }
    }

    /// Whether two tensors have the same type, shape and bytes.
    pub fn equal(&self, a: &str, b: &str) -> Result<bool> {
        const BLOCK: usize = 1 << 20;
        let (Some(a), Some(b)) = (self.tensors.get(a), self.tensors.get(b)) else {
            return Ok(false);
        };
        let (left, right) = (&a.entry.info, &b.entry.info);
        if (left.dtype, &left.shape) != (right.dtype, &right.shape) {
            return Ok(false);
        }
        let len = left.data_offsets.1 - left.data_offsets.0;
        let (mut mine, mut other) = (vec![0; BLOCK.min(len)], vec![0; BLOCK.min(len)]);
        for start in (0..len).step_by(BLOCK) {
            let size = BLOCK.min(len - start);
            let (mine, other) = (&mut mine[..size], &mut other[..size]);
            self.files[a.file].read_exact_at(mine, a.entry.offset + start as u64)?;
            self.files[b.file].read_exact_at(other, b.entry.offset + start as u64)?;
            if mine != other {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
