//! A run's folder, locked by one run at a time.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};

use crate::error::{Result, TrainError};

/// A locked run folder. The operating system releases the lock when the process ends, in any way.
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    lock: File,
}

impl Drop for RunFolder {
    /// A process that another thread has forked and that has not begun its program yet holds every open file,
    /// and with this one the lock, unless it is released.
    fn drop(&mut self) {
        // It is released with the file at the latest.
        let _ = self.lock.unlock();
    }
}

impl RunFolder {
    /// Creates the folder if needed and locks it.
    ///
    /// # Errors
    /// [`TrainError::Invalid`] if another run has the lock.
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
            Ok(()) => {
                clear_partial(path).map_err(failed(path))?;
                Ok(RunFolder { path: path.to_owned(), lock })
            }
            Err(TryLockError::WouldBlock) => {
                Err(TrainError::Invalid(format!("another run is under way in {}", path.display())))
            }
            Err(TryLockError::Error(source)) => Err(failed(&file)(source)),
        }
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Removes checkpoints that a killed run left unfinished. The lock
/// guarantees that no other run is writing them.
fn clear_partial(path: &Path) -> std::io::Result<()> {
    for entry in std::fs::read_dir(path)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with("step-") && name.contains(".partial-") {
            std::fs::remove_dir_all(entry.path())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unfinished_checkpoint_of_a_killed_run_is_removed() {
        let parent = tempfile::tempdir().expect("a folder");
        for name in ["step-000004", "step-000005.partial-77", "events"] {
            std::fs::create_dir_all(parent.path().join(name).join("inner")).expect("it is made");
        }
        let _folder = RunFolder::open(parent.path()).expect("no other run has it");
        let there = |name: &str| parent.path().join(name).exists();
        assert!(there("step-000004") && there("events"));
        assert!(!there("step-000005.partial-77"));
    }
}
