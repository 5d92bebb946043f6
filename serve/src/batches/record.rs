//! What is kept about files and batches.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::ids::{BatchId, FileId};
use super::status::BatchStatus;

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
}

/// What a file is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FilePurpose {
    /// The requests of a batch.
    Batch,
    /// What came of them.
    BatchOutput,
}

/// How many requests there are of each fate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct BatchCounts {
    /// All of them.
    pub(crate) total: u32,
    /// Answered with success.
    pub(crate) completed: u32,
    /// Answered with an error.
    pub(crate) failed: u32,
}

/// What is wrong with a line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct BatchFault {
    /// The kind of fault.
    pub(crate) code: String,
    /// In a sentence.
    pub(crate) message: String,
    /// The field.
    pub(crate) param: Option<String>,
    /// The line, from 1.
    pub(crate) line: Option<u64>,
}
