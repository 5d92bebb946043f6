//! Tests of journals and lines, and a disk that fails at any step.

mod journal;
mod lines;
mod store;

use std::io::{self, ErrorKind};
use std::sync::atomic::{AtomicUsize, Ordering};

use super::disk::{DiskStep, Faults};
use super::ids::{BatchId, FileId};
use super::record::{BatchCounts, BatchRecord, FilePurpose, FileRecord, MOST_SECONDS, Times};
use super::status::BatchStatus;
use crate::clock::unix_seconds;

/// Lets a number of steps pass, and then a number of steps fail.
#[derive(Debug)]
pub(crate) struct FaultPlan {
    passing: AtomicUsize,
    failing: usize,
    kind: ErrorKind,
    seen: AtomicUsize,
}

impl FaultPlan {
    pub(crate) fn new(passing: usize, failing: usize, kind: ErrorKind) -> FaultPlan {
        FaultPlan { passing: AtomicUsize::new(passing), failing, kind, seen: AtomicUsize::new(0) }
    }

    /// Lets `passing` more steps pass before the failing ones.
    pub(crate) fn fail_after(&self, passing: usize) {
        self.seen.store(0, Ordering::SeqCst);
        self.passing.store(passing, Ordering::SeqCst);
    }

    /// Returns whether a step has failed.
    pub(crate) fn tripped(&self) -> bool {
        self.seen.load(Ordering::SeqCst) > self.passing.load(Ordering::SeqCst)
    }
}

impl Faults for FaultPlan {
    fn before(&self, _step: DiskStep) -> io::Result<()> {
        let seen = self.seen.fetch_add(1, Ordering::SeqCst);
        let after = seen.checked_sub(self.passing.load(Ordering::SeqCst));
        let fails = after.is_some_and(|after| after < self.failing);
        if fails { Err(self.kind.into()) } else { Ok(()) }
    }
}

/// The record of a new, empty file.
pub(crate) fn file_of(owner: &str, place: u64) -> FileRecord {
    FileRecord {
        id: FileId::new().expect("randomness"),
        place,
        owner: owner.to_owned(),
        bytes: 0,
        created_at: unix_seconds(),
        expires_at: None,
        filename: "requests.jsonl".to_owned(),
        purpose: FilePurpose::Batch,
    }
}

/// The record of a new batch.
pub(crate) fn batch_of(owner: &str, place: u64, input: FileId) -> BatchRecord {
    BatchRecord {
        id: BatchId::new().expect("randomness"),
        place,
        owner: owner.to_owned(),
        endpoint: "/v1/score".to_owned(),
        input,
        metadata: None,
        keep_seconds: MOST_SECONDS,
        status: BatchStatus::Validating,
        created_at: unix_seconds(),
        times: Times::default(),
        faults: Vec::new(),
        counts: BatchCounts::default(),
        output: None,
        error: None,
    }
}
