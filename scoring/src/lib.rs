//! Scores datasets: rows of JSON lines or tables through the scorers of this process or of a
//! server, in bounded memory, with runs that resume after an interruption.
//!
//! [`run`] is the entry: it resolves [`job::JobOptions`], reads rows in chunks, maps their columns
//! to inputs ([`mapping`]), scores them with a [`backend::Backend`] and writes them in order, as
//! lines that keep every other byte or as tables. Other commands over datasets share the parts:
//! backends, mapping, ordered workers ([`ordered`]), complete-or-absent files ([`files`]).
//!
//! This crate must not depend on the command line: no arguments, no exit codes.

pub mod backend;
pub mod counts;
pub mod dataset_output;
pub mod error;
pub mod files;
mod header;
pub mod job;
pub mod lines;
pub mod mapping;
pub mod merge;
pub mod ordered;
pub mod pairs;
mod prefetch;
pub mod progress;
mod rejects;
mod row_progress;
pub mod scorers;
pub mod selection;
mod signed_backend;
pub mod status_counts;
mod stored_backend;
pub mod summary;
mod tables;
mod target;
mod verdict_json;
mod verdict_store;

pub use crate::header::ScorerIdentity;
pub use crate::prefetch::score_all;
pub use crate::verdict_json::VerdictJson;

use crate::error::RunError;
use crate::job::{Job, JobOptions};
use crate::summary::ScoreSummary;

/// Scores the rows of a dataset and writes them with their verdicts.
///
/// # Errors
/// Options that do not fit each other or the inputs, a backend that cannot go on, and what the
/// system refuses. Rows that cannot be scored are rejected and counted, not errors.
pub fn run(options: JobOptions) -> Result<ScoreSummary, RunError> {
    let job = Job::resolve(options)?;
    if job.is_table() { tables::run(&job) } else { lines::run(&job) }
}
