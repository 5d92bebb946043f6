//! Files of runs: written under their final name only when complete, and held by one run at a time.

pub(crate) mod lock;
mod partial;

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

pub(crate) use self::partial::sync_folder;
pub use self::partial::{PartialFile, remove_if_exists};
use crate::error::RunError;

/// The name of standard input and output on the command line.
pub const STREAM: &str = "-";

/// Refuses outputs that are the same file as the input.
///
/// # Errors
/// [`RunError::Usage`] for the first such output.
pub fn refuse_same_file(input: &str, outputs: &[PathBuf]) -> Result<(), RunError> {
    if input == STREAM {
        return Ok(());
    }
    for output in outputs {
        if is_same_file(Path::new(input), output) {
            let message = format!("{} is the input; name another output", output.display());
            return Err(RunError::Usage(message));
        }
    }
    Ok(())
}

/// Refuses files that exist, unless they may be replaced.
///
/// # Errors
/// [`RunError::Usage`] for the first that exists.
pub(crate) fn refuse_existing<'p>(
    overwrite: bool,
    files: impl IntoIterator<Item = &'p PathBuf>,
) -> Result<(), RunError> {
    match files.into_iter().find(|path| path.exists()) {
        Some(path) if !overwrite => {
            let path = path.display();
            Err(RunError::Usage(format!("{path} exists already; --overwrite replaces it")))
        }
        Some(_) | None => Ok(()),
    }
}

/// Whether both names lead to the same file, also through links.
fn is_same_file(a: &Path, b: &Path) -> bool {
    let identity = |path: &Path| {
        let metadata = std::fs::metadata(path).ok()?;
        Some((metadata.dev(), metadata.ino()))
    };
    identity(a).is_some_and(|identity_a| identity(b) == Some(identity_a))
}
