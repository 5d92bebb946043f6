//! What a model or adapter folder holds, told without loading it.
//!
//! Problems are collected, not thrown: a reader sees all of them at once. Only a path that is no
//! folder is an error.

mod files;

use std::path::{Path, PathBuf};

use serde::Serialize;

pub use files::{WeightFile, WeightFiles};

use crate::error::{ModelError, Result};

/// What to do beyond reading headers.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Read every tensor and look for numbers that are not finite.
    pub check: bool,
}

/// What was found in a folder.
#[derive(Debug, Serialize)]
pub struct Inspection {
    /// The folder, as it was named.
    pub path: PathBuf,
    /// What it is.
    pub kind: Kind,
    /// Its safetensors files.
    pub weights: WeightFiles,
    /// Everything that is wrong with it, a sentence each.
    pub problems: Vec<String>,
}

/// What a folder is, by the configuration file that it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
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
/// [`ModelError::Io`] for a path that cannot be read, [`ModelError::File`] for one that is no
/// folder.
pub fn inspect(dir: &Path, options: &Options) -> Result<Inspection> {
    let metadata = std::fs::metadata(dir).map_err(|source| ModelError::Io {
        path: dir.to_owned(),
        source,
    })?;
    if !metadata.is_dir() {
        return Err(ModelError::File {
            path: dir.to_owned(),
            what: "not a folder".into(),
        });
    }
    let mut problems = Vec::new();
    let kind = kind(dir);
    if kind == Kind::Unknown {
        problems.push("neither config.json nor adapter_config.json is here".into());
    }
    let weights = files::read(dir, options.check, &mut problems);
    Ok(Inspection {
        path: dir.to_owned(),
        kind,
        weights,
        problems,
    })
}

fn kind(dir: &Path) -> Kind {
    if dir.join("adapter_config.json").exists() {
        Kind::Adapter
    } else if dir.join("config.json").exists() {
        Kind::Model
    } else {
        Kind::Unknown
    }
}
