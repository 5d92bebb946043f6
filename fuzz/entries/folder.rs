//! A folder whose files are written anew for each input.

use std::path::Path;
use std::sync::OnceLock;

use tempfile::TempDir;

/// The folder, which then has these files.
pub(crate) fn with(files: &[(&str, &[u8])]) -> &'static Path {
    static FOLDER: OnceLock<TempDir> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| tempfile::tempdir().expect("a temporary folder")).path();
    for (name, bytes) in files {
        std::fs::write(folder.join(name), bytes).expect("a temporary folder takes files");
    }
    folder
}
