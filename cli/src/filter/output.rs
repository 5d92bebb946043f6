//! Output of a filter run: kept rows, and a file of unreadable rows.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use curation::filter::{RejectSink, RowSink};
use datasets::sink::{Sink, SinkOptions, WrittenOutput, beside};
use datasets::source::Reject;
use datasets::{DatasetError, RecordBatch, SchemaRef};
use scoring::files::{PartialFile, remove_if_exists};

use crate::error::CliError;

/// The output of a run.
pub(super) struct FilterOutput {
    name: String,
    options: SinkOptions,
    sink: Option<Sink>,
    /// Shared with the reading thread; locked briefly, once for each unreadable row.
    rejects: Arc<Mutex<Rejects>>,
    /// Set once the output is locked: until then the folder may belong to another run.
    own_spill: Option<SpillFolder>,
}

/// Unreadable rows.
struct Rejects {
    /// Name of the output.
    name: String,
    /// Created with the first row.
    file: Option<PartialFile>,
}

/// Folder for spilled rows, removed on drop.
struct SpillFolder(PathBuf);

/// Spill folder of an output: beside it, on the same disk.
pub(super) fn spill_folder(output: &str) -> PathBuf {
    if is_file(output) {
        beside(Path::new(output), ".spill")
    } else {
        std::env::temp_dir().join(format!("tribunal-{}.spill", std::process::id()))
    }
}

impl Drop for SpillFolder {
    fn drop(&mut self) {
        // The folder exists only if rows were spilled.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Whether an output is a file with a name, and no stream or device.
fn is_file(output: &str) -> bool {
    output != "-" && std::fs::metadata(output).map_or(true, |metadata| metadata.is_file())
}

impl FilterOutput {
    pub(super) fn new(name: &str, options: SinkOptions) -> Self {
        Self {
            name: name.to_owned(),
            options,
            sink: None,
            rejects: Arc::new(Mutex::new(Rejects { name: name.to_owned(), file: None })),
            own_spill: None,
        }
    }

    /// Whether it is a file with a name, and no stream or device.
    pub(super) fn is_file(&self) -> bool {
        is_file(&self.name)
    }

    /// Callback for unreadable rows.
    pub(super) fn reject_sink(&self) -> RejectSink {
        let rejects = self.rejects.clone();
        Box::new(move |reject| {
            let mut rejects = rejects.lock().expect("no code panics while holding the lock");
            rejects.add(reject)
        })
    }

    /// Completes the output. Returns its files and the reject file.
    pub(super) fn finish(self) -> Result<(WrittenOutput, Option<PathBuf>), CliError> {
        let sink = self.sink.expect("a run begins with its columns");
        drop(self.own_spill);
        let rejects = beside(Path::new(&self.name), ".rejects.jsonl");
        let is_file = is_file(&self.name);
        let written = sink.finish()?;
        let mut reject_file = self.rejects.lock().expect("no code panics while holding the lock");
        let Some(file) = reject_file.file.take() else {
            if is_file && self.options.overwrite {
                // What an earlier run rejected is of an output that is gone.
                remove_if_exists(&rejects)?;
            }
            return Ok((written, None));
        };
        file.commit(false)?;
        Ok((written, Some(rejects)))
    }
}

impl Rejects {
    /// Writes a row beside the output, or on standard error where the output is a stream.
    fn add(&mut self, reject: &Reject) -> Result<(), DatasetError> {
        if !is_file(&self.name) {
            let note = format!("{}:{}: {}\n", reject.file, reject.row, reject.reason);
            // A failed write to standard error cannot be reported.
            let _ = std::io::stderr().write_all(note.as_bytes());
            return Ok(());
        }
        let failed = |error: CliError| DatasetError::Usage(error.to_string());
        let file = match self.file.take() {
            Some(file) => file,
            None => PartialFile::create(&beside(Path::new(&self.name), ".rejects.jsonl"))
                .map_err(failed)?,
        };
        let file = self.file.insert(file);
        let mut line = serde_json::to_vec(reject).expect("a reject serialises");
        line.push(b'\n');
        file.write(&line).map_err(failed)
    }
}

impl RowSink for FilterOutput {
    fn begin(&mut self, schema: &SchemaRef) -> Result<(), DatasetError> {
        self.sink = Some(Sink::create(&self.name, schema, &self.options)?);
        self.own_spill = Some(SpillFolder(spill_folder(&self.name)));
        Ok(())
    }

    fn rows(&mut self, batch: &RecordBatch) -> Result<(), DatasetError> {
        let sink = self.sink.as_mut();
        sink.expect("a run begins with its columns").write(batch)
    }
}
