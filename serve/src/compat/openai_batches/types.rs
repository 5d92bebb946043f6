//! OpenAI's files and batches: `/v1/files` and `/v1/batches`.

use std::collections::BTreeMap;

use openapi::object;

use crate::batches::record::{BatchCounts, BatchFault, FilePurpose};
use crate::batches::status::BatchStatus;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A form with a file, as `multipart/form-data`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct FileUpload {
    /// The file: one request a line, each a JSON object.
    #[schema(format = Binary)]
    pub(crate) file: String,
    /// What it is for: `batch`.
    pub(crate) purpose: String,
    /// From when its life is counted: `created_at`.
    #[serde(rename = "expires_after[anchor]")]
    #[schema(required = false)]
    pub(crate) expires_after_anchor: String,
    /// Seconds of its life, an hour to 30 days; 30 days unless given.
    #[serde(rename = "expires_after[seconds]")]
    #[schema(required = false)]
    pub(crate) expires_after_seconds: u64,
}

/// A file that this server keeps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct FileObject {
    /// By this it is asked for.
    pub(crate) id: String,
    /// Always `file`.
    pub(crate) object: String,
    /// Its size.
    pub(crate) bytes: u64,
    /// Unix time in seconds.
    pub(crate) created_at: u64,
    /// Unix time in seconds after which it is gone; null where it stays until it is deleted.
    pub(crate) expires_at: Option<u64>,
    /// The name that its sender gave it.
    pub(crate) filename: String,
    /// What it is for.
    pub(crate) purpose: FilePurpose,
    /// Always `processed`: there is nothing to wait for.
    pub(crate) status: FileStatus,
    /// Always null.
    #[schema(value_type = Option<String>)]
    pub(crate) status_details: Option<String>,
}

/// How far a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FileStatus {
    /// It can be used.
    Processed,
}

/// Files, a page of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct FileList {
    /// Always `list`.
    pub(crate) object: String,
    /// The files.
    pub(crate) data: Vec<FileObject>,
    /// The id of the first.
    pub(crate) first_id: Option<String>,
    /// The id of the last, from which the next page goes on.
    pub(crate) last_id: Option<String>,
    /// Whether there are more.
    pub(crate) has_more: bool,
}

/// A file that is no more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct FileDeleted {
    /// By this it was asked for.
    pub(crate) id: String,
    /// Always `file`.
    pub(crate) object: String,
    /// Always true.
    pub(crate) deleted: bool,
}

/// A file of requests to be answered when there is time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
pub(crate) struct BatchRequest {
    /// A file of purpose `batch`.
    pub(crate) input_file_id: String,
    /// The route that all its lines name.
    #[schema(example = "/v1/score")]
    pub(crate) endpoint: String,
    /// Always `24h`: what is not answered by then is not answered.
    #[schema(example = "24h")]
    pub(crate) completion_window: String,
    /// At most 16 texts of at most 512 characters, by names of at most 64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) metadata: Option<BTreeMap<String, String>>,
    /// How long the files that come of it are kept; 30 days unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) output_expires_after: Option<ExpiresAfter>,
}

object!(BatchRequest);

/// The end of a file's life.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
pub(crate) struct ExpiresAfter {
    /// Always `created_at`: the file's own.
    pub(crate) anchor: String,
    /// An hour to 30 days.
    #[schema(minimum = 3600, maximum = 2_592_000)]
    pub(crate) seconds: u64,
}

object!(ExpiresAfter);

/// A batch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct BatchObject {
    /// By this it is asked for.
    pub(crate) id: String,
    /// Always `batch`.
    pub(crate) object: String,
    /// The route that all its lines name.
    pub(crate) endpoint: String,
    /// Why it failed; null unless it did.
    pub(crate) errors: Option<BatchErrors>,
    /// The file of its requests.
    pub(crate) input_file_id: String,
    /// Always `24h`.
    pub(crate) completion_window: String,
    /// How far it is.
    pub(crate) status: BatchStatus,
    /// The answers, in the order of the requests; null until there is one, and where there is none.
    pub(crate) output_file_id: Option<String>,
    /// What came of requests that were refused, failed, or were not reached.
    pub(crate) error_file_id: Option<String>,
    /// Unix time in seconds, like those that follow.
    pub(crate) created_at: u64,
    /// When its first request was sent.
    pub(crate) in_progress_at: Option<u64>,
    /// When the rest is given up.
    pub(crate) expires_at: Option<u64>,
    /// When there was nothing left to send.
    pub(crate) finalizing_at: Option<u64>,
    /// When all was answered.
    pub(crate) completed_at: Option<u64>,
    /// When its file was found to be unusable.
    pub(crate) failed_at: Option<u64>,
    /// When its time was over.
    pub(crate) expired_at: Option<u64>,
    /// When somebody asked for its end.
    pub(crate) cancelling_at: Option<u64>,
    /// When it had ended.
    pub(crate) cancelled_at: Option<u64>,
    /// How many requests there are, and how many were answered.
    pub(crate) request_counts: BatchCounts,
    /// What its sender attached to it.
    pub(crate) metadata: Option<BTreeMap<String, String>>,
}

/// What is wrong with a file of requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct BatchErrors {
    /// Always `list`.
    pub(crate) object: String,
    /// The first of them.
    pub(crate) data: Vec<BatchFault>,
}

/// Batches, a page of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct BatchList {
    /// Always `list`.
    pub(crate) object: String,
    /// The batches, newest first.
    pub(crate) data: Vec<BatchObject>,
    /// The id of the first.
    pub(crate) first_id: Option<String>,
    /// The id of the last, from which the next page goes on.
    pub(crate) last_id: Option<String>,
    /// Whether there are more.
    pub(crate) has_more: bool,
}
