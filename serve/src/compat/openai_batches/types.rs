//! OpenAI's files and batches: `/v1/files` and `/v1/batches`.

use std::collections::BTreeMap;

use openapi::object;

use crate::batches::record::{BatchCounts, BatchFault, FilePurpose};
use crate::batches::status::BatchStatus;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A file upload, as `multipart/form-data`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct FileUpload {
    /// The file: one JSON request per line.
    #[schema(format = Binary)]
    pub(crate) file: String,
    /// Purpose of the file: `batch`.
    #[schema(example = "batch")]
    pub(crate) purpose: String,
    /// Start of the lifetime: `created_at`.
    #[serde(rename = "expires_after[anchor]")]
    #[schema(required = false, example = "created_at")]
    pub(crate) expires_after_anchor: String,
    /// Lifetime in seconds, from an hour to 30 days; 30 days by default.
    #[serde(rename = "expires_after[seconds]")]
    #[schema(required = false, example = 86_400)]
    pub(crate) expires_after_seconds: u64,
}

/// A stored file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct FileObject {
    /// File id.
    pub(crate) id: String,
    /// Always `file`.
    pub(crate) object: String,
    /// Size in bytes.
    pub(crate) bytes: u64,
    /// Creation time in Unix seconds.
    pub(crate) created_at: u64,
    /// Expiry in Unix seconds; null if the file is kept until it is deleted.
    pub(crate) expires_at: Option<u64>,
    /// The client's file name.
    pub(crate) filename: String,
    /// Purpose of the file.
    pub(crate) purpose: FilePurpose,
    /// Always `processed`: files are ready at once.
    pub(crate) status: FileStatus,
    /// Always null.
    #[schema(value_type = Option<String>)]
    pub(crate) status_details: Option<String>,
}

/// The state of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FileStatus {
    /// Ready for use.
    Processed,
}

/// A page of files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct FileList {
    /// Always `list`.
    pub(crate) object: String,
    /// The files.
    pub(crate) data: Vec<FileObject>,
    /// Id of the first file.
    pub(crate) first_id: Option<String>,
    /// Id of the last file, to pass as `after` for the next page.
    pub(crate) last_id: Option<String>,
    /// Whether more files follow.
    pub(crate) has_more: bool,
}

/// Confirmation of a deleted file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct FileDeleted {
    /// File id.
    pub(crate) id: String,
    /// Always `file`.
    pub(crate) object: String,
    /// Always true.
    pub(crate) deleted: bool,
}

/// A batch to create.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
pub(crate) struct BatchRequest {
    /// Id of the input file, of purpose `batch`.
    pub(crate) input_file_id: String,
    /// The route of all its lines.
    #[schema(example = "/v1/score")]
    pub(crate) endpoint: String,
    /// Always `24h`; unanswered lines expire after it.
    #[schema(example = "24h")]
    pub(crate) completion_window: String,
    /// At most 16 values of at most 512 characters, by names of at most 64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) metadata: Option<BTreeMap<String, String>>,
    /// Lifetime of the output files; 30 days by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) output_expires_after: Option<ExpiresAfter>,
}

object!(BatchRequest);

/// The lifetime of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
pub(crate) struct ExpiresAfter {
    /// Always `created_at`: the creation of the file.
    pub(crate) anchor: String,
    /// Seconds, from an hour to 30 days.
    #[schema(minimum = 3600, maximum = 2_592_000)]
    pub(crate) seconds: u64,
}

object!(ExpiresAfter);

/// A batch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct BatchObject {
    /// Batch id.
    pub(crate) id: String,
    /// Always `batch`.
    pub(crate) object: String,
    /// The route of all its lines.
    pub(crate) endpoint: String,
    /// Faults of the input file; null unless validation failed.
    pub(crate) errors: Option<BatchErrors>,
    /// Id of the input file.
    pub(crate) input_file_id: String,
    /// Always `24h`.
    pub(crate) completion_window: String,
    /// State of the batch.
    pub(crate) status: BatchStatus,
    /// Id of the file of successful answers, in input order; null until it is written, or if there
    /// are none.
    pub(crate) output_file_id: Option<String>,
    /// Id of the file of lines that were refused, failed or were not reached.
    pub(crate) error_file_id: Option<String>,
    /// Creation time; all times are in Unix seconds.
    pub(crate) created_at: u64,
    /// Time of the first request.
    pub(crate) in_progress_at: Option<u64>,
    /// Expiry.
    pub(crate) expires_at: Option<u64>,
    /// Time when no requests were left to send.
    pub(crate) finalizing_at: Option<u64>,
    /// Time when all requests were answered.
    pub(crate) completed_at: Option<u64>,
    /// Time when validation failed.
    pub(crate) failed_at: Option<u64>,
    /// Time when the batch expired.
    pub(crate) expired_at: Option<u64>,
    /// Time when cancellation was requested.
    pub(crate) cancelling_at: Option<u64>,
    /// Time when cancellation was complete.
    pub(crate) cancelled_at: Option<u64>,
    /// Numbers of requests, by result.
    pub(crate) request_counts: BatchCounts,
    /// The client's metadata.
    pub(crate) metadata: Option<BTreeMap<String, String>>,
}

/// Faults of an input file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct BatchErrors {
    /// Always `list`.
    pub(crate) object: String,
    /// The first faults.
    pub(crate) data: Vec<BatchFault>,
}

/// A page of batches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct BatchList {
    /// Always `list`.
    pub(crate) object: String,
    /// The batches, newest first.
    pub(crate) data: Vec<BatchObject>,
    /// Id of the first batch.
    pub(crate) first_id: Option<String>,
    /// Id of the last batch, to pass as `after` for the next page.
    pub(crate) last_id: Option<String>,
    /// Whether more batches follow.
    pub(crate) has_more: bool,
}
