//! Resolves input names to files, in order.
//!
//! A name is a file, a glob, or a folder in the layout of Hugging Face datasets: a README.md with the
//! files of each configuration and split, or names of files and folders that say the split.

mod card;
mod splits;

use std::fs;
use std::path::{Path, PathBuf};

use self::splits::{Files, Split};
use crate::{DatasetError, Result};

/// Selects a part of a dataset folder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// Configuration of a README.md that has several.
    pub config: Option<String>,
    /// Split of a folder that has several.
    pub split: Option<String>,
}

/// Resolves `names` to files: names in their order, the files of a glob or a folder by name. A file that
/// is named twice comes twice.
pub(crate) fn resolve(names: &[String], selection: &Selection) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut n_folders = 0;
    for name in names {
        let path = Path::new(name);
        if path.is_dir() {
            n_folders += 1;
            files.extend(folder(path, selection)?);
        } else if path.exists() || !is_pattern(name) {
            files.push(path.to_owned());
        } else {
            files.extend(matching(name)?);
        }
    }
    if n_folders == 0 && (selection.split.is_some() || selection.config.is_some()) {
        let message = "a split or a configuration is chosen, but no input is a folder";
        return Err(DatasetError::Usage(message.to_owned()));
    }
    Ok(files)
}

fn is_pattern(name: &str) -> bool {
    name.contains(['*', '?', '['])
}

/// The files that a glob matches, by name.
fn matching(pattern: &str) -> Result<Vec<PathBuf>> {
    let usage = |problem: String| DatasetError::Usage(format!("'{pattern}': {problem}"));
    let found = glob::glob(pattern).map_err(|error| usage(error.to_string()))?;
    let mut files = Vec::new();
    for path in found {
        let path = path.map_err(|error| {
            let path = error.path().to_owned();
            DatasetError::io("read", &path)(error.into())
        })?;
        if path.is_file() {
            files.push(path);
        }
    }
    files.sort();
    if files.is_empty() {
        return Err(usage("no file matches".to_owned()));
    }
    Ok(files)
}

/// The files of one split of a folder.
fn folder(path: &Path, selection: &Selection) -> Result<Vec<PathBuf>> {
    let splits = splits(path, selection.config.as_deref())?;
    choose(splits, selection.split.as_deref(), path)
}

/// The splits of a folder: those of a configuration of its card, or by the names of its files.
fn splits(path: &Path, config: Option<&str>) -> Result<Vec<Split>> {
    let readme = path.join("README.md");
    let configs = match fs::read_to_string(&readme) {
        Ok(text) => card::configs(&text, &readme.display().to_string())?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(DatasetError::io("read", &readme)(error)),
    };
    if configs.is_empty() {
        if let Some(config) = config {
            let problem = format!("no configuration '{config}': README.md lists none");
            return Err(DatasetError::file(&path.display().to_string(), problem));
        }
        return Files::list(path)?.default_splits();
    }
    let config = card::choose(&configs, config, path)?;
    let folder = config.data_dir.map_or_else(|| path.to_owned(), |folder| path.join(folder));
    let files = Files::list(&folder)?;
    match config.data_files {
        Some(splits) => {
            splits.into_iter().map(|(name, patterns)| files.split(name, &patterns)).collect()
        }
        None => files.default_splits(),
    }
}

/// Chooses the wanted split, or the only one.
fn choose(splits: Vec<Split>, wanted: Option<&str>, folder: &Path) -> Result<Vec<PathBuf>> {
    let names: Vec<&str> = splits.iter().map(|split| split.name.as_str()).collect();
    let fault = |problem: String| DatasetError::file(&folder.display().to_string(), problem);
    let position = match wanted {
        Some(wanted) => names.iter().position(|name| *name == wanted),
        None if splits.len() == 1 => Some(0),
        None => None,
    };
    let have = names.join(", ");
    match (position, wanted) {
        (Some(position), _) => {
            let split = splits.into_iter().nth(position).expect("the position is of this list");
            if split.files.is_empty() {
                return Err(fault(format!(
                    "no file matches the patterns of split '{}'",
                    split.name
                )));
            }
            Ok(split.files)
        }
        (None, Some(wanted)) => Err(fault(format!("no split '{wanted}'; there is {have}"))),
        (None, None) => Err(fault(format!("several splits, name one with --split: {have}"))),
    }
}

#[cfg(test)]
mod tests;
