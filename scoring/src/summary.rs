//! What a scoring run did.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::backend::Backend;
use crate::counts::Counts;
use crate::header::ScorerIdentity;
use crate::job::Job;
use crate::row_progress::RowProgress;
use crate::status_counts::StatusCounts;

/// What a scoring run did.
#[derive(Debug)]
pub struct ScoreSummary {
    /// The scorers in order.
    pub scorers: Vec<ScorerIdentity>,
    /// Rows and verdicts, those of earlier runs included.
    pub counts: Counts,
    /// Rows of earlier runs.
    pub resumed_rows: u64,
    /// Time of this run.
    pub elapsed: Duration,
    /// Rows per second of this run.
    pub rows_per_s: f64,
    /// The output file; `None` for a stream.
    pub output: Option<PathBuf>,
    /// The file of rejected rows; `None` if they were named on standard error.
    pub rejects: Option<PathBuf>,
}

impl ScoreSummary {
    pub(crate) fn new(
        job: &Job,
        backend: &dyn Backend,
        counts: Counts,
        progress: &RowProgress,
    ) -> Self {
        Self {
            scorers: backend.scorers(),
            resumed_rows: progress.resumed_rows(),
            elapsed: progress.elapsed(),
            rows_per_s: progress.rows_per_s(&counts),
            output: job.target.output().map(Path::to_owned),
            rejects: job.target.rejects().map(Path::to_owned),
            counts,
        }
    }

    /// Scorers that could use the reference of no row.
    pub fn without_references(&self) -> impl Iterator<Item = &ScorerIdentity> {
        let scorers = self.scorers.iter().zip(&self.counts.tallies);
        scorers.filter(|(_, tally)| tally.has_no_reference()).map(|(scorer, _)| scorer)
    }

    /// Scorers that refused every row, each with the reason of the first.
    pub fn refusing_all(&self) -> impl Iterator<Item = (&ScorerIdentity, &str)> {
        let scorers = self.scorers.iter().zip(&self.counts.tallies);
        scorers.filter_map(|(scorer, tally)| Some((scorer, tally.refusal_of_all()?)))
    }

    /// Verdicts that failed through no fault of their row.
    pub fn failures(&self) -> u64 {
        self.counts.tallies.iter().map(StatusCounts::failures).sum()
    }
}
