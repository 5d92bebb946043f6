//! What is kept about files and batches.

use std::collections::BTreeMap;

use openapi::{BatchCounts, BatchErrors, BatchFault, BatchObject, BatchStatus, FileObject};
use openapi::{FilePurpose, FileStatus};
use serde::{Deserialize, Serialize};

use super::ids::{BatchId, FileId};

/// The only window that there is: a day.
pub(crate) const WINDOW_SECONDS: u64 = 24 * 60 * 60;

/// What the window is called.
pub(crate) const WINDOW: &str = "24h";

/// How long files are kept unless somebody says: 30 days, which is the most.
pub(crate) const MOST_SECONDS: u64 = 30 * 24 * 60 * 60;

/// The shortest life of a file: an hour.
pub(crate) const LEAST_SECONDS: u64 = 60 * 60;

/// A file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileRecord {
    pub(crate) id: FileId,
    /// Its place among all files and batches, in the order in which they came.
    pub(crate) place: u64,
    pub(crate) owner: String,
    pub(crate) bytes: u64,
    pub(crate) created_at: u64,
    pub(crate) expires_at: Option<u64>,
    pub(crate) filename: String,
    pub(crate) purpose: FilePurpose,
}

impl FileRecord {
    /// Whether its life is over.
    pub(crate) fn is_expired(&self, now: u64) -> bool {
        self.expires_at.is_some_and(|end| end <= now)
    }

    /// As clients see it.
    pub(crate) fn wire(self) -> FileObject {
        FileObject {
            id: self.id.as_str().to_owned(),
            object: "file".to_owned(),
            bytes: self.bytes,
            created_at: self.created_at,
            expires_at: self.expires_at,
            filename: self.filename,
            purpose: self.purpose,
            status: FileStatus::Processed,
            status_details: None,
        }
    }
}

/// A batch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BatchRecord {
    pub(crate) id: BatchId,
    /// Its place among all files and batches, in the order in which they came.
    pub(crate) place: u64,
    pub(crate) owner: String,
    pub(crate) endpoint: String,
    pub(crate) input: FileId,
    pub(crate) metadata: Option<BTreeMap<String, String>>,
    /// Seconds for which its files are kept.
    pub(crate) keep_seconds: u64,
    pub(crate) status: BatchStatus,
    pub(crate) created_at: u64,
    pub(crate) times: Times,
    pub(crate) faults: Vec<BatchFault>,
    pub(crate) counts: BatchCounts,
    pub(crate) output: Option<FileId>,
    pub(crate) error: Option<FileId>,
}

/// When a batch entered its states, as Unix time in seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Times {
    pub(crate) in_progress: Option<u64>,
    pub(crate) finalizing: Option<u64>,
    pub(crate) completed: Option<u64>,
    pub(crate) failed: Option<u64>,
    pub(crate) expired: Option<u64>,
    pub(crate) cancelling: Option<u64>,
    pub(crate) cancelled: Option<u64>,
}

impl BatchRecord {
    /// When the rest is given up, as Unix time in seconds.
    pub(crate) fn expires_at(&self) -> u64 {
        self.created_at.saturating_add(WINDOW_SECONDS)
    }

    /// Enters a state. One that it is in already was entered when it was.
    pub(crate) fn enter(&mut self, status: BatchStatus, now: u64) {
        self.status = status;
        let times = &mut self.times;
        let time = match status {
            BatchStatus::Validating => return,
            BatchStatus::InProgress => &mut times.in_progress,
            BatchStatus::Finalizing => &mut times.finalizing,
            BatchStatus::Completed => &mut times.completed,
            BatchStatus::Failed => &mut times.failed,
            BatchStatus::Expired => &mut times.expired,
            BatchStatus::Cancelling => &mut times.cancelling,
            BatchStatus::Cancelled => &mut times.cancelled,
        };
        time.get_or_insert(now);
    }

    /// As clients see it.
    pub(crate) fn wire(self) -> BatchObject {
        let text = |id: &FileId| id.as_str().to_owned();
        BatchObject {
            id: self.id.as_str().to_owned(),
            object: "batch".to_owned(),
            expires_at: Some(self.expires_at()),
            input_file_id: text(&self.input),
            output_file_id: self.output.as_ref().map(text),
            error_file_id: self.error.as_ref().map(text),
            errors: (!self.faults.is_empty())
                .then(|| BatchErrors { object: "list".to_owned(), data: self.faults }),
            endpoint: self.endpoint,
            completion_window: WINDOW.to_owned(),
            status: self.status,
            created_at: self.created_at,
            in_progress_at: self.times.in_progress,
            finalizing_at: self.times.finalizing,
            completed_at: self.times.completed,
            failed_at: self.times.failed,
            expired_at: self.times.expired,
            cancelling_at: self.times.cancelling,
            cancelled_at: self.times.cancelled,
            request_counts: self.counts,
            metadata: self.metadata,
        }
    }
}
