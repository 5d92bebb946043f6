//! Atomic writes of files.

use std::io::{self, Write as _};
use std::path::Path;

/// Writes `bytes` to `path` and replaces an existing file: into a temporary file of the same folder, which
/// is synced and then renamed. A reader, or a crash at any moment, finds the old file or the new one.
///
/// # Errors
/// A failed create, write, sync or rename. The temporary file is removed.
pub fn write_atomic(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let mut file = builder().tempfile_in(folder)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}

/// Temporary files are for their owner alone by default; an output has the permissions of any new
/// file.
fn builder() -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".tribunal-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    builder
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_and_nothing_is_left_beside_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("out.json");
        for text in ["one", "two"] {
            write_atomic(&path, text.as_bytes()).expect("the folder is ours");
            assert_eq!(std::fs::read_to_string(&path).expect("written"), text);
        }
        assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 1);
    }

    #[test]
    fn a_failed_write_leaves_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let taken = folder.path().join("taken");
        std::fs::create_dir(&taken).expect("a folder");
        write_atomic(&taken, b"text").expect_err("a folder has this name");
        write_atomic(&folder.path().join("absent/file"), b"text").expect_err("no such folder");
        assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 1);
    }
}
