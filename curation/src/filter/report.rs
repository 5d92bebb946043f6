//! Counts of a filter run.

use serde::Serialize;

use crate::histogram::Histogram;

/// Rows that one condition or decision dropped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DroppedRows {
    /// The condition or decision.
    pub condition: String,
    /// Reason, for a decision with several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<&'static str>,
    /// Number of rows, of those left by earlier steps; `None` if reading stopped at a limit.
    pub rows: Option<u64>,
    /// Number of groups dropped completely for this reason; `None` if rows are dropped one by one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub groups: Option<u64>,
}

/// Counts of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FilterReport {
    /// Number of rows read.
    pub read: u64,
    /// Number of unreadable rows.
    pub rejected: u64,
    /// Dropped rows by condition, in order.
    pub dropped: Vec<DroppedRows>,
    /// Number of rows written.
    pub written: u64,
    /// Near-duplicate removal, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub near: Option<NearReport>,
    /// Decision over groups, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub groups: Option<GroupReport>,
    /// Histograms of scores of the written rows.
    #[serde(skip)]
    pub histograms: Vec<Histogram>,
}

/// Counts of near-duplicate removal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NearReport {
    /// Number of compared texts.
    pub texts: u64,
    /// Number of rows without a text, which are kept.
    pub without_text: u64,
    /// Number of texts above the shingle limit, which are duplicates of equal texts only.
    pub too_long: u64,
    /// Bytes of memory used.
    pub memory_bytes: u64,
}

/// Counts of a decision over groups.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GroupReport {
    /// The operation in words.
    pub operation: String,
    /// Number of groups.
    pub groups: u64,
    /// Number of groups with rows left.
    pub kept: u64,
    /// Bytes of memory for keys and choices.
    pub memory_bytes: u64,
    /// Histogram of pass rates over all groups with a score.
    #[serde(skip)]
    pub rates: Option<Histogram>,
    /// Kept band of pass rates, ends included.
    #[serde(skip)]
    pub band: Option<(f64, f64)>,
}

impl DroppedRows {
    /// Rows that a step dropped one by one.
    pub(super) fn rows(condition: String, rows: Option<u64>) -> Self {
        Self { condition, why: None, rows, groups: None }
    }
}
