//! Facts about a model or adapter folder without loading it: headers are read, and tensors only
//! with `check`.
//!
//! Problems are collected and reported together. Only a path that is not a
//! folder is an error.

mod adapter;
mod files;
mod model;
mod survey;
mod tokenizer;

use std::path::{Path, PathBuf};

use serde::Serialize;

pub use adapter::AdapterFacts;
pub use files::{WeightFile, WeightFiles};
pub use model::{HeadFacts, LayerFacts, ModelFacts, ModelSizes, RopeFacts, WindowFacts};
pub use survey::{MemoryFacts, ParameterFacts};
pub use tokenizer::{TemplateFacts, TokenizerFacts};

use crate::adapter::CONFIG_FILE;
use crate::error::{ModelError, Result};

/// Checks beyond reading headers.
#[derive(Clone, Debug, Default)]
pub struct InspectOptions {
    /// Read every tensor and look for numbers that are not finite.
    pub check: bool,
    /// The folder of the base, for an adapter.
    pub base: Option<PathBuf>,
}

/// The result of inspecting a folder.
#[derive(Debug, Serialize)]
pub struct Inspection {
    /// The folder, as the caller named it.
    pub path: PathBuf,
    /// The kind of folder.
    pub kind: FolderKind,
    /// Facts of a model whose configuration can be read.
    pub model: Option<ModelFacts>,
    /// Facts of an adapter whose configuration can be read.
    pub adapter: Option<AdapterFacts>,
    /// Facts of a model's tokenizer, if it can be read.
    pub tokenizer: Option<TokenizerFacts>,
    /// Its safetensors files, if their headers can be read.
    pub weights: Option<WeightFiles>,
    /// Facts worth knowing that are not faults, one sentence each.
    pub notes: Vec<String>,
    /// Faults, one sentence each.
    pub problems: Vec<String>,
}

/// The kind of a folder, by its configuration file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FolderKind {
    /// `config.json`.
    Model,
    /// `adapter_config.json`.
    Adapter,
    /// Neither.
    Unknown,
}

/// Inspects a folder.
///
/// # Errors
/// [`ModelError::Io`] for a path that cannot be read, [`ModelError::File`] for one that is not a
/// folder.
pub fn inspect(dir: &Path, options: &InspectOptions) -> Result<Inspection> {
    let metadata =
        std::fs::metadata(dir).map_err(|source| ModelError::Io { path: dir.to_owned(), source })?;
    if !metadata.is_dir() {
        return Err(ModelError::File { path: dir.to_owned(), what: "not a folder".into() });
    }
    let mut found = Inspection {
        path: dir.to_owned(),
        kind: folder_kind(dir),
        model: None,
        adapter: None,
        tokenizer: None,
        weights: None,
        notes: Vec::new(),
        problems: Vec::new(),
    };
    match found.kind {
        FolderKind::Model => model::inspect(dir, options, &mut found),
        FolderKind::Adapter => adapter::inspect(dir, options, &mut found),
        FolderKind::Unknown => {
            let what = format!("neither config.json nor {CONFIG_FILE} is here");
            found.problems.push(what);
        }
    }
    Ok(found)
}

impl Inspection {
    /// Returns the value; an error becomes one of the problems.
    fn keep<T, E: std::fmt::Display>(&mut self, result: Result<T, E>) -> Option<T> {
        result.map_err(|error| self.problems.push(error.to_string())).ok()
    }
}

fn folder_kind(dir: &Path) -> FolderKind {
    // Links are not followed: a dangling link is a file with a problem, not an absence.
    let there = |name: &str| std::fs::symlink_metadata(dir.join(name)).is_ok();
    if there(CONFIG_FILE) {
        FolderKind::Adapter
    } else if there("config.json") {
        FolderKind::Model
    } else {
        FolderKind::Unknown
    }
}
