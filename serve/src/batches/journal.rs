//! The journal of a batch: the attempts at its lines and their outcomes, in order of time.
//!
//! An entry counts once it is complete. It begins with a checksum of the rest, by which an
//! incomplete tail, left by a killed writer, is recognised and truncated; the lines in it are
//! answered again. A line with an outcome gets no further entry.
//!
//! The attempt at a line is written before the line is sent, so that the next process can tell
//! which lines were in flight when this one died. Attempts survive the process and need not survive
//! the machine: they are synced with the next outcome.
//!
//! ```text
//! entry = check [8] | line u32 | event u8 | length u32 | text [length]     (little-endian)
//! event = 1 succeeded | 2 failed | 3 begun, whose text is the process id [8]
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, BufReader, Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use super::disk::{Disk, DiskStep, open_own};
use super::ids::ProcessId;

const CHECK: usize = 8;
const HEAD: usize = CHECK + 9;
const BEGUN: u8 = 3;

/// The result kind of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LineOutcome {
    /// A reply with a success status.
    Succeeded,
    /// A reply with an error status, or a fault of the server.
    Failed,
}

/// The result of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct JournalRecord {
    /// Line number, from 1.
    pub(crate) line: u32,
    pub(crate) outcome: LineOutcome,
    /// The line of the output file, without its newline.
    pub(crate) text: Vec<u8>,
}

/// An entry of a journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum JournalEvent {
    /// This process begins a line, by its number from 1.
    Begun(u32),
    /// A line has its outcome.
    Ended(JournalRecord),
}

impl JournalEvent {
    fn line(&self) -> u32 {
        match self {
            JournalEvent::Begun(line) => *line,
            JournalEvent::Ended(record) => record.line,
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct RecordSpan {
    at: u64,
    length: u32,
    outcome: LineOutcome,
}

/// The journal of a batch.
#[derive(Debug)]
pub(crate) struct Journal {
    disk: Arc<Disk>,
    file: File,
    entries: Entries,
}

/// What a journal holds.
#[derive(Debug, Default)]
struct Entries {
    /// Where the next entry begins.
    end: u64,
    /// Where the outcomes of lines are.
    outcomes: BTreeMap<u32, RecordSpan>,
    /// The processes that began a line which has no outcome.
    attempts: BTreeMap<u32, BTreeSet<ProcessId>>,
}

impl Journal {
    /// Opens or creates a journal, and truncates an incomplete tail.
    pub(crate) fn open(disk: &Arc<Disk>, path: &Path) -> io::Result<Journal> {
        let file = open_own(path)?;
        let length = file.metadata()?.len();
        let entries = scan(&file, length)?;
        if entries.end < length {
            file.set_len(entries.end)?;
            disk.release(length - entries.end);
        }
        Ok(Journal { disk: Arc::clone(disk), file, entries })
    }

    /// Appends events and syncs outcomes; lines that have an outcome already are skipped.
    ///
    /// # Errors
    /// I/O errors. The journal is then unchanged, and the same events may be appended again.
    pub(crate) fn append(&mut self, events: &[JournalEvent]) -> io::Result<()> {
        let process = self.disk.process;
        let (mut bytes, mut added) = (Vec::new(), Entries::default());
        let mut is_synced = false;
        for event in events {
            let line = event.line();
            if self.has(line) || added.outcomes.contains_key(&line) {
                continue;
            }
            match event {
                JournalEvent::Begun(line) => {
                    push(&mut bytes, *line, BEGUN, &process.0.to_le_bytes())?;
                    added.attempts.entry(*line).or_default().insert(process);
                }
                JournalEvent::Ended(record) => {
                    let length = push(&mut bytes, record.line, code(record.outcome), &record.text)?;
                    let at = self.entries.end + (bytes.len() - record.text.len()) as u64;
                    let span = RecordSpan { at, length, outcome: record.outcome };
                    added.outcomes.insert(record.line, span);
                    is_synced = true;
                }
            }
        }
        if bytes.is_empty() {
            return Ok(());
        }
        let count = bytes.len() as u64;
        self.disk.reserve(count)?;
        let written = self.write(&bytes, is_synced);
        if let Err(error) = written {
            // Bytes behind the end are overwritten by the next entry, or truncated by the next
            // start.
            let _ = self.file.set_len(self.entries.end);
            self.disk.release(count);
            return Err(error);
        }
        self.entries.end += count;
        self.entries.add(added);
        Ok(())
    }

    fn write(&self, bytes: &[u8], is_synced: bool) -> io::Result<()> {
        self.file.write_all_at(bytes, self.entries.end)?;
        if !is_synced {
            return Ok(());
        }
        self.disk.before(DiskStep::Sync)?;
        self.file.sync_data()
    }

    /// Returns the processes that began a line which has no outcome.
    pub(crate) fn attempts(&self, line: u32) -> impl Iterator<Item = ProcessId> {
        self.entries.attempts.get(&line).into_iter().flatten().copied()
    }

    /// Returns whether a line has an outcome.
    pub(crate) fn has(&self, line: u32) -> bool {
        self.entries.outcomes.contains_key(&line)
    }

    /// Counts the lines with this outcome.
    pub(crate) fn count(&self, outcome: LineOutcome) -> u32 {
        let places = self.entries.outcomes.values().filter(|place| place.outcome == outcome);
        u32::try_from(places.count()).unwrap_or(u32::MAX)
    }

    /// Reads the outcome of a line; `None` if it has none.
    pub(crate) fn entry(&self, line: u32) -> io::Result<Option<JournalRecord>> {
        let Some(place) = self.entries.outcomes.get(&line) else {
            return Ok(None);
        };
        let mut text = vec![0; usize::try_from(place.length).map_err(io::Error::other)?];
        self.file.read_exact_at(&mut text, place.at)?;
        Ok(Some(JournalRecord { line, outcome: place.outcome, text }))
    }
}

impl Entries {
    fn add(&mut self, added: Entries) {
        for (line, processes) in added.attempts {
            self.attempts.entry(line).or_default().extend(processes);
        }
        for (line, span) in added.outcomes {
            self.attempts.remove(&line);
            self.outcomes.entry(line).or_insert(span);
        }
    }
}

fn code(outcome: LineOutcome) -> u8 {
    match outcome {
        LineOutcome::Succeeded => 1,
        LineOutcome::Failed => 2,
    }
}

/// Adds an entry to `bytes` and returns the length of its text.
fn push(bytes: &mut Vec<u8>, line: u32, event: u8, text: &[u8]) -> io::Result<u32> {
    let length = u32::try_from(text.len());
    let length = length.map_err(|_| io::Error::from(io::ErrorKind::FileTooLarge))?;
    let mut head = [0; HEAD];
    head[CHECK..CHECK + 4].copy_from_slice(&line.to_le_bytes());
    head[CHECK + 4] = event;
    head[CHECK + 5..].copy_from_slice(&length.to_le_bytes());
    let check = check(&head[CHECK..], text);
    head[..CHECK].copy_from_slice(&check);
    bytes.extend_from_slice(&head);
    bytes.extend_from_slice(text);
    Ok(length)
}

fn check(head: &[u8], text: &[u8]) -> [u8; CHECK] {
    let digest = Sha256::new().chain_update(head).chain_update(text);
    let digest = digest.finalize();
    *digest.first_chunk().expect("a digest has 32 bytes")
}

/// Reads the complete entries and the offset of the first incomplete one.
fn scan(mut file: &File, length: u64) -> io::Result<Entries> {
    file.seek(SeekFrom::Start(0))?;
    let mut reader = BufReader::with_capacity(1 << 20, file);
    let mut entries = Entries::default();
    let mut text = Vec::new();
    while length - entries.end >= HEAD as u64 {
        let mut head = [0; HEAD];
        reader.read_exact(&mut head)?;
        let number = |at: usize| {
            let bytes = head[at..].first_chunk().expect("a head has room for both");
            u32::from_le_bytes(*bytes)
        };
        let (line, size) = (number(CHECK), number(CHECK + 5));
        let at = entries.end + HEAD as u64;
        if u64::from(size) > length - at {
            break;
        }
        text.resize(usize::try_from(size).map_err(io::Error::other)?, 0);
        reader.read_exact(&mut text)?;
        if check(&head[CHECK..], &text) != head[..CHECK] {
            break;
        }
        let span = |outcome| RecordSpan { at, length: size, outcome };
        let mut found = Entries::default();
        match (head[CHECK + 4], text.first_chunk()) {
            (1, _) => found.outcomes.extend([(line, span(LineOutcome::Succeeded))]),
            (2, _) => found.outcomes.extend([(line, span(LineOutcome::Failed))]),
            (BEGUN, Some(process)) => {
                let process = ProcessId(u64::from_le_bytes(*process));
                found.attempts.extend([(line, BTreeSet::from([process]))]);
            }
            _ => break,
        }
        entries.add(found);
        entries.end = at + u64::from(size);
    }
    // No process begins a line that has an outcome; a journal that has such an entry is read the
    // same.
    entries.attempts.retain(|line, _| !entries.outcomes.contains_key(line));
    Ok(entries)
}
