//! From the inputs that a command line names to files in order.
//!
//! A name is a file, a glob, or a folder in the layout that Hugging Face datasets have: a README.md
//! that lists the files of each configuration and split, or names of files that say their split.

mod readme;
mod splits;

use std::fs;
use std::path::{Path, PathBuf};

use crate::format::by_name;
use crate::{DatasetError, Result};

/// Which part of a folder is meant.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// Configuration of a README.md that has several.
    pub config: Option<String>,
    /// Split of a folder that has several.
    pub split: Option<String>,
}

/// Files of one split.
#[derive(Debug, PartialEq, Eq)]
struct Split {
    name: String,
    files: Vec<PathBuf>,
}

/// The files that `names` stand for, in order: names as they come, what a glob or a folder has by
/// name. A file that is named twice comes twice.
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

/// The files that a pattern matches, by name.
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
    let readme = path.join("README.md");
    let listed = match fs::read_to_string(&readme) {
        Ok(text) => readme::configurations(&text, &readme.display().to_string())?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(DatasetError::io("read", &readme)(error)),
    };
    let splits = if listed.is_empty() {
        if let Some(config) = &selection.config {
            let problem = format!("no configuration '{config}': README.md lists none");
            return Err(DatasetError::file(&path.display().to_string(), problem));
        }
        splits::by_names(path, &data_files(path)?)?
    } else {
        let config = readme::choose(listed, selection.config.as_deref(), path)?;
        listed_splits(path, config)?
    };
    choose(splits, selection.split.as_deref(), path)
}

/// The files that a configuration lists.
fn listed_splits(folder: &Path, config: readme::Configuration) -> Result<Vec<Split>> {
    let mut splits = Vec::new();
    for (name, patterns) in config.splits {
        let mut files = Vec::new();
        for pattern in patterns {
            let path = folder.join(&pattern);
            if path.is_dir() {
                files.extend(data_files(&path)?);
            } else if path.is_file() {
                files.push(path);
            } else {
                // The folder's own name may have characters that mean something in a pattern.
                let escaped = glob::Pattern::escape(&folder.to_string_lossy());
                files.extend(matching(&format!("{escaped}/{pattern}"))?);
            }
        }
        splits.push(Split { name, files });
    }
    Ok(splits)
}

/// The one split that is meant.
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
            Ok(splits.into_iter().nth(position).expect("the position is of this list").files)
        }
        (None, Some(wanted)) => Err(fault(format!("no split '{wanted}'; there is {have}"))),
        (None, None) => Err(fault(format!("several splits, name one with --split: {have}"))),
    }
}

/// The files of data in a folder and the folders in it, by path. Hidden ones are left out.
fn data_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut folders = Vec::from([folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder).map_err(DatasetError::io("read", &folder))?;
        for entry in entries {
            let path = entry.map_err(DatasetError::io("read", &folder))?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if name.starts_with(['.', '_']) {
                continue;
            }
            let is_link = path.is_symlink();
            if path.is_dir() && !is_link {
                folders.push(path);
            } else if path.is_file() && by_name(&path).0.is_some() && !is_about(&name) {
                files.push(path);
            }
        }
    }
    files.sort();
    if files.is_empty() {
        let problem = "no .jsonl, .parquet, .csv or .tsv file in this folder";
        return Err(DatasetError::file(&folder.display().to_string(), problem));
    }
    Ok(files)
}

/// Files beside the data that say something of it.
fn is_about(name: &str) -> bool {
    matches!(name, "dataset_info.json" | "dataset_infos.json" | "state.json" | "config.json")
        || name.ends_with(".manifest.json")
        || name.ends_with(".rejects.jsonl")
}

#[cfg(test)]
mod tests;
