//! A file that grows by complete records.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use crate::error::{Result, TrainError};

/// A file and the length of its complete records.
#[derive(Debug)]
pub(super) struct Appended {
    path: PathBuf,
    file: File,
    length: u64,
}

impl Appended {
    /// Wraps `file`, open for appending at `path`, whose first `length` bytes are complete records;
    /// the rest is removed.
    pub(super) fn new(path: &Path, file: File, length: u64) -> Result<Self> {
        file.set_len(length).map_err(|source| failed(path, source))?;
        Ok(Self { path: path.to_owned(), file, length })
    }

    /// Appends a record in one write. If it cannot be written completely, for instance on a full
    /// disk, it is removed, so that a later one does not start inside of it.
    pub(super) fn put(&mut self, piece: &[u8]) -> Result<()> {
        if let Err(source) = self.file.write_all(piece) {
            // If this fails too, readers detect the broken record by its form.
            let _ = self.file.set_len(self.length);
            return Err(failed(&self.path, source));
        }
        self.length += piece.len() as u64;
        Ok(())
    }

    /// Waits until it is on the disk.
    pub(super) fn sync(&self) -> Result<()> {
        let synced = self.file.sync_data();
        synced.map_err(|source| failed(&self.path, source))
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

pub(super) fn failed(path: &Path, source: std::io::Error) -> TrainError {
    TrainError::File { path: path.display().to_string(), source }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, OpenOptions};

    use super::*;

    #[test]
    fn failed_write_leaves_complete_records() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("log");
        fs::write(&path, "whole\ncut").expect("written");
        let file = OpenOptions::new().append(true).open(&path).expect("open");
        let mut log = Appended::new(&path, file, 6).expect("cut to length");
        log.put(b"next\n").expect("written");
        assert_eq!(fs::read(&path).expect("read"), b"whole\nnext\n");
        // A file that is open for reading alone refuses the write.
        log.file = File::open(&path).expect("open");
        let error = log.put(b"lost\n").expect_err("refused");
        assert!(matches!(error, TrainError::File { .. }), "{error}");
        assert_eq!(log.length, 11);
        // An interrupted write is removed before the next one.
        fs::write(&path, "whole\nnext\nhal").expect("written");
        let file = OpenOptions::new().append(true).open(&path).expect("open");
        let mut log = Appended::new(&path, file, log.length).expect("cut to length");
        log.put(b"last\n").expect("written");
        assert_eq!(fs::read(log.path()).expect("read"), b"whole\nnext\nlast\n");
        log.sync().expect("synced");
    }
}
