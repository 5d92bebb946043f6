//! Opens the files of a run: new ones, or those of an earlier run where it stopped.
//!
//! To resume, the input is read again up to the last record, and every chunk of input and output is
//! compared with its record. Reading is far cheaper than scoring, it puts the reader at the right
//! position, and it notices everything that was changed or lost in between.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use base::digest::hex;
use datasets::sink::{OutputLock, beside};

use super::input::Input;
use super::journal::{Journal, Past, Record};
use super::output::{FileOutput, chunk_digest};
use super::reader::LineChunk;
use crate::counts::Counts;
use crate::error::RunError;
use crate::files::{PartialFile, refuse_existing, sync_folder};
use crate::header::Header;
use crate::job::OverwriteMode;
use crate::target::Paths;

/// An opened run.
pub(crate) enum RunState<T> {
    /// There are rows to score, none or some of which an earlier run has done.
    InProgress(T),
    /// An earlier run had written everything and was stopped before it removed its journal.
    Complete(Counts),
}

impl<T> RunState<T> {
    /// Applies `wrap` to the files of a run in progress.
    pub(crate) fn map<U>(self, wrap: impl FnOnce(T) -> U) -> RunState<U> {
        match self {
            Self::InProgress(begun) => RunState::InProgress(wrap(begun)),
            Self::Complete(counts) => RunState::Complete(counts),
        }
    }
}

/// Opens the files of a run and moves `input` past the rows that an earlier run has done.
///
/// # Errors
/// Files that exist and may not be replaced, and a journal of another run.
pub(crate) fn open(
    paths: Paths,
    header: &Header,
    mode: OverwriteMode,
    input: &mut Input,
) -> Result<RunState<FileOutput>, RunError> {
    if !paths.journal.exists() {
        refuse_existing(mode.overwrite, [&paths.output, &paths.rejects])?;
    }
    let lock = OutputLock::take(&paths.output)?;
    let journal = Journal::open(&paths.journal)?;
    let past = journal.survey()?;
    if mode.restart || (past.n_records == 0 && !past.complete) {
        refuse_existing(mode.overwrite, [&paths.output, &paths.rejects])?;
        return begin(lock, paths, journal, header).map(RunState::InProgress);
    }
    if let Some(why) = refusal(&past, header, input.is_stdin()) {
        return Err(RunError::Usage(format!(
            "{} is of a run that cannot be gone on with: {why}; --restart discards it",
            paths.journal.display()
        )));
    }
    // A complete run may have renamed its files before it was stopped.
    let is_named = |target: &Path| past.complete && !beside(target, ".partial").exists();
    let unnamed = [&paths.rejects, &paths.output].into_iter().filter(|path| !is_named(path));
    refuse_existing(mode.overwrite, unnamed)?;
    let written = if is_named(&paths.output) {
        paths.output.clone()
    } else {
        beside(&paths.output, ".partial")
    };
    let last = replay(&journal, input, &written, &paths)?;
    if !past.complete {
        return resume((lock, paths), journal, last, &past, header).map(RunState::InProgress);
    }
    if last.n_records < past.n_records {
        return Err(RunError::Usage(format!(
            "{} has changed since it was written; --restart --overwrite begins anew",
            written.display()
        )));
    }
    name_files(&paths, &last)?;
    journal.remove()?;
    Ok(RunState::Complete(last.counts(header)))
}

fn refusal(past: &Past, header: &Header, is_stdin: bool) -> Option<String> {
    let journaled = past.header.as_ref()?;
    if is_stdin || journaled.input == "-" {
        return Some("standard input cannot be read a second time".to_owned());
    }
    header.difference(journaled)
}

fn begin(
    lock: OutputLock,
    paths: Paths,
    mut journal: Journal,
    header: &Header,
) -> Result<FileOutput, RunError> {
    journal.begin(header)?;
    Ok(FileOutput {
        _lock: lock,
        output: PartialFile::create(&paths.output)?,
        rejects: PartialFile::create(&paths.rejects)?,
        counts: Counts::new(header.scorers.len()),
        journal,
        paths,
    })
}

/// How far journal, input and output agree.
#[derive(Default)]
struct Agreed {
    n_records: u64,
    record: Option<Record>,
    journal_bytes: u64,
}

impl Agreed {
    fn counts(&self, header: &Header) -> Counts {
        let none = || Counts::new(header.scorers.len());
        self.record.as_ref().map_or_else(none, |record| record.counts.clone())
    }
}

/// Compares record by record and stops where the output no longer agrees, as after a power cut.
///
/// # Errors
/// An input that does not agree: it is another input.
fn replay(
    journal: &Journal,
    input: &mut Input,
    written: &Path,
    paths: &Paths,
) -> Result<Agreed, RunError> {
    let mut outputs = Outputs::open(written, &paths.rejects)?;
    let mut agreed = Agreed::default();
    let mut records = journal.records()?;
    while let Some((record, end)) = records.next()? {
        let chunk = input.peek()?;
        if !chunk.is_some_and(|chunk| is_of(&record, chunk)) {
            let lines = agreed.record.as_ref().map_or(0, |record| record.lines);
            return Err(RunError::Usage(format!(
                "{} is of another input: this one differs after row {lines}; --restart discards it",
                paths.journal.display()
            )));
        }
        if !outputs.agree(&record, agreed.record.as_ref())? {
            break;
        }
        input.next_chunk()?;
        agreed.n_records += 1;
        agreed.journal_bytes = end;
        agreed.record = Some(record);
    }
    Ok(agreed)
}

fn is_of(record: &Record, chunk: &LineChunk) -> bool {
    let end = chunk.end;
    (record.lines, record.input_bytes) == (end.lines, end.bytes)
        && record.input_digest == hex(&end.digest)
}

/// Output and reject file, read in step with the records.
struct Outputs {
    output: WrittenFile,
    rejects: WrittenFile,
}

/// A file that is read in pieces. A missing file is empty.
struct WrittenFile {
    path: PathBuf,
    file: Option<File>,
    piece: Vec<u8>,
}

impl Outputs {
    fn open(written: &Path, rejects: &Path) -> Result<Self, RunError> {
        // Rejected rows are named before the output is.
        let partial = beside(rejects, ".partial");
        let rejects = if partial.exists() { &partial } else { rejects };
        Ok(Self { output: WrittenFile::open(written)?, rejects: WrittenFile::open(rejects)? })
    }

    fn agree(&mut self, record: &Record, before: Option<&Record>) -> Result<bool, RunError> {
        let (output, rejects) = before.map_or((0, 0), |r| (r.output_bytes, r.reject_bytes));
        let whole = self.output.read(record.output_bytes.saturating_sub(output))?
            && self.rejects.read(record.reject_bytes.saturating_sub(rejects))?;
        Ok(whole && chunk_digest(&self.output.piece, &self.rejects.piece) == record.chunk_digest)
    }
}

impl WrittenFile {
    fn open(path: &Path) -> Result<Self, RunError> {
        let file = match File::open(path) {
            Ok(file) => Some(file),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(RunError::file("read", path)(error)),
        };
        Ok(Self { path: path.to_owned(), file, piece: Vec::new() })
    }

    /// Reads the next `bytes`; false if there are fewer.
    fn read(&mut self, bytes: u64) -> Result<bool, RunError> {
        self.piece.clear();
        let Some(file) = &self.file else {
            return Ok(bytes == 0);
        };
        let read = file.take(bytes).read_to_end(&mut self.piece);
        let read = read.map_err(RunError::file("read", &self.path))?;
        Ok(read as u64 == bytes)
    }
}

/// Cuts the files to where journal, input and output agree.
fn resume(
    (lock, paths): (OutputLock, Paths),
    mut journal: Journal,
    last: Agreed,
    past: &Past,
    header: &Header,
) -> Result<FileOutput, RunError> {
    let (mut output, mut rejects) =
        (PartialFile::reopen(&paths.output)?, PartialFile::reopen(&paths.rejects)?);
    let counts = last.counts(header);
    let done = last.record.map_or((0, 0), |record| (record.output_bytes, record.reject_bytes));
    output.cut(done.0)?;
    rejects.cut(done.1)?;
    journal.cut(last.journal_bytes.max(past.header_bytes))?;
    Ok(FileOutput { _lock: lock, journal, output, rejects, paths, counts })
}

/// Renames the files of a complete run that do not have their names yet.
fn name_files(paths: &Paths, last: &Agreed) -> Result<(), RunError> {
    let done = last.record.as_ref().map_or((0, 0), |r| (r.output_bytes, r.reject_bytes));
    let named = [(&paths.rejects, done.1, true), (&paths.output, done.0, false)];
    for (target, bytes, drop_empty) in named {
        if beside(target, ".partial").exists() {
            let mut file = PartialFile::reopen(target)?;
            file.cut(bytes)?;
            file.commit(drop_empty)?;
        }
    }
    sync_folder(&paths.output)
}

#[cfg(test)]
mod tests;
