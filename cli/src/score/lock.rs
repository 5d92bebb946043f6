//! Files beside an output that one run holds at a time.

use std::fs::{File, OpenOptions, TryLockError};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use crate::error::CliError;

/// Opens or creates a file and locks it. The lock is the system's and goes with the file's last
/// handle, so that a run that was killed holds none.
///
/// # Errors
/// A file that another run holds, and what the system says.
pub(super) fn open(path: &Path) -> Result<File, CliError> {
    loop {
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).create(true).truncate(false);
        let file = options.open(path).map_err(CliError::file("open", path))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let path = path.display();
                let message = format!("another run is writing this output (it holds {path})");
                return Err(CliError::Failed(message));
            }
            Err(TryLockError::Error(error)) => return Err(CliError::file("lock", path)(error)),
        }
        // A run that ended between our opening and our locking took its file with it.
        if is_still_at(&file, path) {
            return Ok(file);
        }
    }
}

fn is_still_at(file: &File, path: &Path) -> bool {
    let identity = |metadata: std::fs::Metadata| (metadata.dev(), metadata.ino());
    match (file.metadata(), std::fs::metadata(path)) {
        (Ok(open), Ok(named)) => identity(open) == identity(named),
        (Ok(_) | Err(_), _) => false,
    }
}
