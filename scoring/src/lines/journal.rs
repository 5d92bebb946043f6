//! The journal beside an output: how far a run has come, so that a later run can resume there.
//!
//! One JSON object a line: a header with the identity of the run, one record for each chunk whose
//! output has been written, and an end mark after the last. A record is written after the output that
//! it describes, so a killed run may leave output without a record, but never a record without
//! output. A torn last line is ignored. The open journal is locked: one output takes one run.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::counts::Counts;
use crate::error::RunError;
use crate::files::lock;
use crate::header::Header;

/// A chunk whose output has been written. Sizes are totals from the start of each file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Record {
    /// Lines of the input.
    pub(crate) lines: u64,
    /// Bytes of the input.
    pub(crate) input_bytes: u64,
    /// SHA-256 of these bytes of the input.
    pub(crate) input_digest: String,
    /// Bytes of the output.
    pub(crate) output_bytes: u64,
    /// Bytes of the reject file.
    pub(crate) reject_bytes: u64,
    /// SHA-256 of what this chunk added to both.
    pub(crate) chunk_digest: String,
    /// Counts so far.
    pub(crate) counts: Counts,
}

/// A line of the journal.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum JournalEntry {
    Header(Header),
    Chunk(Record),
    /// Every row has been written; the files may not have their names yet.
    Complete(bool),
}

/// An open, locked journal.
#[derive(Debug)]
pub(crate) struct Journal {
    path: PathBuf,
    file: File,
}

impl Journal {
    /// Opens or creates the journal and locks it.
    pub(crate) fn open(path: &Path) -> Result<Self, RunError> {
        Ok(Self { path: path.to_owned(), file: lock::open(path)? })
    }

    /// Reads the header and counts the records.
    pub(crate) fn survey(&self) -> Result<Past, RunError> {
        self.refuse_foreign()?;
        let (mut past, mut entries) = (Past::default(), self.entries()?);
        while let Some((entry, end)) = entries.next()? {
            match entry {
                JournalEntry::Header(header) => {
                    (past.header, past.header_bytes) = (Some(header), end);
                }
                JournalEntry::Chunk(_) => past.n_records += 1,
                JournalEntry::Complete(complete) => past.complete = complete,
            }
        }
        Ok(past)
    }

    /// Refuses a file of the journal's name that is no journal. A torn first line is accepted.
    fn refuse_foreign(&self) -> Result<(), RunError> {
        const BEGIN: &[u8] = br#"{"header":"#;
        let mut first = Vec::new();
        let mut file = &self.file;
        let read = file
            .seek(SeekFrom::Start(0))
            .and_then(|_| file.take(BEGIN.len() as u64).read_to_end(&mut first));
        read.map_err(RunError::file("read", &self.path))?;
        if BEGIN.starts_with(&first) {
            return Ok(());
        }
        let message = format!("{} is no journal; name another output", self.path.display());
        Err(RunError::Usage(message))
    }

    /// Reads the entries from the start. Nothing may be written while they are read.
    fn entries(&self) -> Result<Entries<'_>, RunError> {
        let mut file = &self.file;
        file.seek(SeekFrom::Start(0)).map_err(RunError::file("read", &self.path))?;
        let source = BufReader::new(file);
        Ok(Entries { path: &self.path, source, line: Vec::new(), bytes: 0, has_header: false })
    }

    /// Reads the records in order.
    pub(crate) fn records(&self) -> Result<Records<'_>, RunError> {
        self.entries().map(Records)
    }

    /// Drops everything after the first `bytes`.
    pub(crate) fn cut(&mut self, bytes: u64) -> Result<(), RunError> {
        let cut = self.file.set_len(bytes).and_then(|()| self.file.seek(SeekFrom::End(0)));
        cut.map_err(RunError::file("write", &self.path)).map(drop)
    }

    /// Drops all entries and writes a new header.
    pub(crate) fn begin(&mut self, header: &Header) -> Result<(), RunError> {
        self.cut(0)?;
        self.append(&JournalEntry::Header(header.clone()))
    }

    /// Adds the record of a chunk whose output has been written.
    pub(crate) fn record(&mut self, record: Record) -> Result<(), RunError> {
        self.append(&JournalEntry::Chunk(record))
    }

    /// Adds the end mark and syncs the journal to disk.
    pub(crate) fn complete(&mut self) -> Result<(), RunError> {
        self.append(&JournalEntry::Complete(true))?;
        self.file.sync_all().map_err(RunError::file("write", &self.path))
    }

    /// Removes the journal of a run whose files have their names.
    pub(crate) fn remove(self) -> Result<(), RunError> {
        std::fs::remove_file(&self.path).map_err(RunError::file("remove", &self.path))
    }

    fn append(&mut self, entry: &JournalEntry) -> Result<(), RunError> {
        let mut line = serde_json::to_vec(entry).expect("journal entries serialise");
        line.push(b'\n');
        self.file.write_all(&line).map_err(RunError::file("write", &self.path))
    }
}

/// What an earlier run left in the journal.
#[derive(Debug, Default)]
pub(crate) struct Past {
    /// Identity of the run; `None` for a new journal.
    pub(crate) header: Option<Header>,
    /// Size of the header's line.
    pub(crate) header_bytes: u64,
    /// Chunks whose output had been written.
    pub(crate) n_records: u64,
    /// Whether the journal has its end mark.
    pub(crate) complete: bool,
}

/// Reads entries up to the first that is torn or misplaced.
struct Entries<'j> {
    path: &'j Path,
    source: BufReader<&'j File>,
    line: Vec<u8>,
    bytes: u64,
    has_header: bool,
}

impl Entries<'_> {
    fn next(&mut self) -> Result<Option<(JournalEntry, u64)>, RunError> {
        self.line.clear();
        let read = self.source.read_until(b'\n', &mut self.line);
        self.bytes += read.map_err(RunError::file("read", self.path))? as u64;
        let Some(whole) = self.line.strip_suffix(b"\n") else {
            return Ok(None);
        };
        let entry = serde_json::from_slice(whole).ok();
        let entry =
            entry.filter(|entry| self.has_header != matches!(entry, JournalEntry::Header(_)));
        self.has_header = true;
        Ok(entry.map(|entry| (entry, self.bytes)))
    }
}

/// The records of a journal in order.
pub(crate) struct Records<'j>(Entries<'j>);

impl Records<'_> {
    /// Returns the next record and the size of the journal at its end; `None` after the last.
    pub(crate) fn next(&mut self) -> Result<Option<(Record, u64)>, RunError> {
        while let Some((entry, end)) = self.0.next()? {
            match entry {
                JournalEntry::Header(_) => {}
                JournalEntry::Chunk(record) => return Ok(Some((record, end))),
                JournalEntry::Complete(_) => return Ok(None),
            }
        }
        Ok(None)
    }
}
