//! Where results go: a journaled file that a later run can go on with, or a stream.

use std::io::Write;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use super::journal::{Counts, Journal, Record};
use super::partial::{PartialFile, beside, sync_folder};
use super::progress::Progress;
use crate::error::CliError;
use crate::stream::Mark;

/// What became of one chunk.
#[derive(Debug)]
pub(crate) struct Finished {
    /// Where the chunk ends in the input.
    pub(crate) end: Mark,
    /// Lines for the output.
    pub(crate) output: Vec<u8>,
    /// Lines for the reject file or the terminal.
    pub(crate) rejects: Vec<u8>,
    /// What was counted in this chunk.
    pub(crate) counts: Counts,
    /// Digest of `output` and `rejects`; see [`chunk_digest`].
    pub(crate) digest: String,
}

/// Digest of what a chunk adds to the output and to the reject file.
pub(crate) fn chunk_digest(output: &[u8], rejects: &[u8]) -> String {
    let mut hash = Sha256::new();
    hash.update((output.len() as u64).to_le_bytes());
    hash.update(output);
    hash.update(rejects);
    hex(&hash.finalize())
}

/// Hexadecimal digits of `bytes`.
pub(crate) fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.map(|digit| char::from(DIGITS[usize::from(digit)])).collect()
}

/// The files of a run whose output is a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Paths {
    /// The output.
    pub(crate) output: PathBuf,
    /// The rejected rows.
    pub(crate) rejects: PathBuf,
    /// The journal.
    pub(crate) journal: PathBuf,
}

impl Paths {
    /// The files beside `output`.
    pub(crate) fn beside(output: &Path, rejects: Option<&Path>) -> Self {
        let default = || beside(output, ".rejects.jsonl");
        Self {
            output: output.to_owned(),
            rejects: rejects.map_or_else(default, Path::to_owned),
            journal: beside(output, ".journal"),
        }
    }
}

/// Where results go.
pub(crate) enum Output {
    /// A file that appears whole, with a journal.
    File(FileOutput),
    /// Standard output, a pipe or a device: what is written is written.
    Stream(StreamOutput),
}

/// A file that appears whole, with a journal.
pub(crate) struct FileOutput {
    pub(crate) journal: Journal,
    pub(crate) output: PartialFile,
    pub(crate) rejects: PartialFile,
    pub(crate) paths: Paths,
    /// Counts up to the last record.
    pub(crate) counts: Counts,
}

/// Standard output, a pipe or a device.
pub(crate) struct StreamOutput {
    pub(crate) name: PathBuf,
    pub(crate) sink: Box<dyn Write>,
    /// Without a file, rejected rows are named on standard error.
    pub(crate) rejects: Option<PartialFile>,
    pub(crate) counts: Counts,
}

impl Output {
    /// What has been counted, an earlier run included.
    pub(crate) fn counts(&self) -> &Counts {
        match self {
            Self::File(file) => &file.counts,
            Self::Stream(stream) => &stream.counts,
        }
    }

    /// Writes what became of the next chunk.
    pub(crate) fn write(&mut self, chunk: &Finished, progress: &Progress) -> Result<(), CliError> {
        match self {
            Self::File(file) => file.write(chunk),
            Self::Stream(stream) => stream.write(chunk, progress),
        }
    }

    /// Completes the run after the last chunk.
    pub(crate) fn finish(self) -> Result<Counts, CliError> {
        match self {
            Self::File(file) => file.finish(),
            Self::Stream(stream) => stream.finish(),
        }
    }
}

impl FileOutput {
    /// Output first, then the record that speaks of it.
    fn write(&mut self, chunk: &Finished) -> Result<(), CliError> {
        self.output.write(&chunk.output)?;
        self.rejects.write(&chunk.rejects)?;
        self.note(chunk)
    }

    /// Notes a chunk that has been written in the journal.
    pub(crate) fn note(&mut self, chunk: &Finished) -> Result<(), CliError> {
        self.counts.merge(&chunk.counts);
        self.journal.record(Record {
            lines: chunk.end.lines,
            input_bytes: chunk.end.bytes,
            input_digest: hex(&chunk.end.digest),
            output_bytes: self.output.bytes(),
            reject_bytes: self.rejects.bytes(),
            chunk_digest: chunk.digest.clone(),
            counts: self.counts.clone(),
        })
    }

    /// What the end mark speaks of is on the disk before it, and the output is named last: where
    /// it stands, the rejected rows stand too.
    fn finish(mut self) -> Result<Counts, CliError> {
        self.output.sync()?;
        self.rejects.sync()?;
        self.journal.complete()?;
        self.rejects.commit(true)?;
        self.output.commit(false)?;
        sync_folder(&self.paths.output)?;
        self.journal.remove()?;
        Ok(self.counts)
    }
}

impl StreamOutput {
    fn write(&mut self, chunk: &Finished, progress: &Progress) -> Result<(), CliError> {
        self.sink.write_all(&chunk.output).map_err(CliError::file("write", &self.name))?;
        match &mut self.rejects {
            Some(file) => file.write(&chunk.rejects)?,
            None => progress.notes(&chunk.rejects),
        }
        self.counts.merge(&chunk.counts);
        Ok(())
    }

    fn finish(mut self) -> Result<Counts, CliError> {
        self.sink.flush().map_err(CliError::file("write", &self.name))?;
        if let Some(rejects) = self.rejects {
            rejects.commit(true)?;
        }
        Ok(self.counts)
    }
}
