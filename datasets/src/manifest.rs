//! What made an output, in a file beside it.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::Serialize;
use serde_json::Value;

use crate::sink::beside;
use crate::source::InputDigest;
use crate::{DatasetError, Result};

/// What made an output. Two runs that did the same differ in `time` alone, which comes last.
#[derive(Debug, Clone, Serialize)]
pub struct Manifest {
    /// Version of this form.
    pub manifest: u32,
    /// The program and its version.
    pub program: String,
    /// What it was told to do, such as `filter`.
    pub command: String,
    /// The inputs in order.
    pub inputs: Vec<InputDigest>,
    /// Every option that bears on the output.
    pub options: Value,
    /// Rows in, rows out, and what became of the others.
    pub counts: Value,
    /// The files in order.
    pub outputs: Vec<Output>,
    /// When it was.
    pub time: Time,
}

/// A file of an output.
#[derive(Debug, Clone, Serialize)]
pub struct Output {
    /// Its name, without the folder.
    pub file: String,
    /// Its rows.
    pub rows: u64,
}

/// When a run was.
#[derive(Debug, Clone, Serialize)]
pub struct Time {
    /// When it ended, in seconds since the beginning of 1970.
    pub finished_unix_s: u64,
    /// How long it took.
    pub elapsed_s: f64,
}

impl Time {
    /// A run that ends now.
    pub fn now(elapsed: Duration) -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        Self {
            finished_unix_s: since.map_or(0, |since| since.as_secs()),
            elapsed_s: elapsed.as_secs_f64(),
        }
    }
}

impl Output {
    /// Files as [`crate::sink::Written`] lists them.
    pub fn of(files: &[(PathBuf, u64)]) -> Vec<Self> {
        let output = |(path, rows): &(PathBuf, u64)| Self {
            file: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            rows: *rows,
        };
        files.iter().map(output).collect()
    }
}

/// Where the manifest of an output lies.
pub fn path_for(output: &Path) -> PathBuf {
    beside(output, ".manifest.json")
}

impl Manifest {
    /// Writes the manifest beside `output`, over the one of an earlier run.
    ///
    /// # Errors
    /// [`DatasetError::Io`] where it cannot be written.
    pub fn write(&self, output: &Path) -> Result<PathBuf> {
        let path = path_for(output);
        write_whole(&path, &self.text())?;
        Ok(path)
    }

    fn text(&self) -> String {
        let text = serde_json::to_string_pretty(self);
        text.expect("a manifest has text keys and finite numbers") + "\n"
    }
}

/// Writes a small file whole or not at all.
///
/// # Errors
/// [`DatasetError::Io`] where it cannot be written.
pub fn write_whole(path: &Path, text: &str) -> Result<()> {
    let partial = beside(path, ".partial");
    let written = std::fs::File::create(&partial).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()
    });
    let named = written.and_then(|()| std::fs::rename(&partial, path));
    named.map_err(|error| {
        // The run has failed already, and says so.
        let _ = std::fs::remove_file(&partial);
        DatasetError::io("write", path)(error)
    })
}
