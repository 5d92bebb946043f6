//! What became of the rows of a run.

use serde::Serialize;

use crate::histogram::Histogram;

/// Rows that one condition dropped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DroppedRows {
    /// The condition as it was written, or what was decided.
    pub condition: String,
    /// Why, where a decision has several reasons to drop rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<&'static str>,
    /// Rows that it dropped, of those that the ones before it left. Not known where reading stopped
    /// because there was enough.
    pub rows: Option<u64>,
    /// Groups of which nothing is left for this reason; `None` for what is not about whole groups.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub groups: Option<u64>,
}

/// What became of the rows.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FilterReport {
    /// Rows that were read.
    pub read: u64,
    /// Rows that could not be read.
    pub rejected: u64,
    /// What each condition dropped, in their order.
    pub dropped: Vec<DroppedRows>,
    /// Rows that were written.
    pub written: u64,
    /// What is known of near-duplicates, where they were looked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub near: Option<NearReport>,
    /// What is known of groups, where there were any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub groups: Option<GroupReport>,
    /// How scores are spread over the rows that were written.
    #[serde(skip)]
    pub histograms: Vec<Histogram>,
}

/// How near-duplicates were looked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NearReport {
    /// Texts that were held against each other.
    pub texts: u64,
    /// Rows without a text, which stay.
    pub without_text: u64,
    /// Texts with more shingles than are compared; only equal ones are duplicates of them.
    pub too_long: u64,
    /// Memory that it took.
    pub memory_bytes: u64,
}

/// What the groups were.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GroupReport {
    /// What was done, in words.
    pub operation: String,
    /// Groups.
    pub groups: u64,
    /// Groups of which something is left.
    pub kept: u64,
    /// Memory that their keys and the choices took.
    pub memory_bytes: u64,
    /// How pass rates are spread over all groups with a score.
    #[serde(skip)]
    pub rates: Option<Histogram>,
    /// The band of pass rates that is kept, ends included.
    #[serde(skip)]
    pub band: Option<(f64, f64)>,
}

impl DroppedRows {
    /// Rows that a step dropped one by one.
    pub(super) fn rows(condition: String, rows: Option<u64>) -> Self {
        Self { condition, why: None, rows, groups: None }
    }
}
