//! Tests of the journal: complete entries survive, incomplete ones are discarded.

use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::Arc;

use proptest::prelude::*;
use tempfile::TempDir;

use super::FaultPlan;
use crate::batches::disk::{Disk, Faults, NoFaults};
use crate::batches::ids::{BatchId, ProcessId};
use crate::batches::journal::{Journal, JournalEvent, JournalRecord, LineOutcome};

struct RecordSpan {
    _folder: TempDir,
    disk: Arc<Disk>,
    path: PathBuf,
}

fn place_with(faults: Arc<dyn Faults>, quota: u64) -> RecordSpan {
    let folder = tempfile::tempdir().expect("a folder");
    let disk = Disk::open(folder.path(), quota, faults).expect("it is usable");
    let path = disk.journal(&BatchId::new().expect("randomness"));
    RecordSpan { _folder: folder, disk: Arc::new(disk), path }
}

fn place() -> RecordSpan {
    place_with(Arc::new(NoFaults), 0)
}

impl RecordSpan {
    fn open(&self) -> Journal {
        Journal::open(&self.disk, &self.path).expect("it can be read")
    }
}

fn entry(line: u32) -> JournalRecord {
    let outcome = if line.is_multiple_of(3) { LineOutcome::Failed } else { LineOutcome::Succeeded };
    let text = format!("{{\"line\":{line}}}").repeat(1 + line as usize % 4);
    JournalRecord { line, outcome, text: text.into_bytes() }
}

fn ended(records: impl IntoIterator<Item = JournalRecord>) -> Vec<JournalEvent> {
    records.into_iter().map(JournalEvent::Ended).collect()
}

fn lines(journal: &Journal) -> Vec<u32> {
    (0..100).filter(|line| journal.has(*line)).collect()
}

#[test]
fn entries_survive_reopening() {
    let place = place();
    let mut journal = place.open();
    journal.append(&ended([entry(7), entry(3)])).expect("room");
    journal.append(&ended([entry(1)])).expect("room");
    for journal in [journal, place.open()] {
        assert_eq!(lines(&journal), [1, 3, 7]);
        for line in [1, 3, 7] {
            assert_eq!(journal.entry(line).expect("readable"), Some(entry(line)));
        }
        assert_eq!(journal.entry(2).expect("readable"), None);
        assert_eq!(
            (journal.count(LineOutcome::Succeeded), journal.count(LineOutcome::Failed)),
            (2, 1)
        );
    }
    let length = fs::metadata(&place.path).expect("it is there").len();
    assert_eq!(place.disk.used(), length, "every byte is counted");
}

#[test]
fn line_has_at_most_one_entry() {
    let place = place();
    let mut journal = place.open();
    let other = JournalRecord { text: b"another answer".to_vec(), ..entry(4) };
    journal.append(&ended([entry(4), other.clone()])).expect("room");
    journal.append(&ended([other])).expect("room");
    for journal in [journal, place.open()] {
        assert_eq!(journal.entry(4).expect("readable"), Some(entry(4)));
    }
}

#[test]
fn attempts_stay_until_the_outcome() {
    let place = place();
    let mut journal = place.open();
    let begun = [JournalEvent::Begun(1), JournalEvent::Begun(2), JournalEvent::Begun(1)];
    journal.append(&begun).expect("room");
    for journal in [&journal, &place.open()] {
        for line in [1, 2] {
            let attempts: Vec<ProcessId> = journal.attempts(line).collect();
            assert_eq!(attempts, [place.disk.process], "line {line}");
        }
        assert_eq!(journal.attempts(3).count(), 0);
        assert_eq!(lines(journal), [0_u32; 0], "an attempt is no outcome");
    }
    journal.append(&ended([entry(2)])).expect("room");
    journal.append(&[JournalEvent::Begun(2)]).expect("room");
    for journal in [&journal, &place.open()] {
        assert_eq!(journal.attempts(2).count(), 0, "it has its outcome");
        assert_eq!(journal.attempts(1).count(), 1);
        assert_eq!(lines(journal), [2]);
    }
}

/// A journal that ends anywhere has the entries that are whole, and takes the others again.
#[test]
fn torn_tail_is_truncated() {
    let place = place();
    let all: Vec<JournalRecord> = (1..5).map(entry).collect();
    let mut ends = vec![0];
    let mut journal = place.open();
    for one in &all {
        journal.append(&ended([one.clone()])).expect("room");
        ends.push(fs::metadata(&place.path).expect("there").len());
    }
    drop(journal);
    let whole = fs::read(&place.path).expect("readable");
    for length in 0..=whole.len() {
        fs::write(&place.path, &whole[..length]).expect("writable");
        let mut journal = place.open();
        let expected = ends.iter().filter(|end| **end <= length as u64).count() - 1;
        assert_eq!(lines(&journal).len(), expected, "cut at {length}");
        journal.append(&ended(all.clone())).expect("room");
        drop(journal);
        let journal = place.open();
        for one in &all {
            let found = journal.entry(one.line).expect("readable");
            assert_eq!(found.as_ref(), Some(one), "cut at {length}");
        }
    }
}

#[test]
fn changed_byte_is_detected() {
    let place = place();
    let mut journal = place.open();
    journal.append(&ended([entry(1), entry(2)])).expect("room");
    drop(journal);
    let whole = fs::read(&place.path).expect("readable");
    let first = 17 + entry(1).text.len();
    for at in 0..whole.len() {
        let mut changed = whole.clone();
        changed[at] ^= 0x20;
        fs::write(&place.path, changed).expect("writable");
        let expected: &[u32] = if at < first { &[] } else { &[1] };
        assert_eq!(lines(&place.open()), expected, "byte {at}");
    }
}

#[test]
fn failed_append_can_be_repeated() {
    for kind in [ErrorKind::StorageFull, ErrorKind::ReadOnlyFilesystem] {
        // The first write and the first sync fail.
        for passing in [0, 1, 2, 3] {
            let plan = FaultPlan::new(passing, 2, kind);
            let place = place_with(Arc::new(plan), 0);
            let mut journal = place.open();
            for one in (1..6).map(entry) {
                while let Err(error) = journal.append(&ended([one.clone()])) {
                    assert_eq!(error.kind(), kind);
                    assert!(!journal.has(one.line));
                }
            }
            assert_eq!(lines(&journal), [1, 2, 3, 4, 5]);
            assert_eq!(lines(&place.open()), [1, 2, 3, 4, 5]);
        }
    }
}

#[test]
fn append_beyond_the_quota_fails() {
    let place = place_with(Arc::new(NoFaults), 60);
    let mut journal = place.open();
    journal.append(&ended([entry(4)])).expect("room");
    let refused = journal.append(&ended([entry(3)])).expect_err("no room");
    assert_eq!(refused.kind(), ErrorKind::StorageFull);
    assert_eq!(lines(&place.open()), [4]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Entries in any portions, with a crash after any byte of any portion: every line has exactly
    /// one entry in the end, its first complete one.
    #[test]
    fn faults_at_any_step_keep_each_line_once(
        pieces in prop::collection::vec((prop::collection::vec(1_u32..12, 1..5), 0.0..1.5_f64), 1..8),
    ) {
        let place = place();
        for (given, kept) in pieces {
            let mut journal = place.open();
            // Without the torn tail.
            let before = fs::metadata(&place.path).expect("there").len();
            let entries: Vec<JournalRecord> = given.iter().copied().map(entry).collect();
            journal.append(&ended(entries)).expect("room");
            drop(journal);
            let after = fs::metadata(&place.path).expect("there").len();
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss,
                     clippy::cast_precision_loss, reason = "a share of a few bytes")]
            let cut = before + ((after - before) as f64 * kept.min(1.0)) as u64;
            let file = fs::OpenOptions::new().write(true).open(&place.path).expect("there");
            file.set_len(cut).expect("it can be cut");
        }
        let mut journal = place.open();
        let all: Vec<JournalRecord> = (1..12).map(entry).collect();
        journal.append(&ended(all.clone())).expect("room");
        let expected: Vec<u32> = (1..12).collect();
        prop_assert_eq!(lines(&place.open()), expected);
        for one in &all {
            let found = place.open().entry(one.line).expect("readable");
            prop_assert_eq!(found.as_ref(), Some(one));
        }
    }
}
