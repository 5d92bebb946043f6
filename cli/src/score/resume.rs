//! Opens a run's files: anew, or where an earlier run stopped.
//!
//! To go on, the input is read again up to the last record, and every chunk of input and output is
//! compared with what the journal says of it. Reading is far cheaper than scoring, it puts the
//! reader exactly where it must go on, and nothing that was changed or lost in between can pass.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use super::input::Input;
use super::journal::{Counts, Header, Journal, Past, Record};
use super::output::{FileOutput, Paths, chunk_digest, hex};
use super::partial::{PartialFile, beside, sync_folder};
use crate::error::CliError;
use crate::stream::Chunk;

/// What to do about files that are there already.
#[derive(Debug, Clone, Copy, clap::Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct Existing {
    /// Replace an output file that exists
    #[arg(long)]
    pub(crate) overwrite: bool,
    /// Discard what an unfinished run has left, and begin anew
    #[arg(long)]
    pub(crate) restart: bool,
}

/// An opened run.
pub(crate) enum Opened<T> {
    /// There are rows to score, after those that were scored before.
    Begun(T),
    /// An earlier run had written everything and was stopped before it could clean up.
    Complete(Counts),
}

impl<T> Opened<T> {
    /// Applies `wrap` to what was begun.
    pub(crate) fn map<U>(self, wrap: impl FnOnce(T) -> U) -> Opened<U> {
        match self {
            Self::Begun(begun) => Opened::Begun(wrap(begun)),
            Self::Complete(counts) => Opened::Complete(counts),
        }
    }
}

/// Opens the files of a run and moves `input` past what an earlier run has done.
pub(crate) fn open(
    paths: Paths,
    header: &Header,
    existing: Existing,
    input: &mut Input,
) -> Result<Opened<FileOutput>, CliError> {
    if !paths.journal.exists() {
        refuse_existing(existing, &[&paths.output, &paths.rejects])?;
    }
    let journal = Journal::open(&paths.journal)?;
    let past = journal.survey()?;
    if existing.restart || (past.n_records == 0 && !past.complete) {
        refuse_existing(existing, &[&paths.output, &paths.rejects])?;
        return begin(paths, journal, header).map(Opened::Begun);
    }
    if let Some(why) = refusal(&past, header, input.is_stdin()) {
        return Err(CliError::Usage(format!(
            "{} is of a run that cannot be gone on with: {why}; --restart discards it",
            paths.journal.display()
        )));
    }
    // A complete run may have named its files before it was stopped: those files are its own.
    let is_named = |target: &Path| past.complete && !beside(target, ".partial").exists();
    let unnamed = [&paths.rejects, &paths.output].into_iter().filter(|path| !is_named(path));
    refuse_existing(existing, &unnamed.collect::<Vec<_>>())?;
    let written = if is_named(&paths.output) {
        paths.output.clone()
    } else {
        beside(&paths.output, ".partial")
    };
    let last = replay(&journal, input, &written, &paths)?;
    if !past.complete {
        return go_on(paths, journal, last, &past, header).map(Opened::Begun);
    }
    if last.n_records < past.n_records {
        return Err(CliError::Usage(format!(
            "{} has changed since it was written; --restart --overwrite begins anew",
            written.display()
        )));
    }
    name_files(&paths, &last)?;
    journal.remove()?;
    Ok(Opened::Complete(last.counts(header)))
}

fn refuse_existing(existing: Existing, targets: &[&PathBuf]) -> Result<(), CliError> {
    match targets.iter().find(|path| path.exists()) {
        Some(path) if !existing.overwrite => {
            let path = path.display();
            Err(CliError::Usage(format!("{path} exists; --overwrite replaces it")))
        }
        Some(_) | None => Ok(()),
    }
}

fn refusal(past: &Past, header: &Header, is_stdin: bool) -> Option<String> {
    let journaled = past.header.as_ref()?;
    if is_stdin || journaled.input == "-" {
        return Some("standard input cannot be read a second time".to_owned());
    }
    header.difference(journaled)
}

fn begin(paths: Paths, mut journal: Journal, header: &Header) -> Result<FileOutput, CliError> {
    journal.begin(header)?;
    Ok(FileOutput {
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

/// Compares record by record and stops where the output no longer agrees, which is what a power
/// cut may leave. An input that does not agree is another input.
fn replay(
    journal: &Journal,
    input: &mut Input,
    written: &Path,
    paths: &Paths,
) -> Result<Agreed, CliError> {
    let mut outputs = Outputs::open(written, &paths.rejects)?;
    let mut agreed = Agreed::default();
    let mut records = journal.records()?;
    while let Some((record, end)) = records.next()? {
        let chunk = input.peek()?;
        if !chunk.is_some_and(|chunk| is_of(&record, chunk)) {
            let lines = agreed.record.as_ref().map_or(0, |record| record.lines);
            return Err(CliError::Usage(format!(
                "{} is of another input: this one differs after row {lines}; --restart discards it",
                paths.journal.display()
            )));
        }
        if !outputs.agree(&record, agreed.record.as_ref())? {
            break;
        }
        input.next()?;
        agreed.n_records += 1;
        agreed.journal_bytes = end;
        agreed.record = Some(record);
    }
    Ok(agreed)
}

fn is_of(record: &Record, chunk: &Chunk) -> bool {
    let end = chunk.end;
    (record.lines, record.input_bytes) == (end.lines, end.bytes)
        && record.input_digest == hex(&end.digest)
}

/// Output and reject file, read side by side.
struct Outputs {
    output: Part,
    rejects: Part,
}

/// A file that is read piece by piece. One that is not there is empty.
struct Part {
    path: PathBuf,
    file: Option<File>,
    piece: Vec<u8>,
}

impl Outputs {
    fn open(written: &Path, rejects: &Path) -> Result<Self, CliError> {
        // Rejected rows are named before the output is.
        let partial = beside(rejects, ".partial");
        let rejects = if partial.exists() { &partial } else { rejects };
        Ok(Self { output: Part::open(written)?, rejects: Part::open(rejects)? })
    }

    fn agree(&mut self, record: &Record, before: Option<&Record>) -> Result<bool, CliError> {
        let (output, rejects) = before.map_or((0, 0), |r| (r.output_bytes, r.reject_bytes));
        let whole = self.output.read(record.output_bytes.saturating_sub(output))?
            && self.rejects.read(record.reject_bytes.saturating_sub(rejects))?;
        Ok(whole && chunk_digest(&self.output.piece, &self.rejects.piece) == record.chunk_digest)
    }
}

impl Part {
    fn open(path: &Path) -> Result<Self, CliError> {
        let file = match File::open(path) {
            Ok(file) => Some(file),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(CliError::file("read", path)(error)),
        };
        Ok(Self { path: path.to_owned(), file, piece: Vec::new() })
    }

    /// Reads the next `bytes`; false if there are fewer.
    fn read(&mut self, bytes: u64) -> Result<bool, CliError> {
        self.piece.clear();
        let Some(file) = &self.file else {
            return Ok(bytes == 0);
        };
        let read = file.take(bytes).read_to_end(&mut self.piece);
        let read = read.map_err(CliError::file("read", &self.path))?;
        Ok(read as u64 == bytes)
    }
}

/// Takes the files up where journal, input and output agree.
fn go_on(
    paths: Paths,
    mut journal: Journal,
    last: Agreed,
    past: &Past,
    header: &Header,
) -> Result<FileOutput, CliError> {
    let (mut output, mut rejects) =
        (PartialFile::reopen(&paths.output)?, PartialFile::reopen(&paths.rejects)?);
    let counts = last.counts(header);
    let done = last.record.map_or((0, 0), |record| (record.output_bytes, record.reject_bytes));
    output.cut(done.0)?;
    rejects.cut(done.1)?;
    journal.cut(last.journal_bytes.max(past.header_bytes))?;
    Ok(FileOutput { journal, output, rejects, paths, counts })
}

/// Gives the files of a complete run the names that they do not have yet.
fn name_files(paths: &Paths, last: &Agreed) -> Result<(), CliError> {
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
