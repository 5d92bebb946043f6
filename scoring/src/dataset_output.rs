//! Outputs of commands that turn one dataset into another: the table, its file of rejected rows and
//! its manifest.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use base::human::grouped;
use datasets::manifest::{Manifest, OutputFile, Time};
use datasets::sink::{Sink, SinkOptions, WrittenOutput, beside};
use datasets::source::{Dataset, Reject};
use datasets::{RecordBatch, SchemaRef};
use serde_json::Value;

use crate::error::RunError;
use crate::files::{PartialFile, STREAM, remove_if_exists};

/// An output in progress, with its file of rejected rows.
pub struct DatasetOutput {
    name: String,
    overwrite: bool,
    sink: Sink,
    rejects: Option<PartialFile>,
    n_rejected: u64,
}

/// A complete output.
#[derive(Debug)]
pub struct Finished {
    /// The name that the caller gave.
    pub name: String,
    /// Its files and rows.
    pub written: WrittenOutput,
    /// Number of rejected rows.
    pub rejected: u64,
    /// The file of rejected rows; `None` if there are none or the output is a stream.
    pub rejects: Option<PathBuf>,
}

/// Whether an output is a file, not a stream or device.
pub fn is_file(output: &str) -> bool {
    output != STREAM && std::fs::metadata(output).map_or(true, |metadata| metadata.is_file())
}

impl DatasetOutput {
    /// Creates an output.
    ///
    /// # Errors
    /// An output that exists and may not be replaced, and system errors.
    pub fn create(name: &str, schema: &SchemaRef, options: &SinkOptions) -> Result<Self, RunError> {
        Ok(Self {
            name: name.to_owned(),
            overwrite: options.overwrite,
            sink: Sink::create(name, schema, options)?,
            rejects: None,
            n_rejected: 0,
        })
    }

    /// Appends rows.
    pub fn rows(&mut self, batch: &RecordBatch) -> Result<(), RunError> {
        Ok(self.sink.write(batch)?)
    }

    /// Writes a rejected row with its reason to the reject file, or to standard error for a stream.
    pub fn reject(&mut self, reject: &Reject) -> Result<(), RunError> {
        self.n_rejected += 1;
        if !is_file(&self.name) {
            let note = format!("{}:{}: {}\n", reject.file, reject.row, reject.reason);
            // An error of standard error cannot be reported anywhere.
            let _ = std::io::stderr().write_all(note.as_bytes());
            return Ok(());
        }
        let file = match self.rejects.take() {
            Some(file) => file,
            None => PartialFile::create(&beside(Path::new(&self.name), ".rejects.jsonl"))?,
        };
        let mut line = serde_json::to_vec(reject).expect("a reject serialises");
        line.push(b'\n');
        self.rejects.insert(file).write(&line)
    }

    /// Completes the output and renames its files.
    pub fn finish(self) -> Result<Finished, RunError> {
        let path = beside(Path::new(&self.name), ".rejects.jsonl");
        let written = self.sink.finish()?;
        let mut rejects = None;
        if let Some(file) = self.rejects {
            file.commit(false)?;
            rejects = Some(path);
        } else if is_file(&self.name) && self.overwrite {
            // What an earlier run rejected is of an output that is gone.
            remove_if_exists(&path)?;
        }
        Ok(Finished { name: self.name, written, rejected: self.n_rejected, rejects })
    }
}

/// The fields of a manifest besides the files.
pub struct ManifestFields {
    /// The command.
    pub command: &'static str,
    /// Every option that shapes the output.
    pub options: Value,
    /// Counts of rows.
    pub counts: Value,
    /// Start of the run.
    pub started: Instant,
}

impl Finished {
    /// Writes the manifest beside an output that is a file. Reads the inputs again for their digests.
    pub fn account(&self, dataset: &Dataset, account: ManifestFields) -> Result<(), RunError> {
        if !is_file(&self.name) {
            return Ok(());
        }
        let manifest = Manifest {
            manifest: 1,
            program: concat!("tribunal ", env!("CARGO_PKG_VERSION")).to_owned(),
            command: account.command.to_owned(),
            inputs: dataset.digests()?,
            options: account.options,
            counts: account.counts,
            outputs: OutputFile::of(&self.written.files),
            rejects: None,
            time: Time::now(account.started.elapsed()),
        };
        manifest.write(Path::new(&self.name))?;
        Ok(())
    }

    /// Describes the files and the time of the run, as lines for people.
    pub fn text(&self, started: Instant) -> String {
        let rejected = if self.rejected > 0 {
            let place = self.rejects.as_ref().map_or_else(String::new, |path| {
                format!("; they are in {}, with the reasons", path.display())
            });
            let rejected = grouped(self.rejected, ',');
            format!("failed: {rejected} rows could not be used{place}\n")
        } else {
            String::new()
        };
        let seconds = started.elapsed().as_secs_f64();
        match self.written.files.as_slice() {
            [] => format!("{rejected}done in {seconds:.2} s\n"),
            [(path, _)] => format!("{rejected}wrote {} in {seconds:.2} s\n", path.display()),
            files => format!(
                "{rejected}wrote {} files as {} in {seconds:.2} s\n",
                files.len(),
                self.name
            ),
        }
    }
}
