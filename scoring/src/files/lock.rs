//! Locked files beside an output, which one run holds at a time.

use std::fs::{File, OpenOptions, TryLockError};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use base::file::open_regular;

use crate::error::RunError;

/// Opens or creates the file beside an output whose name has one ending more, and locks it. The system releases the lock with the last handle, so that a
/// killed run leaves no lock.
///
/// # Errors
/// A file that another run holds, system errors, and [`RunError::Usage`] where the output cannot be
/// written.
pub(crate) fn open(path: &Path) -> Result<File, RunError> {
    loop {
        let opened = open_regular(path, &OpenOptions::new());
        let file = opened.map_err(|error| {
            let output = path.with_extension("");
            RunError::Usage(format!("cannot write {}: {error}", output.display()))
        })?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let path = path.display();
                let message = format!("another run is writing this output (it holds {path})");
                return Err(RunError::Failed(message));
            }
            Err(TryLockError::Error(error)) => return Err(RunError::file("lock", path)(error)),
        }
        // A run that ended between our opening and our locking removed its file.
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
