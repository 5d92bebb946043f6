//! The journal beside an output: how far a run has come, so that another can go on from there.
//!
//! One JSON object a line: a header that says what the run is, one record for each chunk whose
//! output has been written, and an end mark once everything has. A record is written after what it
//! speaks of, so a run that is killed leaves output that the journal does not know, and never the
//! other way round; a torn last line is as good as none. The open journal is locked, which keeps
//! two runs from writing one output.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::lock;
use super::mapping::Mapping;
use crate::error::CliError;
use crate::tally::Tally;

/// Moves when a run could no longer go on from an older journal.
const FORMAT: u32 = 1;

/// What a run is. Two runs with equal headers over equal inputs write equal outputs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Header {
    /// Version of the journal's format.
    pub(crate) format: u32,
    /// Version of this program.
    pub(crate) version: String,
    /// The input as it was named; it is compared by content.
    pub(crate) input: String,
    /// Who judges.
    pub(crate) scorers: Vec<Judge>,
    /// What else shapes the output, by name.
    pub(crate) options: serde_json::Map<String, serde_json::Value>,
}

/// A scorer and its digest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Judge {
    /// Its name.
    pub(crate) name: String,
    /// `sha256:` and 64 hexadecimal digits.
    pub(crate) digest: String,
}

/// What shapes the output besides scorers and input.
#[derive(Debug, Serialize)]
pub(crate) struct Options<'a> {
    /// Columns to fields.
    pub(crate) mapping: &'a Mapping,
    /// `--explain`.
    pub(crate) explain: bool,
    /// `--overwrite-scores`.
    pub(crate) overwrite_scores: bool,
    /// `--limit`.
    pub(crate) limit: Option<u64>,
    /// `--rejects`.
    pub(crate) rejects: Option<&'a Path>,
}

impl Header {
    /// The header of a run; `options` serialises to an object.
    pub(crate) fn of(input: &str, scorers: Vec<Judge>, options: &impl Serialize) -> Self {
        let options = serde_json::to_value(options).expect("options serialise");
        let serde_json::Value::Object(options) = options else {
            unreachable!("a struct serialises to an object")
        };
        Self {
            format: FORMAT,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            input: input.to_owned(),
            scorers,
            options,
        }
    }

    /// What keeps a run of this header from going on with `journaled`, as a sentence.
    pub(crate) fn difference(&self, journaled: &Self) -> Option<String> {
        let was = |what: &str, old: &str, new: &str| format!("{what} was {old} and is {new} now");
        if self.format != journaled.format || self.version != journaled.version {
            return Some(was("tribunal's version", &journaled.version, &self.version));
        }
        let names = |header: &Self| {
            let names: Vec<&str> = header.scorers.iter().map(|s| s.name.as_str()).collect();
            names.join(", ")
        };
        if names(self) != names(journaled) {
            return Some(was("the list of scorers", &names(journaled), &names(self)));
        }
        for (new, old) in self.scorers.iter().zip(&journaled.scorers) {
            if new.digest != old.digest {
                let what = format!("the version or configuration of scorer '{}'", new.name);
                return Some(was(&what, &old.digest, &new.digest));
            }
        }
        let keys = self.options.keys().chain(journaled.options.keys());
        let differs = |key: &&String| self.options.get(*key) != journaled.options.get(*key);
        keys.into_iter().find(differs).map(|key| {
            let shown = |header: &Self| {
                header.options.get(key).map_or_else(|| "not there".to_owned(), ToString::to_string)
            };
            was(&format!("option '{key}'"), &shown(journaled), &shown(self))
        })
    }
}

/// One chunk whose output has been written. Sizes are those of the whole files so far.
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

/// What a run has done so far.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Counts {
    /// Rows scored.
    pub(crate) scored: u64,
    /// Rows rejected.
    pub(crate) rejected: u64,
    /// Verdicts, one tally a scorer.
    pub(crate) tallies: Vec<Tally>,
}

impl Counts {
    /// Nothing yet, of `n_scorers`.
    pub(crate) fn new(n_scorers: usize) -> Self {
        Self { tallies: vec![Tally::default(); n_scorers], ..Self::default() }
    }

    /// Adds the counts of later rows.
    pub(crate) fn merge(&mut self, later: &Self) {
        self.scored += later.scored;
        self.rejected += later.rejected;
        for (tally, more) in self.tallies.iter_mut().zip(&later.tallies) {
            tally.merge(more);
        }
    }

    /// The counts as a manifest has them.
    pub(crate) fn described(&self, scorers: &[String]) -> serde_json::Value {
        let statuses = scorers.iter().zip(&self.tallies).map(|(name, tally)| {
            let counts = tally.occurred().map(|(status, n)| (status.to_owned(), n.into()));
            (name.clone(), serde_json::Value::Object(counts.collect()))
        });
        serde_json::json!({
            "rows": self.rows(),
            "scored": self.scored,
            "rejected": self.rejected,
            "statuses": statuses.collect::<serde_json::Map<_, _>>(),
        })
    }

    /// Rows of either kind.
    pub(crate) fn rows(&self) -> u64 {
        self.scored + self.rejected
    }
}

/// A line of the journal.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Entry {
    Header(Header),
    Chunk(Record),
    /// Every row has been written; what remains is to give the files their names.
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
    pub(crate) fn open(path: &Path) -> Result<Self, CliError> {
        Ok(Self { path: path.to_owned(), file: lock::open(path)? })
    }

    /// What the journal says of the run as a whole.
    pub(crate) fn survey(&self) -> Result<Past, CliError> {
        self.refuse_foreign()?;
        let (mut past, mut entries) = (Past::default(), self.entries()?);
        while let Some((entry, end)) = entries.next()? {
            match entry {
                Entry::Header(header) => (past.header, past.header_bytes) = (Some(header), end),
                Entry::Chunk(_) => past.n_records += 1,
                Entry::Complete(complete) => past.complete = complete,
            }
        }
        Ok(past)
    }

    /// A file of the journal's name that is no journal belongs to somebody else. The first line of
    /// a journal may be torn, but not different.
    fn refuse_foreign(&self) -> Result<(), CliError> {
        const BEGIN: &[u8] = br#"{"header":"#;
        let mut first = Vec::new();
        let mut file = &self.file;
        let read = file
            .seek(SeekFrom::Start(0))
            .and_then(|_| file.take(BEGIN.len() as u64).read_to_end(&mut first));
        read.map_err(CliError::file("read", &self.path))?;
        if BEGIN.starts_with(&first) {
            return Ok(());
        }
        let message = format!("{} is no journal; name another output", self.path.display());
        Err(CliError::Usage(message))
    }

    /// The journal's entries from the start. Nothing may be written while they are read.
    fn entries(&self) -> Result<Entries<'_>, CliError> {
        let mut file = &self.file;
        file.seek(SeekFrom::Start(0)).map_err(CliError::file("read", &self.path))?;
        let source = BufReader::new(file);
        Ok(Entries { path: &self.path, source, line: Vec::new(), bytes: 0, has_header: false })
    }

    /// The records in order, each with the size of the journal up to and with it.
    pub(crate) fn records(&self) -> Result<Records<'_>, CliError> {
        self.entries().map(Records)
    }

    /// Forgets everything after the first `bytes`.
    pub(crate) fn cut(&mut self, bytes: u64) -> Result<(), CliError> {
        let cut = self.file.set_len(bytes).and_then(|()| self.file.seek(SeekFrom::End(0)));
        cut.map_err(CliError::file("write", &self.path)).map(drop)
    }

    /// Starts a journal over.
    pub(crate) fn begin(&mut self, header: &Header) -> Result<(), CliError> {
        self.cut(0)?;
        self.append(&Entry::Header(header.clone()))
    }

    /// Notes that a chunk's output has been written.
    pub(crate) fn record(&mut self, record: Record) -> Result<(), CliError> {
        self.append(&Entry::Chunk(record))
    }

    /// Notes that everything has been written.
    pub(crate) fn complete(&mut self) -> Result<(), CliError> {
        self.append(&Entry::Complete(true))?;
        self.file.sync_all().map_err(CliError::file("write", &self.path))
    }

    /// Removes the journal of a run whose files have their names.
    pub(crate) fn remove(self) -> Result<(), CliError> {
        std::fs::remove_file(&self.path).map_err(CliError::file("remove", &self.path))
    }

    fn append(&mut self, entry: &Entry) -> Result<(), CliError> {
        let mut line = serde_json::to_vec(entry).expect("journal entries serialise");
        line.push(b'\n');
        self.file.write_all(&line).map_err(CliError::file("write", &self.path))
    }
}

/// What an earlier run left in the journal.
#[derive(Debug, Default)]
pub(crate) struct Past {
    /// What the run was; `None` for a new journal.
    pub(crate) header: Option<Header>,
    /// Size of the journal up to and with the header.
    pub(crate) header_bytes: u64,
    /// Chunks whose output had been written.
    pub(crate) n_records: u64,
    /// Whether every row had been written.
    pub(crate) complete: bool,
}

/// Entries up to the first that is torn or out of place.
struct Entries<'j> {
    path: &'j Path,
    source: BufReader<&'j File>,
    line: Vec<u8>,
    bytes: u64,
    has_header: bool,
}

impl Entries<'_> {
    fn next(&mut self) -> Result<Option<(Entry, u64)>, CliError> {
        self.line.clear();
        let read = self.source.read_until(b'\n', &mut self.line);
        self.bytes += read.map_err(CliError::file("read", self.path))? as u64;
        let Some(whole) = self.line.strip_suffix(b"\n") else {
            return Ok(None);
        };
        let entry = serde_json::from_slice(whole).ok();
        let entry = entry.filter(|entry| self.has_header != matches!(entry, Entry::Header(_)));
        self.has_header = true;
        Ok(entry.map(|entry| (entry, self.bytes)))
    }
}

/// The records of a journal in order.
pub(crate) struct Records<'j>(Entries<'j>);

impl Records<'_> {
    /// The next record and the size of the journal up to and with it.
    pub(crate) fn next(&mut self) -> Result<Option<(Record, u64)>, CliError> {
        while let Some((entry, end)) = self.0.next()? {
            match entry {
                Entry::Header(_) => {}
                Entry::Chunk(record) => return Ok(Some((record, end))),
                Entry::Complete(_) => return Ok(None),
            }
        }
        Ok(None)
    }
}
