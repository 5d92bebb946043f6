//! OpenAI's files and batches: `/v1/files` and `/v1/batches`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::map_only::object;

/// A form with a file, as `multipart/form-data`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FileUpload {
    /// The file: one request a line, each a JSON object.
    #[schema(format = Binary)]
    pub file: String,
    /// What it is for: `batch`.
    pub purpose: String,
    /// From when its life is counted: `created_at`.
    #[serde(rename = "expires_after[anchor]")]
    #[schema(required = false)]
    pub expires_after_anchor: String,
    /// Seconds of its life, an hour to 30 days; 30 days unless given.
    #[serde(rename = "expires_after[seconds]")]
    #[schema(required = false)]
    pub expires_after_seconds: u64,
}

/// A file that this server keeps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FileObject {
    /// By this it is asked for.
    pub id: String,
    /// Always `file`.
    pub object: String,
    /// Its size.
    pub bytes: u64,
    /// Unix time in seconds.
    pub created_at: u64,
    /// Unix time in seconds after which it is gone; null where it stays until it is deleted.
    pub expires_at: Option<u64>,
    /// The name that its sender gave it.
    pub filename: String,
    /// What it is for.
    pub purpose: FilePurpose,
    /// Always `processed`: there is nothing to wait for.
    pub status: FileStatus,
    /// Always null.
    #[schema(value_type = Option<String>)]
    pub status_details: Option<String>,
}

/// What a file is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum FilePurpose {
    /// The requests of a batch.
    Batch,
    /// What came of them.
    BatchOutput,
}

/// How far a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum FileStatus {
    /// It can be used.
    Processed,
}

/// Files, a page of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FileList {
    /// Always `list`.
    pub object: String,
    /// The files.
    pub data: Vec<FileObject>,
    /// The id of the first.
    pub first_id: Option<String>,
    /// The id of the last, from which the next page goes on.
    pub last_id: Option<String>,
    /// Whether there are more.
    pub has_more: bool,
}

/// A file that is no more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FileDeleted {
    /// By this it was asked for.
    pub id: String,
    /// Always `file`.
    pub object: String,
    /// Always true.
    pub deleted: bool,
}

/// A file of requests to be answered when there is time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
pub struct BatchRequest {
    /// A file of purpose `batch`.
    pub input_file_id: String,
    /// The route that all its lines name.
    #[schema(example = "/v1/score")]
    pub endpoint: String,
    /// Always `24h`: what is not answered by then is not answered.
    #[schema(example = "24h")]
    pub completion_window: String,
    /// At most 16 texts of at most 512 characters, by names of at most 64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<BTreeMap<String, String>>,
    /// How long the files that come of it are kept; 30 days unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_expires_after: Option<ExpiresAfter>,
}

object!(BatchRequest);

/// The end of a file's life.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
pub struct ExpiresAfter {
    /// Always `created_at`: the file's own.
    pub anchor: String,
    /// An hour to 30 days.
    #[schema(minimum = 3600, maximum = 2_592_000)]
    pub seconds: u64,
}

object!(ExpiresAfter);

/// A batch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BatchObject {
    /// By this it is asked for.
    pub id: String,
    /// Always `batch`.
    pub object: String,
    /// The route that all its lines name.
    pub endpoint: String,
    /// Why it failed; null unless it did.
    pub errors: Option<BatchErrors>,
    /// The file of its requests.
    pub input_file_id: String,
    /// Always `24h`.
    pub completion_window: String,
    /// How far it is.
    pub status: BatchStatus,
    /// The answers, in the order of the requests; null until there is one, and where there is none.
    pub output_file_id: Option<String>,
    /// What came of requests that were refused, failed, or were not reached.
    pub error_file_id: Option<String>,
    /// Unix time in seconds, like those that follow.
    pub created_at: u64,
    /// When its first request was sent.
    pub in_progress_at: Option<u64>,
    /// When the rest is given up.
    pub expires_at: Option<u64>,
    /// When there was nothing left to send.
    pub finalizing_at: Option<u64>,
    /// When all was answered.
    pub completed_at: Option<u64>,
    /// When its file was found to be unusable.
    pub failed_at: Option<u64>,
    /// When its time was over.
    pub expired_at: Option<u64>,
    /// When somebody asked for its end.
    pub cancelling_at: Option<u64>,
    /// When it had ended.
    pub cancelled_at: Option<u64>,
    /// How many requests there are, and how many were answered.
    pub request_counts: BatchCounts,
    /// What its sender attached to it.
    pub metadata: Option<BTreeMap<String, String>>,
}

/// How far a batch is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum BatchStatus {
    /// Its file is read.
    Validating,
    /// Its file cannot be used.
    Failed,
    /// Its requests are sent.
    InProgress,
    /// Its files are written.
    Finalizing,
    /// All was answered.
    Completed,
    /// Its time was over before all was answered.
    Expired,
    /// Somebody asked for its end.
    Cancelling,
    /// It was ended.
    Cancelled,
}

/// How many requests there are of each fate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BatchCounts {
    /// All of them.
    pub total: u32,
    /// Answered with success.
    pub completed: u32,
    /// Answered with an error.
    pub failed: u32,
}

/// What is wrong with a file of requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BatchErrors {
    /// Always `list`.
    pub object: String,
    /// The first of them.
    pub data: Vec<BatchFault>,
}

/// What is wrong with a line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BatchFault {
    /// The kind of fault.
    pub code: String,
    /// In a sentence.
    pub message: String,
    /// The field.
    pub param: Option<String>,
    /// The line, from 1.
    pub line: Option<u64>,
}

/// Batches, a page of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BatchList {
    /// Always `list`.
    pub object: String,
    /// The batches, newest first.
    pub data: Vec<BatchObject>,
    /// The id of the first.
    pub first_id: Option<String>,
    /// The id of the last, from which the next page goes on.
    pub last_id: Option<String>,
    /// Whether there are more.
    pub has_more: bool,
}
