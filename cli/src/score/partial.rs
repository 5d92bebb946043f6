//! A file that appears under its name whole or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use crate::error::CliError;

/// A file that is being written beside its name.
#[derive(Debug)]
pub(crate) struct PartialFile {
    target: PathBuf,
    partial: PathBuf,
    file: File,
    bytes: u64,
}

/// `path` with `suffix` after its whole name.
pub(crate) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

impl PartialFile {
    /// Starts an empty file, over what an abandoned run has left.
    pub(crate) fn create(target: &Path) -> Result<Self, CliError> {
        Self::open(target, true)
    }

    /// Opens what an earlier run has left, or an empty file if it left nothing.
    pub(crate) fn reopen(target: &Path) -> Result<Self, CliError> {
        Self::open(target, false)
    }

    fn open(target: &Path, empty: bool) -> Result<Self, CliError> {
        let partial = beside(target, ".partial");
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).create(true).truncate(empty);
        let file = options.open(&partial).map_err(CliError::file("write", &partial))?;
        Ok(Self { target: target.to_owned(), partial, file, bytes: 0 })
    }

    /// Bytes written.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Appends `bytes`.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), CliError> {
        self.file.write_all(bytes).map_err(CliError::file("write", &self.partial))?;
        self.bytes += bytes.len() as u64;
        Ok(())
    }

    /// Drops everything after the first `bytes` and goes on from there.
    pub(crate) fn cut(&mut self, bytes: u64) -> Result<(), CliError> {
        let cut = self.file.set_len(bytes).and_then(|()| self.file.seek(SeekFrom::End(0)));
        self.bytes = cut.map_err(CliError::file("write", &self.partial))?;
        Ok(())
    }

    /// Makes what was written outlive a power cut.
    pub(crate) fn sync(&self) -> Result<(), CliError> {
        self.file.sync_all().map_err(CliError::file("write", &self.partial))
    }

    /// Gives the file its name. An empty file is given none if `drop_empty` is set; then nothing
    /// bears the name any more.
    pub(crate) fn commit(self, drop_empty: bool) -> Result<(), CliError> {
        if drop_empty && self.bytes == 0 {
            remove_if_there(&self.partial)?;
            return remove_if_there(&self.target);
        }
        self.sync()?;
        fs::rename(&self.partial, &self.target).map_err(CliError::file("write", &self.target))
    }
}

/// Makes the names in `path`'s folder outlive a power cut.
pub(crate) fn sync_folder(path: &Path) -> Result<(), CliError> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        Some(_) | None => Path::new("."),
    };
    let synced = File::open(folder).and_then(|folder| folder.sync_all());
    synced.map_err(CliError::file("write", folder))
}

/// Removes a file; one that is not there is fine.
pub(crate) fn remove_if_there(path: &Path) -> Result<(), CliError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(CliError::file("remove", path)(error))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}
