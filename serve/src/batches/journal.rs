//! The journal of a batch: the results of its lines, in order of completion.
//!
//! An entry counts once it is complete on disk. It begins with a checksum of the rest, by which an
//! incomplete tail, left by a killed writer, is recognised and truncated; the lines in it are
//! answered again. A line has at most one entry.
//!
//! ```text
//! entry = check [8] | line u32 | fate u8 | length u32 | text [length]     (little-endian)
//! ```

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader, Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use super::disk::{Disk, DiskStep, open_own};

const CHECK: usize = 8;
const HEAD: usize = CHECK + 9;

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
    /// Offset at which the next entry begins.
    end: u64,
    places: BTreeMap<u32, RecordSpan>,
}

impl Journal {
    /// Opens or creates a journal, and truncates an incomplete tail.
    pub(crate) fn open(disk: &Arc<Disk>, path: &Path) -> io::Result<Journal> {
        let file = open_own(path)?;
        let length = file.metadata()?.len();
        let (places, end) = scan(&file, length)?;
        if end < length {
            file.set_len(end)?;
            disk.release(length - end);
        }
        Ok(Journal { disk: Arc::clone(disk), file, end, places })
    }

    /// Appends and syncs entries; lines that have an entry already are skipped.
    ///
    /// # Errors
    /// I/O errors. The journal is then unchanged, and the same entries may be appended again.
    pub(crate) fn append(&mut self, entries: &[JournalRecord]) -> io::Result<()> {
        let mut bytes = Vec::new();
        let mut places = BTreeMap::new();
        for entry in entries {
            if self.has(entry.line) || places.contains_key(&entry.line) {
                continue;
            }
            let length = u32::try_from(entry.text.len());
            let length = length.map_err(|_| io::Error::from(io::ErrorKind::FileTooLarge))?;
            let place = RecordSpan {
                at: self.end + (bytes.len() + HEAD) as u64,
                length,
                outcome: entry.outcome,
            };
            bytes.extend_from_slice(&head(entry, length));
            bytes.extend_from_slice(&entry.text);
            places.insert(entry.line, place);
        }
        if bytes.is_empty() {
            return Ok(());
        }
        let count = bytes.len() as u64;
        self.disk.reserve(count)?;
        let written = self.write(&bytes);
        if let Err(error) = written {
            // Bytes past the end are overwritten by the next entry or truncated at the next start.
            let _ = self.file.set_len(self.end);
            self.disk.release(count);
            return Err(error);
        }
        self.end += count;
        self.places.append(&mut places);
        Ok(())
    }

    fn write(&self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all_at(bytes, self.end)?;
        self.disk.before(DiskStep::Sync)?;
        self.file.sync_data()
    }

    /// Returns whether a line has an entry.
    pub(crate) fn has(&self, line: u32) -> bool {
        self.places.contains_key(&line)
    }

    /// Counts the lines with this outcome.
    pub(crate) fn count(&self, outcome: LineOutcome) -> u32 {
        let places = self.places.values().filter(|place| place.outcome == outcome);
        u32::try_from(places.count()).unwrap_or(u32::MAX)
    }

    /// Reads the entry of a line.
    pub(crate) fn entry(&self, line: u32) -> io::Result<Option<JournalRecord>> {
        let Some(place) = self.places.get(&line) else {
            return Ok(None);
        };
        let mut text = vec![0; usize::try_from(place.length).map_err(io::Error::other)?];
        self.file.read_exact_at(&mut text, place.at)?;
        Ok(Some(JournalRecord { line, outcome: place.outcome, text }))
    }
}

fn head(entry: &JournalRecord, length: u32) -> [u8; HEAD] {
    let mut head = [0; HEAD];
    head[CHECK..CHECK + 4].copy_from_slice(&entry.line.to_le_bytes());
    head[CHECK + 4] = match entry.outcome {
        LineOutcome::Succeeded => 1,
        LineOutcome::Failed => 2,
    };
    head[CHECK + 5..].copy_from_slice(&length.to_le_bytes());
    let check = check(&head[CHECK..], &entry.text);
    head[..CHECK].copy_from_slice(&check);
    head
}

fn check(head: &[u8], text: &[u8]) -> [u8; CHECK] {
    let digest = Sha256::new().chain_update(head).chain_update(text);
    let digest = digest.finalize();
    *digest.first_chunk().expect("a digest has 32 bytes")
}

/// Finds the complete entries and the offset of the first incomplete one.
fn scan(mut file: &File, length: u64) -> io::Result<(BTreeMap<u32, RecordSpan>, u64)> {
    file.seek(SeekFrom::Start(0))?;
    let mut reader = BufReader::with_capacity(1 << 20, file);
    let (mut places, mut end) = (BTreeMap::new(), 0_u64);
    let mut text = Vec::new();
    while length - end >= HEAD as u64 {
        let mut head = [0; HEAD];
        reader.read_exact(&mut head)?;
        let number = |at: usize| {
            let bytes = head[at..].first_chunk().expect("a head has room for both");
            u32::from_le_bytes(*bytes)
        };
        let (line, size) = (number(CHECK), number(CHECK + 5));
        let at = end + HEAD as u64;
        let outcome = match head[CHECK + 4] {
            1 => LineOutcome::Succeeded,
            2 => LineOutcome::Failed,
            _ => break,
        };
        if u64::from(size) > length - at {
            break;
        }
        text.resize(usize::try_from(size).map_err(io::Error::other)?, 0);
        reader.read_exact(&mut text)?;
        if check(&head[CHECK..], &text) != head[..CHECK] {
            break;
        }
        let place = RecordSpan { at, length: size, outcome };
        places.entry(line).or_insert(place);
        end = at + u64::from(size);
    }
    Ok((places, end))
}
