//! Manifests: a file beside each output with inputs, options and counts.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

use crate::sink::beside;
use crate::source::InputDigest;
use crate::{DatasetError, Result};

/// Provenance of an output. Equal runs differ in `time` only, which comes last.
#[derive(Debug, Clone, Serialize)]
pub struct Manifest {
    /// Version of the manifest format.
    pub manifest: u32,
    /// Program and version.
    pub program: String,
    /// The command, such as `filter`.
    pub command: String,
    /// The inputs in order.
    pub inputs: Vec<InputDigest>,
    /// Every option that shapes the output.
    pub options: Value,
    /// Counts of rows.
    pub counts: Value,
    /// The files in order.
    pub outputs: Vec<OutputFile>,
    /// The file of rejected rows, as it was named; `None` for that beside the output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rejects: Option<PathBuf>,
    /// Time of the run.
    pub time: Time,
}

/// A file of an output.
#[derive(Debug, Clone, Serialize)]
pub struct OutputFile {
    /// Its name, without the folder.
    pub file: String,
    /// Its rows.
    pub rows: u64,
}

/// Time of a run.
#[derive(Debug, Clone, Serialize)]
pub struct Time {
    /// End, in seconds since 1970-01-01 UTC.
    pub finished_unix_s: u64,
    /// Duration in seconds.
    pub elapsed_s: f64,
}

impl Time {
    /// The time of a run that ends now.
    pub fn now(elapsed: Duration) -> Self {
        Self { finished_unix_s: base::time::unix_seconds(), elapsed_s: elapsed.as_secs_f64() }
    }
}

impl OutputFile {
    /// Converts the files of [`crate::sink::WrittenOutput`].
    pub fn of(files: &[(PathBuf, u64)]) -> Vec<Self> {
        let output = |(path, rows): &(PathBuf, u64)| Self {
            file: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            rows: *rows,
        };
        files.iter().map(output).collect()
    }
}

/// Path of the manifest of an output.
pub fn path_for(output: &Path) -> PathBuf {
    beside(output, ".manifest.json")
}

impl Manifest {
    /// Writes the manifest beside `output`, replacing an earlier one.
    ///
    /// # Errors
    /// [`DatasetError::Io`] where it cannot be written.
    pub fn write(&self, output: &Path) -> Result<PathBuf> {
        let path = path_for(output);
        write_atomic(&path, &self.text())?;
        Ok(path)
    }

    fn text(&self) -> String {
        let text = serde_json::to_string_pretty(self);
        text.expect("a manifest has text keys and finite numbers") + "\n"
    }
}

/// Writes a small file atomically.
///
/// # Errors
/// [`DatasetError::Io`] if it cannot be written.
pub fn write_atomic(path: &Path, text: &str) -> Result<()> {
    base::file::write_atomic(path, text.as_bytes()).map_err(DatasetError::io("write", path))
}
