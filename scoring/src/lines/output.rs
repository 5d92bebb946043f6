//! Outputs of scored lines: a file with a journal, which a later run can resume, or a stream.

use std::io::Write;
use std::path::PathBuf;

use base::digest::hex;
use datasets::sink::OutputLock;
use sha2::{Digest as _, Sha256};

use super::journal::{Journal, Record};
use super::reader::Mark;
use crate::counts::Counts;
use crate::error::RunError;
use crate::files::{PartialFile, sync_folder};
use crate::row_progress::RowProgress;
use crate::target::Paths;

/// The lines of one scored chunk.
#[derive(Debug)]
pub(crate) struct ScoredLines {
    /// Where the chunk ends in the input.
    pub(crate) end: Mark,
    /// Lines for the output.
    pub(crate) output: Vec<u8>,
    /// Lines for the reject file or the terminal.
    pub(crate) rejects: Vec<u8>,
    /// Counts of this chunk.
    pub(crate) counts: Counts,
    /// Digest of `output` and `rejects`; see [`chunk_digest`].
    pub(crate) digest: String,
}

/// Digest of the bytes that a chunk adds to the output and to the reject file.
pub(crate) fn chunk_digest(output: &[u8], rejects: &[u8]) -> String {
    let mut hash = Sha256::new();
    hash.update((output.len() as u64).to_le_bytes());
    hash.update(output);
    hash.update(rejects);
    hex(&hash.finalize())
}

/// An open output.
pub(crate) enum LineOutput {
    /// A file that gets its name when it is complete, with a journal.
    File(FileOutput),
    /// Standard output, a pipe or a device.
    Stream(StreamOutput),
}

/// A file that gets its name when it is complete, with a journal.
pub(crate) struct FileOutput {
    /// Held until the files have their names.
    pub(crate) _lock: OutputLock,
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
    /// File of rejected rows; `None` prints them on standard error.
    pub(crate) rejects: Option<PartialFile>,
    pub(crate) counts: Counts,
}

impl LineOutput {
    /// Counts of this run and of the run that it resumes.
    pub(crate) fn counts(&self) -> &Counts {
        match self {
            Self::File(file) => &file.counts,
            Self::Stream(stream) => &stream.counts,
        }
    }

    /// Writes the next chunk.
    pub(crate) fn write(
        &mut self,
        chunk: &ScoredLines,
        progress: &RowProgress,
    ) -> Result<(), RunError> {
        match self {
            Self::File(file) => file.write(chunk),
            Self::Stream(stream) => stream.write(chunk, progress),
        }
    }

    /// Completes the run after the last chunk.
    pub(crate) fn finish(self) -> Result<Counts, RunError> {
        match self {
            Self::File(file) => file.finish(),
            Self::Stream(stream) => stream.finish(),
        }
    }
}

impl FileOutput {
    /// Writes the output first, then the record of it.
    fn write(&mut self, chunk: &ScoredLines) -> Result<(), RunError> {
        self.output.write(&chunk.output)?;
        self.rejects.write(&chunk.rejects)?;
        self.note(chunk)
    }

    /// Adds the record of a chunk that has been written to the journal.
    pub(crate) fn note(&mut self, chunk: &ScoredLines) -> Result<(), RunError> {
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

    /// Syncs the files, adds the end mark and renames the files, the output last: where the output
    /// exists, the reject file exists too.
    fn finish(mut self) -> Result<Counts, RunError> {
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
    fn write(&mut self, chunk: &ScoredLines, progress: &RowProgress) -> Result<(), RunError> {
        self.sink.write_all(&chunk.output).map_err(RunError::file("write", &self.name))?;
        match &mut self.rejects {
            Some(file) => file.write(&chunk.rejects)?,
            None => progress.notes(&chunk.rejects),
        }
        self.counts.merge(&chunk.counts);
        Ok(())
    }

    fn finish(mut self) -> Result<Counts, RunError> {
        self.sink.flush().map_err(RunError::file("write", &self.name))?;
        if let Some(rejects) = self.rejects {
            rejects.commit(true)?;
        }
        Ok(self.counts)
    }
}
