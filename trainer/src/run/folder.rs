//! A run's folder, which one run has at a time.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};

use crate::error::{Result, TrainError};

/// A folder that belongs to this run as long as it is there. The lock is the system's: it ends with
/// the process, however that ends.
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    _lock: File,
}

impl RunFolder {
    /// Makes the folder where it is not there, and takes it.
    ///
    /// # Errors
    /// [`TrainError::Invalid`] where another run has it.
    pub fn open(path: &Path) -> Result<RunFolder> {
        let failed = |path: &Path| {
            let path = path.display().to_string();
            move |source| TrainError::File { path, source }
        };
        std::fs::create_dir_all(path).map_err(failed(path))?;
        let file = path.join("run.lock");
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&file)
            .map_err(failed(&file))?;
        match lock.try_lock() {
            Ok(()) => Ok(RunFolder {
                path: path.to_owned(),
                _lock: lock,
            }),
            Err(TryLockError::WouldBlock) => Err(TrainError::Invalid(format!(
                "another run is under way in {}",
                path.display()
            ))),
            Err(TryLockError::Error(source)) => Err(failed(&file)(source)),
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}
