//! The files of a model: a directory, or named bytes that are part of the program.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::{ChatError, Result};
use crate::positioned::Positioned;

/// A folder in the Hugging Face layout, wherever its files are. Cloning shares them.
#[derive(Clone, Debug)]
pub struct Folder {
    path: PathBuf,
    /// Contents by path within the folder; `None` for a directory.
    files: Option<Arc<BTreeMap<&'static str, &'static [u8]>>>,
}

impl Folder {
    /// Names a directory of the file system.
    pub fn directory(path: &Path) -> Folder {
        Folder { path: path.to_path_buf(), files: None }
    }

    /// Holds files in memory by their names, as `include_bytes!` gives them. Errors name them below
    /// `path`, which need not be a path of any file system.
    pub fn in_memory(
        path: &Path,
        files: impl IntoIterator<Item = (&'static str, &'static [u8])>,
    ) -> Folder {
        Folder { path: path.to_path_buf(), files: Some(Arc::new(files.into_iter().collect())) }
    }

    /// The folder's path, as errors name it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path of one of its files, as errors name it.
    pub fn path_of(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Refuses a path that is not a folder.
    pub fn check(&self) -> Result<()> {
        if self.files.is_some() {
            return Ok(());
        }
        match fs::metadata(&self.path) {
            Ok(metadata) if metadata.is_dir() => Ok(()),
            Ok(_) => Err(ChatError::File { path: self.path.clone(), what: "not a folder".into() }),
            Err(source) => Err(ChatError::Io { path: self.path.clone(), source }),
        }
    }

    /// Whether an entry of this name exists. A dangling link counts, so that it is an error to open
    /// and not an absence.
    pub fn has(&self, name: &str) -> bool {
        match &self.files {
            None => fs::symlink_metadata(self.path_of(name)).is_ok(),
            Some(files) => files.contains_key(name),
        }
    }

    /// Opens a file.
    pub fn open(&self, name: &str) -> Result<Positioned> {
        let path = self.path_of(name);
        let Some(files) = &self.files else {
            return Positioned::open(&path);
        };
        match files.get(name) {
            Some(bytes) => Ok(Positioned::in_memory(path, bytes)),
            None => Err(ChatError::Io { path, source: ErrorKind::NotFound.into() }),
        }
    }

    /// Reads a file of at most `limit` bytes; `None` if it does not exist.
    ///
    /// # Errors
    /// It is longer, or cannot be read.
    pub fn read(&self, name: &str, limit: u64) -> Result<Option<Vec<u8>>> {
        let file = match self.open(name) {
            Ok(file) => file,
            Err(ChatError::Io { source, .. }) if source.kind() == ErrorKind::NotFound => {
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        if file.byte_len() > limit {
            let what = format!("{} bytes; at most {limit} are read", file.byte_len());
            return Err(file.error(what));
        }
        file.read_all(limit).map(Some)
    }

    /// The names of the entries of one of its folders, sorted; empty if there is no such folder.
    pub fn names_in(&self, folder: &str) -> Vec<String> {
        let names = match &self.files {
            None => fs::read_dir(self.path_of(folder)).map(|entries| {
                let names = entries.flatten().map(|entry| entry.file_name());
                names.filter_map(|name| name.into_string().ok()).collect()
            }),
            Some(files) => {
                let inside = files.keys().filter_map(|name| name.strip_prefix(folder));
                let names = inside.filter_map(|name| name.strip_prefix('/'));
                Ok(names.map(str::to_owned).collect())
            }
        };
        let mut names: Vec<String> = names.unwrap_or_default();
        names.sort_unstable();
        names
    }
}
