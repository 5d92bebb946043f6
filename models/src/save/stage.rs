//! A folder that appears complete or not at all: written beside its place, then renamed into it.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::Value;

use crate::error::{ModelError, Result};

/// Tells the stages of this process apart.
static STAGES: AtomicU64 = AtomicU64::new(0);

/// A folder being written. If dropped before [`Stage::finish`], it is removed.
#[derive(Debug)]
pub struct Stage {
    target: PathBuf,
    partial: PathBuf,
}

impl Stage {
    /// Creates a temporary folder beside `target`.
    ///
    /// # Errors
    /// [`ModelError::File`] if `target` exists and is not an empty folder.
    pub fn begin(target: &Path) -> Result<Stage> {
        let refuse =
            |what: &str| Err(ModelError::File { path: target.to_owned(), what: what.into() });
        match fs::read_dir(target).map(|mut entries| entries.next().is_none()) {
            Ok(true) => {}
            Ok(false) => return refuse("the folder is not empty; name another one, or remove it"),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
                return refuse("there is a file of this name");
            }
            Err(error) => return Err(io_error(target)(error)),
        }
        let Some(name) = target.file_name() else {
            return refuse("the path does not end in a name");
        };
        let mut partial = name.to_owned();
        let nth = STAGES.fetch_add(1, Ordering::Relaxed);
        partial.push(format!(".partial-{}-{nth}", std::process::id()));
        let stage = Stage { partial: target.with_file_name(partial), target: target.to_owned() };
        fs::create_dir_all(&stage.partial).map_err(io_error(&stage.partial))?;
        Ok(stage)
    }

    /// The temporary path of a file of the folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.partial.join(name)
    }

    /// Writes a JSON file.
    pub fn json(&self, name: &str, value: &Value) -> Result<()> {
        let path = self.path(name);
        let text = serde_json::to_string_pretty(value).expect("a JSON value is written to memory");
        let written = fs::File::create_new(&path).and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.write_all(b"\n")?;
            file.sync_all()
        });
        written.map_err(io_error(&path))
    }

    /// Writes a file of any content.
    pub fn bytes(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let path = self.path(name);
        let written = fs::File::create_new(&path).and_then(|mut file| {
            file.write_all(bytes)?;
            file.sync_all()
        });
        written.map_err(io_error(&path))
    }

    /// Renames the folder to its place.
    pub fn finish(self) -> Result<()> {
        match fs::remove_dir(&self.target) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(io_error(&self.target)(error)),
        }
        fs::rename(&self.partial, &self.target).map_err(io_error(&self.target))
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        // After `finish` there is no folder; before it, an error is already on its way.
        let _ = fs::remove_dir_all(&self.partial);
    }
}

/// Names the file in a system error; for `map_err`.
pub fn io_error(path: &Path) -> impl FnOnce(io::Error) -> ModelError {
    let path = path.to_owned();
    move |source| ModelError::Io { path, source }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Stage;

    #[test]
    fn folder_appears_complete_or_not_at_all() {
        let parent = tempfile::tempdir().expect("a folder");
        let target = parent.path().join("model");
        let stage = Stage::begin(&target).expect("nothing is there");
        stage.json("a.json", &json!({})).expect("written");
        drop(stage);
        let left = std::fs::read_dir(parent.path()).expect("readable").count();
        assert_eq!(left, 0, "an abandoned stage leaves nothing");

        let stage = Stage::begin(&target).expect("nothing is there");
        stage.json("a.json", &json!({})).expect("written");
        assert!(!target.exists());
        stage.finish().expect("renamed");
        assert!(target.join("a.json").is_file());
        let names = std::fs::read_dir(parent.path()).expect("readable").count();
        assert_eq!(names, 1, "the stage itself is gone");
    }

    #[test]
    fn existing_folder_is_not_overwritten() {
        let parent = tempfile::tempdir().expect("a folder");
        let empty = parent.path().join("empty");
        std::fs::create_dir(&empty).expect("made");
        Stage::begin(&empty).expect("an empty folder is free").finish().expect("renamed");

        let file = parent.path().join("file");
        std::fs::write(&file, "kept").expect("written");
        assert!(Stage::begin(&file).is_err());
        assert!(Stage::begin(parent.path()).is_err(), "not empty");
        assert_eq!(std::fs::read_to_string(&file).expect("there"), "kept");
    }
}
