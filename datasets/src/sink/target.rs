//! Output targets: locks, partial files and final names.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use base::file::open_regular;

use crate::{DatasetError, Result};

/// Maximum number of shards.
const MAX_SHARDS: usize = 100_000;

/// Destination of an output.
#[derive(Debug)]
pub(super) enum OutputTarget {
    Stdout,
    /// A pipe or device, written to directly.
    Device(PathBuf),
    File(PathBuf),
}

/// Appends `suffix` to a path.
pub fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

impl OutputTarget {
    pub(super) fn resolve(output: &str) -> Result<Self> {
        let path = Path::new(output);
        match fs::metadata(path) {
            _ if output == "-" => Ok(Self::Stdout),
            Ok(metadata) if metadata.is_dir() => {
                Err(DatasetError::Usage(format!("{output} is a folder; name a file in it")))
            }
            Ok(metadata) if !metadata.is_file() => Ok(Self::Device(path.to_owned())),
            // A path that cannot be looked at says why when it is opened.
            Ok(_) | Err(_) => Ok(Self::File(path.to_owned())),
        }
    }

    /// The target for messages.
    pub(super) fn shown(&self) -> String {
        match self {
            Self::Stdout => "standard output".to_owned(),
            Self::Device(path) | Self::File(path) => path.display().to_string(),
        }
    }

    /// Wraps an error of writing.
    pub(super) fn failed(&self, source: io::Error) -> DatasetError {
        DatasetError::io("write", Path::new(&self.shown()))(source)
    }
}

/// An exclusive lock on an output, held as a system lock on `NAME.lock`, so that a killed run holds
/// none. The file is removed on drop.
#[derive(Debug)]
pub struct OutputLock {
    path: PathBuf,
    _file: File,
}

impl OutputLock {
    /// Takes the lock of an output file.
    ///
    /// # Errors
    /// [`DatasetError::Locked`] where another run holds it, [`DatasetError::Usage`] where nothing can
    /// be written beside the output, [`DatasetError::Io`] of the system.
    pub fn take(output: &Path) -> Result<Self> {
        let path = beside(output, ".lock");
        loop {
            let file = open_regular(&path, &OpenOptions::new());
            // Before any work, and of the name that the user gave, which is not the lock's.
            let cannot = |error| format!("cannot write {}: {error}", output.display());
            let file = file.map_err(|error| DatasetError::Usage(cannot(error)))?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    let path = output.to_owned();
                    return Err(DatasetError::Locked { path });
                }
                Err(TryLockError::Error(error)) => {
                    return Err(DatasetError::io("lock", &path)(error));
                }
            }
            // The run before may have removed the file after it was opened here; then the lock is
            // of a file that no other process finds.
            let own = file.metadata().map_err(DatasetError::io("lock", &path))?;
            let is_there = fs::metadata(&path).is_ok_and(|there| there.ino() == own.ino());
            if is_there {
                return Ok(Self { path, _file: file });
            }
        }
    }
}

impl Drop for OutputLock {
    fn drop(&mut self) {
        // A file that stays is taken over by the next run.
        let _ = fs::remove_file(&self.path);
    }
}

/// A partial file; removed on drop unless it was renamed.
#[derive(Debug)]
pub(super) struct PartialShard {
    path: PathBuf,
    file: File,
    rows: u64,
    is_named: bool,
}

impl PartialShard {
    /// Creates an empty file, replacing that of an abandoned run. `index` is that of the shard.
    pub(super) fn create(output: &Path, index: Option<usize>) -> Result<(File, Self)> {
        let path = match index {
            None => beside(output, ".partial"),
            Some(MAX_SHARDS..) => {
                let message = format!("more than {MAX_SHARDS} shards; give each more rows");
                return Err(DatasetError::Usage(message));
            }
            Some(index) => {
                let (stem, ending) = split_name(output);
                output.with_file_name(format!("{stem}-{index:05}{ending}.partial"))
            }
        };
        let failed = || DatasetError::io("write", &path);
        let file = open_regular(&path, &OpenOptions::new()).map_err(failed())?;
        file.set_len(0).map_err(failed())?;
        let own = file.try_clone().map_err(failed())?;
        let partial = Self { path, file: own, rows: 0, is_named: false };
        Ok((file, partial))
    }

    /// Syncs the file to disk.
    pub(super) fn sync(&mut self, rows: u64) -> Result<()> {
        self.rows = rows;
        self.file.sync_all().map_err(DatasetError::io("write", &self.path))
    }

    fn name(mut self, target: PathBuf) -> Result<(PathBuf, u64)> {
        fs::rename(&self.path, &target).map_err(DatasetError::io("write", &target))?;
        self.is_named = true;
        Ok((target, self.rows))
    }
}

impl Drop for PartialShard {
    fn drop(&mut self) {
        if !self.is_named {
            // The run has failed already, and says so.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Splits a file name at its first dot.
fn split_name(path: &Path) -> (String, String) {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    match name.char_indices().skip(1).find(|(_, c)| *c == '.') {
        Some((at, _)) => (name[..at].to_owned(), name[at..].to_owned()),
        None => (name.into_owned(), String::new()),
    }
}

/// Names of `total` shards: `out-00000-of-00003.parquet` and so on.
pub fn shard_names(output: &Path, total: usize) -> Vec<PathBuf> {
    let (stem, ending) = split_name(output);
    let name = |index| output.with_file_name(format!("{stem}-{index:05}-of-{total:05}{ending}"));
    (0..total).map(name).collect()
}

/// Lists existing shards of `output`, of any total.
pub fn shards_there(output: &Path) -> Vec<PathBuf> {
    let (stem, ending) = split_name(output);
    let folder = folder_of(output);
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let is_shard = |name: &str| {
        let middle =
            name.strip_prefix(&format!("{stem}-")).and_then(|rest| rest.strip_suffix(&ending));
        let numbers = middle.and_then(|middle| middle.split_once("-of-"));
        let is_number =
            |digits: &str| digits.len() == 5 && digits.bytes().all(|b| b.is_ascii_digit());
        numbers.is_some_and(|(index, total)| is_number(index) && is_number(total))
    };
    let mut found: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| is_shard(&path.file_name().unwrap_or_default().to_string_lossy()))
        .collect();
    found.sort();
    found
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        Some(_) | None => Path::new("."),
    }
}

/// Refuses an existing output unless `overwrite` is set.
pub(super) fn refuse_existing(output: &Path, in_shards: bool, overwrite: bool) -> Result<()> {
    if overwrite {
        return Ok(());
    }
    let there = if in_shards {
        shards_there(output).into_iter().next()
    } else {
        output.exists().then(|| output.to_owned())
    };
    if let Some(path) = there {
        return Err(DatasetError::Exists { path });
    }
    let journal = beside(output, ".journal");
    if journal.exists() {
        return Err(DatasetError::Usage(format!(
            "{} belongs to a run of `tribunal score` that is not complete; the same command goes on \
             with it, and --overwrite discards it",
            journal.display()
        )));
    }
    Ok(())
}

/// Renames complete files, in order, and removes other shards of an earlier output.
pub(super) fn name(
    output: &Path,
    full: Vec<PartialShard>,
    in_shards: bool,
) -> Result<Vec<(PathBuf, u64)>> {
    let names = if in_shards { shard_names(output, full.len()) } else { vec![output.to_owned()] };
    let before = if in_shards { shards_there(output) } else { Vec::new() };
    let named: Result<Vec<_>> =
        full.into_iter().zip(names).map(|(partial, name)| partial.name(name)).collect();
    let named = named?;
    for path in before {
        if named.iter().all(|(name, _)| *name != path) {
            fs::remove_file(&path).map_err(DatasetError::io("remove", &path))?;
        }
    }
    let folder = folder_of(output);
    let synced = File::open(folder).and_then(|folder| folder.sync_all());
    synced.map_err(DatasetError::io("write", folder))?;
    Ok(named)
}
