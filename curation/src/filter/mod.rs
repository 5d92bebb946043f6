//! Filtering of a dataset: conditions, duplicates, groups, sample, order and limit.
//!
//! [`FilterPlan::new`] checks the options against the schema; [`FilterPlan::run`] runs the steps.
//! Near-duplicates and groups take a pass each, which reads only the columns that they need; the last
//! pass does everything else. Rows keep their order unless another is given, and the output is
//! deterministic.

mod columns;
mod dedupe;
mod grouping;
mod kept_rows;
mod near_duplicates;
mod pass;
mod plan;
mod report;
mod row_order;
mod sql_query;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard};

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use serde::Serialize;

pub use self::grouping::{ComparisonColumns, GroupOperation, GroupOptions};
pub use self::plan::FilterPlan;
pub use self::report::{DroppedRows, FilterReport, GroupReport, NearReport};
use datasets::Result;
use datasets::source::Reject;

/// Default memory for sorting and grouping, in bytes.
pub const MEMORY_BYTES: usize = 256 << 20;

/// Minimum similarity of near-duplicates: below it, signatures of 128 permutations miss too many.
pub const LEAST_SIMILARITY: f64 = 0.05;

/// Steps of a filter run.
#[derive(Debug, Clone, Default, Serialize)]
pub struct FilterOptions {
    /// Conditions that a row must meet, all of them.
    pub wheres: Vec<String>,
    /// Columns and expressions to write; `None` for all columns.
    pub select: Option<String>,
    /// ORDER BY list; `None` keeps the order.
    pub order_by: Option<String>,
    /// Number of first rows to keep after ordering.
    pub top_k: Option<u64>,
    /// Maximum number of rows.
    pub limit: Option<u64>,
    /// Number of rows to sample uniformly.
    pub sample: Option<u64>,
    /// Seed of samples and of choices between equals.
    pub seed: u64,
    /// Removal of duplicates.
    pub dedupe: Option<Dedupe>,
    /// Decision over groups of rows.
    pub group: Option<GroupOptions>,
    /// A SELECT that replaces all other steps.
    pub sql: Option<String>,
}

/// Removal of duplicates of earlier rows.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Dedupe {
    /// Equal rows.
    Exact {
        /// Compared columns; empty for all.
        by: Vec<String>,
    },
    /// Rows with near-duplicate texts.
    Near {
        /// Text columns.
        by: Vec<String>,
        /// Jaccard similarity of shingles from which texts are duplicates.
        similarity: f64,
        /// Number of words in a shingle.
        words: usize,
    },
}

/// Threads, memory and disk of a run.
#[derive(Debug, Clone)]
pub struct FilterResources {
    /// Number of reader threads.
    pub threads: usize,
    /// Bytes of memory for sorting and grouping; more is spilled.
    pub memory_bytes: usize,
    /// Maximum bytes of the near-duplicate index; `None` for no limit.
    pub texts_bytes: Option<usize>,
    /// Folder for spilled rows; created if missing.
    pub spill: PathBuf,
}

/// Receives the rows of a run.
pub trait RowSink {
    /// Called once with the schema, before any row or reject.
    ///
    /// # Errors
    /// Any error ends the run.
    fn begin(&mut self, schema: &SchemaRef) -> Result<()>;

    /// Called with each batch of rows.
    ///
    /// # Errors
    /// Any error ends the run.
    fn rows(&mut self, batch: &RecordBatch) -> Result<()>;
}

/// Callback for rows that cannot be read, on the thread that reads them. An error ends the run.
pub type RejectSink = Box<dyn FnMut(&Reject) -> Result<()> + Send>;

impl FilterOptions {
    /// Columns of exact deduplication; `None` without it.
    fn exact(&self) -> Option<&[String]> {
        match &self.dedupe {
            Some(Dedupe::Exact { by }) => Some(by),
            Some(Dedupe::Near { .. }) | None => None,
        }
    }
}

/// Locks state shared by the passes of one run.
fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("one thread takes it, never twice at a time")
}
