//! A file that gets its name when it is complete, and that a later run can resume until then.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use base::file::open_regular;
use datasets::sink::beside;

use crate::error::RunError;

/// A file `NAME.partial` that is renamed to `NAME` when it is complete.
#[derive(Debug)]
pub struct PartialFile {
    target: PathBuf,
    partial: PathBuf,
    file: File,
    bytes: u64,
}

impl PartialFile {
    /// Creates an empty file, and replaces one of an abandoned run.
    ///
    /// # Errors
    /// System errors.
    pub fn create(target: &Path) -> Result<Self, RunError> {
        Self::open(target, true)
    }

    /// Opens the file of an earlier run, or creates an empty one.
    ///
    /// # Errors
    /// System errors.
    pub fn reopen(target: &Path) -> Result<Self, RunError> {
        Self::open(target, false)
    }

    fn open(target: &Path, empty: bool) -> Result<Self, RunError> {
        let partial = beside(target, ".partial");
        let opened = open_regular(&partial, &OpenOptions::new()).and_then(|file| {
            if empty {
                file.set_len(0)?;
            }
            Ok(file)
        });
        let file = opened.map_err(RunError::file("write", &partial))?;
        Ok(Self { target: target.to_owned(), partial, file, bytes: 0 })
    }

    /// Number of bytes written.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Appends `bytes`.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), RunError> {
        self.file.write_all(bytes).map_err(RunError::file("write", &self.partial))?;
        self.bytes += bytes.len() as u64;
        Ok(())
    }

    /// Drops everything after the first `bytes`; the next write appends there.
    pub fn cut(&mut self, bytes: u64) -> Result<(), RunError> {
        let cut = self.file.set_len(bytes).and_then(|()| self.file.seek(SeekFrom::End(0)));
        self.bytes = cut.map_err(RunError::file("write", &self.partial))?;
        Ok(())
    }

    /// Syncs the file to disk.
    pub fn sync(&self) -> Result<(), RunError> {
        self.file.sync_all().map_err(RunError::file("write", &self.partial))
    }

    /// Renames the file to its name. With `drop_empty`, an empty file is removed instead, and so is an
    /// older file of the name.
    ///
    /// # Errors
    /// System errors.
    pub fn commit(self, drop_empty: bool) -> Result<(), RunError> {
        if drop_empty && self.bytes == 0 {
            remove_if_exists(&self.partial)?;
            return remove_if_exists(&self.target);
        }
        self.sync()?;
        fs::rename(&self.partial, &self.target).map_err(RunError::file("write", &self.target))
    }
}

/// Syncs the folder of `path` to disk.
pub(crate) fn sync_folder(path: &Path) -> Result<(), RunError> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        Some(_) | None => Path::new("."),
    };
    let synced = File::open(folder).and_then(|folder| folder.sync_all());
    synced.map_err(RunError::file("write", folder))
}

/// Removes a file if it exists.
///
/// # Errors
/// System errors.
pub fn remove_if_exists(path: &Path) -> Result<(), RunError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(RunError::file("remove", path)(error))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}
