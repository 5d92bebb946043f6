//! A crash-safe store of verdicts, from which a later run takes those of an interrupted one.
//!
//! The file is a header line with scorers and options, and records: the digest of the scored content
//! and the verdicts as bytes. Records are found by content, not by position: after a change of the
//! input only the verdicts of the changed rows are lost. Reading ends at a record that a killed run
//! has torn or a power cut has damaged. The open file is locked: one store takes one run.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read, Seek as _, SeekFrom};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use openapi::ScoreInput;
use sha2::{Digest as _, Sha256};

use crate::error::RunError;
use crate::files::lock;
use crate::header::Header;

/// Key of a record: the head of the SHA-256 of its content. Two different contents share a key once in
/// 2^64 runs over billions of rows.
pub(crate) type VerdictKey = [u8; 16];

/// Bytes before a record's payload: its key, its length and the head of its digest.
const FRONT_BYTES: usize = 16 + 4 + 8;

/// Most bytes of a payload; a greater length is a damaged record.
const MAX_PAYLOAD: u32 = 1 << 30;

/// The first bytes of every store.
const BEGIN: &[u8] = br#"{"format":"#;

/// The key of a hashed content.
pub(crate) fn key(content: Sha256) -> VerdictKey {
    let digest = content.finalize();
    let mut key = [0; 16];
    key.copy_from_slice(&digest[..16]);
    key
}

/// An input as JSON, whose digest is its key.
pub(crate) fn input_json(input: &ScoreInput) -> Vec<u8> {
    serde_json::to_vec(input).expect("an input serialises")
}

/// The key of an input's verdicts, from its JSON.
pub(crate) fn input_key(json: &[u8]) -> VerdictKey {
    key(Sha256::new_with_prefix(json))
}

/// Position of a payload in the file.
#[derive(Debug, Clone, Copy)]
struct RecordSpan {
    offset: u64,
    bytes: u32,
}

/// An open store. Each record takes 40 bytes of memory.
pub(crate) struct VerdictStore {
    path: PathBuf,
    file: Arc<File>,
    records: HashMap<VerdictKey, RecordSpan>,
    end: u64,
    /// Whether the file has a name; an unnamed one goes away with the value.
    is_named: bool,
    /// Whether the header that was read names another input.
    is_of_other_input: bool,
}

impl VerdictStore {
    /// Opens or creates the store at `path`; `restart` drops its records.
    ///
    /// # Errors
    /// A store of other scorers or options, one that another run holds, a file that is no store, and
    /// system errors.
    pub(crate) fn open(path: &Path, header: &Header, restart: bool) -> Result<Self, RunError> {
        let file = lock::open(path)?;
        refuse_foreign(&file, path)?;
        let mut store = Self {
            path: path.to_owned(),
            file: Arc::new(file),
            records: HashMap::new(),
            end: 0,
            is_named: true,
            is_of_other_input: false,
        };
        if !restart {
            store.read(header)?;
        }
        store.begin(header)?;
        Ok(store)
    }

    /// Creates a store in an unnamed file of `folder`.
    ///
    /// # Errors
    /// System errors.
    pub(crate) fn unnamed(folder: &Path, header: &Header) -> Result<Self, RunError> {
        let file = tempfile::tempfile_in(folder).map_err(RunError::file("write", folder))?;
        let mut store = Self {
            path: folder.join("verdicts"),
            file: Arc::new(file),
            records: HashMap::new(),
            end: 0,
            is_named: false,
            is_of_other_input: false,
        };
        store.begin(header)?;
        Ok(store)
    }

    /// Whether the store has records of a run over another input.
    pub(crate) fn is_of_other_input(&self) -> bool {
        self.is_of_other_input && !self.records.is_empty()
    }

    /// Number of records.
    pub(crate) fn len(&self) -> usize {
        self.records.len()
    }

    /// Whether the store has a record of this key.
    pub(crate) fn has(&self, key: &VerdictKey) -> bool {
        self.records.contains_key(key)
    }

    /// Returns the present records; later ones are not among them.
    pub(crate) fn snapshot(&self) -> StoreSnapshot {
        StoreSnapshot {
            path: self.path.clone(),
            file: self.file.clone(),
            records: self.records.clone(),
        }
    }

    /// Adds a record.
    ///
    /// # Errors
    /// System errors.
    pub(crate) fn put(&mut self, key: VerdictKey, payload: &[u8]) -> Result<(), RunError> {
        let bytes = u32::try_from(payload.len()).ok();
        let Some(bytes) = bytes.filter(|bytes| *bytes <= MAX_PAYLOAD) else {
            // A resumed run scores it again.
            return Ok(());
        };
        let mut record = Vec::with_capacity(FRONT_BYTES + payload.len());
        record.extend_from_slice(&key);
        record.extend_from_slice(&bytes.to_le_bytes());
        record.extend_from_slice(&digest_head(payload));
        record.extend_from_slice(payload);
        self.file.write_all_at(&record, self.end).map_err(RunError::file("write", &self.path))?;
        let offset = self.end + FRONT_BYTES as u64;
        self.records.insert(key, RecordSpan { offset, bytes });
        self.end += record.len() as u64;
        Ok(())
    }

    /// Removes the file, once the output has its name.
    ///
    /// # Errors
    /// System errors.
    pub(crate) fn remove(self) -> Result<(), RunError> {
        if !self.is_named {
            return Ok(());
        }
        std::fs::remove_file(&self.path).map_err(RunError::file("remove", &self.path))
    }

    /// Reads header and records of an earlier run.
    fn read(&mut self, header: &Header) -> Result<(), RunError> {
        let failed = || RunError::file("read", &self.path);
        let mut file: &File = &self.file;
        file.seek(SeekFrom::Start(0)).map_err(failed())?;
        let mut source = BufReader::with_capacity(1 << 20, file);
        let mut line = Vec::new();
        source.read_until(b'\n', &mut line).map_err(failed())?;
        // A header that is torn has no records behind it.
        let whole = line.strip_suffix(b"\n");
        let journaled = whole.and_then(|line| serde_json::from_slice::<Header>(line).ok());
        let Some(journaled) = journaled else {
            return Ok(());
        };
        if let Some(why) = header.difference(&journaled) {
            return Err(RunError::Usage(format!(
                "{} is of a run that cannot be gone on with: {why}; --restart discards it",
                self.path.display()
            )));
        }
        self.is_of_other_input = header.input != journaled.input;
        self.end = line.len() as u64;
        while let Some((key, payload)) = record(&mut source).map_err(failed())? {
            let place = RecordSpan {
                offset: self.end + FRONT_BYTES as u64,
                bytes: u32::try_from(payload.len()).expect("it was read by a length of 32 bits"),
            };
            self.records.insert(key, place);
            self.end = place.offset + payload.len() as u64;
        }
        Ok(())
    }

    /// Cuts off everything after the last complete record, and writes the header of a new store.
    fn begin(&mut self, header: &Header) -> Result<(), RunError> {
        let failed = || RunError::file("write", &self.path);
        self.file.set_len(self.end).map_err(failed())?;
        if self.end == 0 {
            let mut line = serde_json::to_vec(header).expect("a header serialises");
            line.push(b'\n');
            self.file.write_all_at(&line, 0).map_err(failed())?;
            self.end = line.len() as u64;
        }
        Ok(())
    }
}

/// The records of a store at one moment, which several threads may read.
pub(crate) struct StoreSnapshot {
    path: PathBuf,
    file: Arc<File>,
    records: HashMap<VerdictKey, RecordSpan>,
}

impl StoreSnapshot {
    /// Returns the payload of a key; `None` without a record.
    ///
    /// # Errors
    /// System errors.
    pub(crate) fn get(&self, key: &VerdictKey) -> Result<Option<Vec<u8>>, RunError> {
        let Some(place) = self.records.get(key) else {
            return Ok(None);
        };
        let mut payload = vec![0; place.bytes as usize];
        self.file
            .read_exact_at(&mut payload, place.offset)
            .map_err(RunError::file("read", &self.path))?;
        Ok(Some(payload))
    }
}

/// Reads the next record; `None` at the end or at a torn record.
fn record(source: &mut impl Read) -> io::Result<Option<(VerdictKey, Vec<u8>)>> {
    let mut front = [0; FRONT_BYTES];
    if !fill(source, &mut front)? {
        return Ok(None);
    }
    let (key, rest) = front.split_at(16);
    let (bytes, digest) = rest.split_at(4);
    let bytes = u32::from_le_bytes(bytes.try_into().expect("four bytes were split off"));
    if bytes > MAX_PAYLOAD {
        return Ok(None);
    }
    let mut payload = Vec::new();
    let read = source.take(u64::from(bytes)).read_to_end(&mut payload)?;
    let is_whole = read == bytes as usize && digest_head(&payload) == *digest;
    let key = key.try_into().expect("sixteen bytes were split off");
    Ok(is_whole.then_some((key, payload)))
}

fn fill(source: &mut impl Read, bytes: &mut [u8]) -> io::Result<bool> {
    match source.read_exact(bytes) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

fn digest_head(payload: &[u8]) -> [u8; 8] {
    let digest = Sha256::digest(payload);
    let mut head = [0; 8];
    head.copy_from_slice(&digest[..8]);
    head
}

/// Refuses a file of the store's name that is no store.
fn refuse_foreign(file: &File, path: &Path) -> Result<(), RunError> {
    let mut first = Vec::new();
    let read = file.take(BEGIN.len() as u64).read_to_end(&mut first);
    read.map_err(RunError::file("read", path))?;
    if BEGIN.starts_with(&first) {
        return Ok(());
    }
    let message = format!("{} holds no verdicts; name another output", path.display());
    Err(RunError::Usage(message))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::header::ScorerIdentity;

    fn header(digest: &str) -> Header {
        let judge = ScorerIdentity { name: "math".to_owned(), digest: digest.to_owned() };
        Header::of("in", vec![judge], &serde_json::json!({}))
    }

    fn key_of(content: &str) -> VerdictKey {
        key(Sha256::new_with_prefix(content))
    }

    fn filled(path: &Path, contents: &[&str]) {
        let mut store = VerdictStore::open(path, &header("a"), false).expect("new");
        for content in contents {
            let payload = content.repeat(3);
            store.put(key_of(content), payload.as_bytes()).expect("room");
        }
    }

    /// Whether a reopened store has the verdicts of each content.
    fn there(path: &Path, contents: &[&str]) -> Vec<bool> {
        let store = VerdictStore::open(path, &header("a"), false).expect("a store");
        let found = store.snapshot();
        let is_there = |content: &&str| {
            let payload = found.get(&key_of(content)).expect("readable");
            payload.is_some_and(|payload| payload == content.repeat(3).into_bytes())
        };
        contents.iter().map(is_there).collect()
    }

    #[test]
    fn stored_payloads_are_found_after_reopening() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("verdicts");
        filled(&path, &["a", "", "b"]);
        assert_eq!(there(&path, &["a", "", "b", "c"]), [true, true, true, false]);
        filled(&path, &["c", "a"]);
        assert_eq!(there(&path, &["a", "", "b", "c"]), [true; 4]);
    }

    #[test]
    fn torn_record_is_ignored_wherever_it_is_torn() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("verdicts");
        filled(&path, &["first", "second"]);
        let whole = std::fs::read(&path).expect("written");
        let second = whole.len() - FRONT_BYTES - "second".len() * 3;
        for cut in 0..whole.len() {
            std::fs::write(&path, &whole[..cut]).expect("a file");
            let first = cut >= second;
            assert_eq!(there(&path, &["first", "second"]), [first, false], "{cut}");
            // A record that is written after the cut is found, too.
            filled(&path, &["third"]);
            assert_eq!(there(&path, &["first", "third"]), [first, true], "{cut}");
        }
    }

    #[test]
    fn damaged_record_ends_reading() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("verdicts");
        filled(&path, &["first", "second"]);
        let mut bytes = std::fs::read(&path).expect("written");
        *bytes.last_mut().expect("not empty") ^= 1;
        std::fs::write(&path, &bytes).expect("a file");
        assert_eq!(there(&path, &["first", "second"]), [true, false]);
    }

    #[test]
    fn store_of_another_run_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("verdicts");
        filled(&path, &["a"]);
        let refused = VerdictStore::open(&path, &header("b"), false).err();
        let message = refused.expect("another scorer").to_string();
        assert!(message.contains("--restart discards it"), "{message}");
        let fresh = VerdictStore::open(&path, &header("b"), true).expect("discarded");
        assert_eq!(fresh.len(), 0);
        let second = VerdictStore::open(&path, &header("b"), false).err();
        let message = second.expect("it is held").to_string();
        assert!(message.contains("another run"), "{message}");
        drop(fresh);
        std::fs::write(&path, "my notes").expect("a file");
        assert!(VerdictStore::open(&path, &header("b"), true).is_err());
        assert_eq!(std::fs::read(&path).expect("still there"), b"my notes");
    }
}
