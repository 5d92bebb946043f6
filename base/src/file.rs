//! Atomic writes of files, and opening without following symbolic links.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
#[cfg(unix)]
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// Writes `bytes` to `path` and replaces an existing file: into a temporary file of the same folder, which
/// is synced and then renamed. A reader, or a crash at any moment, finds the old file or the new one.
///
/// The temporary file has a name of its own for each `path`, `.NAME.tribunal`, and a system lock:
/// writers of one file take turns, and what a killed one has left is written over by the next.
///
/// # Errors
/// A failed create, lock, write, sync or rename. The temporary file is removed.
pub fn write_atomic(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut name = OsString::from(".");
    name.push(path.file_name().ok_or(io::ErrorKind::InvalidFilename)?);
    name.push(".tribunal");
    let temporary = path.with_file_name(name);
    let mut file = open_locked(&temporary)?;
    let written = file
        .set_len(0)
        .and_then(|()| file.write_all(bytes))
        .and_then(|()| file.sync_all())
        .and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        // The first error is the one to report.
        let _ = fs::remove_file(&temporary);
    }
    written
}

fn open_locked(path: &Path) -> io::Result<File> {
    loop {
        let file = open_regular(path, &OpenOptions::new())?;
        file.lock()?;
        let own = file.metadata()?;
        // The writer before may have renamed or removed the file after it was opened here.
        if fs::symlink_metadata(path).is_ok_and(|named| is_same(&named, &own)) {
            return Ok(file);
        }
    }
}

/// Opens a file for reading and writing with the further options, or creates it. Its contents stay
/// as they are.
///
/// # Errors
/// `path` is a symbolic link or something else that is no regular file, and system errors.
pub fn open_regular(path: &Path, options: &OpenOptions) -> io::Result<File> {
    let mut options = options.clone();
    options.read(true).write(true);
    loop {
        // A new file is created under the name itself, never behind a link of that name.
        match options.clone().create_new(true).open(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            created => return created,
        }
        let refused = |what: &str| {
            let message = format!("{} is {what} and not a file", path.display());
            Err(io::Error::new(io::ErrorKind::InvalidInput, message))
        };
        let (named, file) = match (fs::symlink_metadata(path), options.open(path)) {
            (Ok(named), _) if named.is_symlink() => return refused("a symbolic link"),
            (Ok(named), _) if !named.is_file() => return refused("a folder or a device"),
            (Ok(named), Ok(file)) => (named, file),
            // Removed since: it can be created.
            (Err(error), _) | (_, Err(error)) if error.kind() == io::ErrorKind::NotFound => {
                continue;
            }
            (Err(error), _) | (_, Err(error)) => return Err(error),
        };
        // The name may have changed its meaning between the two calls.
        if is_same(&named, &file.metadata()?) {
            return Ok(file);
        }
    }
}

#[cfg(unix)]
fn is_same(named: &fs::Metadata, opened: &fs::Metadata) -> bool {
    (named.dev(), named.ino()) == (opened.dev(), opened.ino())
}

#[cfg(not(unix))]
fn is_same(_named: &fs::Metadata, _opened: &fs::Metadata) -> bool {
    true
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
            assert_eq!(fs::read_to_string(&path).expect("written"), text);
        }
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 1);
    }

    #[test]
    fn the_file_that_a_killed_writer_left_is_taken_over() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("out.json");
        fs::write(folder.path().join(".out.json.tribunal"), "half of a longer text").expect("ours");
        let write = |text: &str| write_atomic(&path, text.as_bytes()).expect("the folder is ours");
        std::thread::scope(|scope| {
            for text in ["one", "two", "three"] {
                scope.spawn(move || write(text));
            }
        });
        let text = fs::read_to_string(&path).expect("written");
        assert!(["one", "two", "three"].contains(&text.as_str()), "{text}");
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn a_symbolic_link_is_not_opened_and_its_target_stays() {
        let folder = tempfile::tempdir().expect("a folder");
        let (target, link) = (folder.path().join("target"), folder.path().join("link"));
        let options = OpenOptions::new();
        std::os::unix::fs::symlink(&target, &link).expect("a link");
        open_regular(&link, &options).expect_err("a link to nothing");
        assert!(!target.exists(), "nothing is created behind a link");
        open_regular(&target, &options).expect("a new file").write_all(b"kept").expect("room");
        let refused = open_regular(&link, &options).expect_err("a link");
        assert!(refused.to_string().contains("symbolic link"), "{refused}");
        open_regular(folder.path(), &options).expect_err("a folder");
        let mut again = open_regular(&target, &options).expect("a file");
        let text = io::read_to_string(&mut again).expect("readable");
        assert_eq!(text, "kept");
    }

    #[test]
    fn a_failed_write_leaves_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let taken = folder.path().join("taken");
        fs::create_dir(&taken).expect("a folder");
        write_atomic(&taken, b"text").expect_err("a folder has this name");
        write_atomic(&folder.path().join("absent/file"), b"text").expect_err("no such folder");
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 1);
    }
}
