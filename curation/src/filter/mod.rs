//! Which rows of a dataset stay, in which order, and with which columns.
//!
//! [`FilterPlan::new`] checks everything that can be wrong with the question; [`FilterPlan::run`] answers it:
//! conditions, then duplicates, then groups, then the sample, the order and the limit. Near-duplicates
//! and groups take a pass over the rows each to decide, and what they need of them alone is read
//! for it; everything else is done in the last pass. Rows stay in their order unless another is
//! asked for, and the same input gives the same output.

mod columns;
mod dedupe;
mod grouping;
mod kept_rows;
mod near_duplicates;
mod pass;
mod plan;
mod report;
mod row_order;
mod sorting;
mod sql_query;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use serde::Serialize;

pub use self::grouping::{ComparisonColumns, GroupOperation, GroupOptions};
pub use self::plan::FilterPlan;
pub use self::report::{DroppedRows, FilterReport, GroupReport, NearReport};
use datasets::Result;
use datasets::source::Reject;

/// Memory for sorting and grouping that suits most machines.
pub const MEMORY_BYTES: usize = 256 << 20;

/// The least similarity from which texts can be called near-duplicates: below it, signatures of 128
/// permutations miss too many.
pub const LEAST_SIMILARITY: f64 = 0.05;

/// What is asked.
#[derive(Debug, Clone, Default, Serialize)]
pub struct FilterOptions {
    /// Conditions that a row must meet, all of them.
    pub wheres: Vec<String>,
    /// Columns and expressions to write; all columns if not set.
    pub select: Option<String>,
    /// How rows are ordered; as they were if not set.
    pub order_by: Option<String>,
    /// Rows to keep from the top of the order.
    pub top_k: Option<u64>,
    /// Rows to keep from the beginning.
    pub limit: Option<u64>,
    /// Rows to draw, each with the same chance.
    pub sample: Option<u64>,
    /// What draws, and choices between equals, follow from.
    pub seed: u64,
    /// Which rows are dropped because of earlier ones.
    pub dedupe: Option<Dedupe>,
    /// What is decided over groups of rows.
    pub group: Option<GroupOptions>,
    /// A whole query, in place of everything above.
    pub sql: Option<String>,
}

/// Which rows are dropped because of earlier ones.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Dedupe {
    /// Those that are equal to an earlier one.
    Exact {
        /// In these columns; in all of them if there are none.
        by: Vec<String>,
    },
    /// Those whose texts are near those of an earlier one.
    Near {
        /// The columns of text.
        by: Vec<String>,
        /// Jaccard similarity of their shingles from which they are.
        similarity: f64,
        /// Words in a shingle.
        words: usize,
    },
}

/// What a run may use.
#[derive(Debug, Clone)]
pub struct FilterResources {
    /// Threads that read.
    pub threads: usize,
    /// Memory for sorting and grouping; more goes to files.
    pub memory_bytes: usize,
    /// Memory for what is known of texts that near-duplicates are held against; `None` for no bound.
    pub texts_bytes: Option<usize>,
    /// Where rows go that memory has no room for. The folder need not be there.
    pub spill: PathBuf,
}

/// Where a run puts the rows that it keeps.
pub trait RowSink {
    /// The columns of the rows that follow, once, before them and before any reject.
    ///
    /// # Errors
    /// What the receiver cannot do; it ends the run.
    fn begin(&mut self, schema: &SchemaRef) -> Result<()>;

    /// Some rows.
    ///
    /// # Errors
    /// What the receiver cannot do; it ends the run.
    fn rows(&mut self, batch: &RecordBatch) -> Result<()>;
}

/// Takes each row that cannot be read when it is met, on the thread that meets it. An error ends
/// the run.
pub type RejectSink = Box<dyn FnMut(&Reject) -> Result<()> + Send>;

impl FilterOptions {
    /// The columns in which equal rows are looked for, where they are.
    fn exact(&self) -> Option<&[String]> {
        match &self.dedupe {
            Some(Dedupe::Exact { by }) => Some(by),
            Some(Dedupe::Near { .. }) | None => None,
        }
    }
}
