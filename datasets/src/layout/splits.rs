//! Splits of a folder, by the patterns of a card or by the names of its files.
//!
//! Patterns, their order and what they leave out are those of the library `datasets` of Hugging Face
//! (`data_files.py`); formats that are not read here have no files.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use glob::{MatchOptions, Pattern};

use super::card::is_split_name;
use crate::format::by_name;
use crate::{DatasetError, Result};

/// Files of one split.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Split {
    pub(super) name: String,
    pub(super) files: Vec<PathBuf>,
}

/// Words in names of files and folders that say a split.
const KEYWORDS: [(&str, &[&str]); 3] = [
    ("train", &["train", "training"]),
    ("validation", &["validation", "valid", "dev", "val"]),
    ("test", &["test", "testing", "eval", "evaluation"]),
];

/// Characters that end a keyword, as a class of a pattern.
const SEPARATORS: &str = "[-._ 0-9]";

/// Files with these names are no data unless they are named.
const IGNORED: [&str; 7] = [
    "README.md",
    "config.json",
    "dataset_info.json",
    "dataset_infos.json",
    "dataset_dict.json",
    "dummy_data.zip",
    "state.json",
];

/// All files below a folder, by their paths relative to it with `/` between names.
pub(super) struct Files {
    folder: PathBuf,
    paths: Vec<String>,
}

impl Files {
    /// Lists a folder. Links to folders are not followed.
    pub(super) fn list(folder: &Path) -> Result<Self> {
        let mut paths = Vec::new();
        let mut folders = vec![folder.to_owned()];
        while let Some(current) = folders.pop() {
            let entries = fs::read_dir(&current).map_err(DatasetError::io("read", &current))?;
            for entry in entries {
                let path = entry.map_err(DatasetError::io("read", &current))?.path();
                if path.is_dir() && !path.is_symlink() {
                    folders.push(path);
                } else if path.is_file() {
                    let below = path.strip_prefix(folder).unwrap_or(&path);
                    paths.push(below.to_string_lossy().into_owned());
                }
            }
        }
        // By the bytes of complete paths and not by their parts, as fsspec sorts.
        paths.sort();
        Ok(Self { folder: folder.to_owned(), paths })
    }

    /// The files that a pattern matches, in order. Hidden files, files in `__folders__` and files about
    /// a dataset match only if the pattern names them.
    fn matching(&self, pattern: &str) -> Result<Vec<&str>> {
        let matcher = Pattern::new(pattern)
            .map_err(|error| self.fault(format!("'{pattern}' is no pattern: {error}")))?;
        let options = MatchOptions {
            case_sensitive: true,
            require_literal_separator: true,
            require_literal_leading_dot: false,
        };
        let is_match = |path: &&str| {
            matcher.matches_with(path, options)
                && (!is_about(file_name(path)) || file_name(path) == file_name(pattern))
                && n_hidden(path) == n_hidden(pattern)
                && n_special(path) == n_special(pattern)
        };
        Ok(self.paths.iter().map(String::as_str).filter(is_match).collect())
    }

    /// The data files of a split. A pattern without wildcards must have its file.
    pub(super) fn split(&self, name: String, patterns: &[String]) -> Result<Split> {
        let mut files = Vec::new();
        for pattern in patterns {
            let is_data = |path: &Path| by_name(path).0.is_some();
            if pattern.contains(['*', '?', '[']) {
                let found = self.matching(pattern)?.into_iter().map(|path| self.folder.join(path));
                files.extend(found.filter(|path| is_data(path)));
                continue;
            }
            let path = self.folder.join(pattern);
            if !path.is_file() || !is_data(&path) {
                return Err(self.fault(format!("no file matches '{pattern}'")));
            }
            files.push(path);
        }
        Ok(Split { name, files })
    }

    /// Splits by the names of files: shards in `data`, else keywords in names of folders, else keywords
    /// in names of files, else one split `train`.
    pub(super) fn default_splits(&self) -> Result<Vec<Split>> {
        let splits: Vec<Split> = self
            .default_patterns()?
            .into_iter()
            .map(|(name, patterns)| self.split(name, &patterns))
            .collect::<Result<_>>()?;
        if splits.iter().all(|split| split.files.is_empty()) {
            let problem = "no .jsonl, .parquet, .csv or .tsv file in this folder".to_owned();
            return Err(self.fault(problem));
        }
        for split in &splits {
            refuse_gaps(&split.files)?;
        }
        Ok(splits)
    }

    fn default_patterns(&self) -> Result<Vec<(String, Vec<String>)>> {
        const SHARD: &str = "-[0-9][0-9][0-9][0-9][0-9]-of-[0-9][0-9][0-9][0-9][0-9]*.*";
        let shards = self.matching(&format!("data/*{SHARD}"))?;
        if !shards.is_empty() {
            let mut names = BTreeSet::new();
            for shard in shards {
                // The pattern has matched, so that the last `-of-` is behind a number.
                let stem = file_name(shard).rsplit_once("-of-").map_or("", |(stem, _)| stem);
                let split = stem.rsplit_once('-').map_or("", |(split, _)| split);
                if !is_split_name(split) {
                    let what = "letters, digits, '_' and '.' are";
                    return Err(self.fault(format!("'{split}' is no name of a split: {what}")));
                }
                names.insert(split);
            }
            let known = KEYWORDS.iter().map(|(name, _)| *name).filter(|name| names.contains(name));
            let others = names.iter().copied().filter(|name| KEYWORDS.iter().all(|k| k.0 != *name));
            let pattern = |name: &str| (name.to_owned(), vec![format!("data/{name}{SHARD}")]);
            return Ok(known.chain(others).map(pattern).collect());
        }
        let by_keyword: [fn(&str) -> Vec<String>; 2] = [folder_patterns, file_patterns];
        for patterns_of in by_keyword {
            let mut found = Vec::new();
            for (name, words) in KEYWORDS {
                let patterns: Vec<String> =
                    words.iter().flat_map(|word| patterns_of(word)).collect();
                for pattern in &patterns {
                    if !self.matching(pattern)?.is_empty() {
                        found.push((name.to_owned(), patterns));
                        break;
                    }
                }
            }
            if !found.is_empty() {
                return Ok(found);
            }
        }
        Ok(vec![("train".to_owned(), vec!["**".to_owned()])])
    }

    fn fault(&self, problem: String) -> DatasetError {
        DatasetError::file(&self.folder.display().to_string(), problem)
    }
}

fn folder_patterns(word: &str) -> Vec<String> {
    vec![
        format!("**/{word}/**"),
        format!("**/{word}{SEPARATORS}*/**"),
        format!("**/*{SEPARATORS}{word}/**"),
        format!("**/*{SEPARATORS}{word}{SEPARATORS}*/**"),
    ]
}

fn file_patterns(word: &str) -> Vec<String> {
    vec![format!("**/{word}{SEPARATORS}*"), format!("**/*{SEPARATORS}{word}{SEPARATORS}*")]
}

/// The last part of a path.
fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Whether a file beside the data is about it.
fn is_about(name: &str) -> bool {
    IGNORED.contains(&name) || name.ends_with(".manifest.json") || name.ends_with(".rejects.jsonl")
}

/// Number of hidden parts of a path.
fn n_hidden(path: &str) -> usize {
    path.split('/')
        .filter(|part| part.starts_with('.') && !part.trim_matches('.').is_empty())
        .count()
}

/// Number of folders of a path that begin with two underscores.
fn n_special(path: &str) -> usize {
    let folders = path.rsplit_once('/').map_or("", |(folders, _)| folders);
    folders.split('/').filter(|part| part.starts_with("__")).count()
}

/// A file of a split in pieces: `NAME-00000-of-00005.parquet`.
#[derive(Debug, PartialEq, Eq)]
struct Shard {
    index: u32,
    total: u32,
}

fn shard(file: &Path) -> Option<Shard> {
    let name = file.file_name()?.to_string_lossy();
    let (rest, total) = name.split('.').next()?.rsplit_once("-of-")?;
    let (_, index) = rest.rsplit_once('-')?;
    // A digest may follow the number of pieces.
    let total = total.split('-').next()?;
    let number = |digits: &str| match digits.len() {
        5.. => digits.parse().ok(),
        _ => None,
    };
    Some(Shard { index: number(index)?, total: number(total)? })
}

/// Refuses a split in pieces of which one is missing.
fn refuse_gaps(files: &[PathBuf]) -> Result<()> {
    let mut sets: BTreeMap<(PathBuf, u32), Vec<u32>> = BTreeMap::new();
    for file in files {
        if let Some(shard) = shard(file) {
            let folder = file.parent().unwrap_or(Path::new("")).to_owned();
            sets.entry((folder, shard.total)).or_default().push(shard.index);
        }
    }
    for ((folder, total), indices) in sets {
        let missing = (0..total).find(|index| !indices.contains(index));
        if let Some(missing) = missing {
            let problem = format!("shard {missing:05} of {total:05} is missing");
            return Err(DatasetError::file(&folder.display().to_string(), problem));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_shard_is_named() {
        let files =
            [PathBuf::from("d/x-00000-of-00003.csv"), PathBuf::from("d/x-00002-of-00003.csv")];
        let error = refuse_gaps(&files).expect_err("a gap");
        assert!(error.to_string().contains("shard 00001 of 00003"), "{error}");
        // Too few digits for a number of pieces.
        refuse_gaps(&[PathBuf::from("a-1-of-2.csv")]).expect("no shard");
    }
}
