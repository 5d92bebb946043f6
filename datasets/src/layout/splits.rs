//! Splits by the names of files, where no README.md lists them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::Split;
use crate::{DatasetError, Result};

/// Words in names that say a split.
const WORDS: &[(&str, &[&str])] = &[
    ("train", &["train", "training"]),
    ("validation", &["validation", "valid", "dev", "val"]),
    ("test", &["test", "testing", "eval", "evaluation"]),
];

/// A file of a split in pieces: `NAME-00000-of-00005.parquet`.
#[derive(Debug, PartialEq, Eq)]
struct Shard<'n> {
    split: &'n str,
    index: u32,
    total: u32,
}

/// Splits of the files of a folder. Files in pieces say their split by name, whatever it is; else a
/// word in the name or in a folder's name does; else every file is of `train`.
pub(super) fn by_names(folder: &Path, files: &[PathBuf]) -> Result<Vec<Split>> {
    let mut splits: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    let any_shard = files.iter().any(|file| shard(&stem(file)).is_some());
    let any_word = files.iter().any(|file| word(folder, file).is_some());
    for file in files {
        let stem = stem(file);
        let split = match shard(&stem) {
            Some(shard) => shard.split.to_owned(),
            None => match word(folder, file) {
                Some(word) => word.to_owned(),
                // Beside files that say their split, one that says none is no data.
                None if any_shard || any_word => continue,
                None => "train".to_owned(),
            },
        };
        splits.entry(split).or_default().push(file.clone());
    }
    for files in splits.values() {
        refuse_gaps(files)?;
    }
    let split = |(name, files)| Split { name, files };
    Ok(splits.into_iter().map(split).collect())
}

/// The name without its endings.
fn stem(file: &Path) -> String {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    name.split('.').next().unwrap_or_default().to_owned()
}

fn shard(stem: &str) -> Option<Shard<'_>> {
    let (rest, total) = stem.rsplit_once("-of-")?;
    let (split, index) = rest.rsplit_once('-')?;
    // A digest may follow the number of pieces.
    let total = total.split('-').next()?;
    let number = |digits: &str| match digits.len() {
        5.. => digits.parse().ok(),
        _ => None,
    };
    Some(Shard { split, index: number(index)?, total: number(total)? })
}

/// Every piece of a set is there.
fn refuse_gaps(files: &[PathBuf]) -> Result<()> {
    let mut sets: BTreeMap<(PathBuf, u32), Vec<u32>> = BTreeMap::new();
    for file in files {
        if let Some(shard) = shard(&stem(file)) {
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

/// The split that a word in the name says, or one in the names of folders below `folder`.
fn word(folder: &Path, file: &Path) -> Option<&'static str> {
    let below = file.strip_prefix(folder).unwrap_or(file);
    let names = below.iter().rev();
    names.map(|name| name.to_string_lossy().to_ascii_lowercase()).find_map(|name| {
        let mut parts = name.split(|c: char| !c.is_ascii_alphabetic());
        parts.find_map(|part| {
            let known = WORDS.iter().find(|(_, words)| words.contains(&part));
            known.map(|(split, _)| *split)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `expected`: splits with the number of their files.
    #[track_caller]
    fn check(files: &[&str], expected: &[(&str, usize)]) {
        let folder = Path::new("d");
        let files: Vec<PathBuf> = files.iter().map(|file| folder.join(file)).collect();
        let splits = by_names(folder, &files).expect("no gap");
        let found: Vec<(&str, usize)> =
            splits.iter().map(|split| (split.name.as_str(), split.files.len())).collect();
        assert_eq!(found, expected, "{files:?}");
    }

    #[test]
    fn names_say_splits() {
        check(&["a.jsonl", "b.jsonl"], &[("train", 2)]);
        check(&["train.csv", "test.csv"], &[("test", 1), ("train", 1)]);
        check(&["my_dev-set.csv", "Train.csv"], &[("train", 1), ("validation", 1)]);
        check(&["trainer.csv", "latest.csv"], &[("train", 2)]);
        check(&["train/a.csv", "valid/a.csv"], &[("train", 1), ("validation", 1)]);
        check(&["train.csv", "notes.csv"], &[("train", 1)]);
        let pieces = ["data/extra-00000-of-00002.parquet", "data/extra-00001-of-00002.parquet"];
        check(&pieces, &[("extra", 2)]);
        check(&["data/train-00000-of-00001-a09b74b3ef9c3b56.parquet"], &[("train", 1)]);
        // Too few digits for a number of pieces.
        check(&["a-1-of-2.csv"], &[("train", 1)]);
    }

    #[test]
    fn a_missing_shard_is_named() {
        let files =
            [PathBuf::from("d/x-00000-of-00003.csv"), PathBuf::from("d/x-00002-of-00003.csv")];
        let error = by_names(Path::new("d"), &files).expect_err("a gap");
        assert!(error.to_string().contains("shard 00001 of 00003"), "{error}");
    }
}
