//! Records of files and batches.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::ids::{BatchId, FileId};
use super::status::BatchStatus;

/// The completion window, one day: the only one offered.
pub(crate) const WINDOW_SECONDS: u64 = 24 * 60 * 60;

/// The wire name of the completion window.
pub(crate) const WINDOW: &str = "24h";

/// Default and longest lifetime of a file: 30 days.
pub(crate) const MOST_SECONDS: u64 = 30 * 24 * 60 * 60;

/// Shortest lifetime of a file: an hour.
pub(crate) const LEAST_SECONDS: u64 = 60 * 60;

/// A file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileRecord {
    pub(crate) id: FileId,
    /// Sequence number among all files and batches, in order of creation.
    pub(crate) place: u64,
    pub(crate) owner: String,
    pub(crate) bytes: u64,
    pub(crate) created_at: u64,
    pub(crate) expires_at: Option<u64>,
    pub(crate) filename: String,
    pub(crate) purpose: FilePurpose,
}

impl FileRecord {
    /// Returns whether the file has expired.
    pub(crate) fn is_expired(&self, now: u64) -> bool {
        self.expires_at.is_some_and(|end| end <= now)
    }
}

/// A batch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BatchRecord {
    pub(crate) id: BatchId,
    /// Sequence number among all files and batches, in order of creation.
    pub(crate) place: u64,
    pub(crate) owner: String,
    pub(crate) endpoint: String,
    pub(crate) input: FileId,
    pub(crate) metadata: Option<BTreeMap<String, String>>,
    /// Lifetime of the output files in seconds.
    pub(crate) keep_seconds: u64,
    pub(crate) status: BatchStatus,
    pub(crate) created_at: u64,
    pub(crate) times: Times,
    pub(crate) faults: Vec<BatchFault>,
    pub(crate) counts: BatchCounts,
    pub(crate) output: Option<FileId>,
    pub(crate) error: Option<FileId>,
}

/// Times at which a batch entered its states, in Unix seconds.
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
    /// Returns the time at which the batch expires, in Unix seconds.
    pub(crate) fn expires_at(&self) -> u64 {
        self.created_at.saturating_add(WINDOW_SECONDS)
    }

    /// Enters a state; entering the current state again keeps its time.
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

/// The purpose of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FilePurpose {
    /// Input of a batch.
    Batch,
    /// Output of a batch.
    BatchOutput,
}

/// Numbers of requests, by result.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct BatchCounts {
    /// All requests.
    pub(crate) total: u32,
    /// Requests answered with success.
    pub(crate) completed: u32,
    /// Requests answered with an error.
    pub(crate) failed: u32,
}

/// A fault of an input file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct BatchFault {
    /// Error code.
    pub(crate) code: String,
    /// Message.
    pub(crate) message: String,
    /// The field.
    pub(crate) param: Option<String>,
    /// Line number, from 1.
    pub(crate) line: Option<u64>,
}
