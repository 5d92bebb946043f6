//! Rows and verdicts of a run, counted.

use openapi::ScoreResult;
use serde::{Deserialize, Serialize};

use crate::status_counts::StatusCounts;

/// Rows and verdicts of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Counts {
    /// Rows scored.
    pub scored: u64,
    /// Rows rejected.
    pub rejected: u64,
    /// Verdicts, one tally a scorer.
    pub tallies: Vec<StatusCounts>,
}

impl Counts {
    /// Starts at zero for `n_scorers` scorers.
    pub fn new(n_scorers: usize) -> Self {
        Self { tallies: vec![StatusCounts::default(); n_scorers], ..Self::default() }
    }

    /// Counts one scored row: one result for each scorer.
    pub(crate) fn add(&mut self, results: &[ScoreResult]) {
        for (tally, result) in self.tallies.iter_mut().zip(results) {
            tally.add(result);
        }
        self.scored += 1;
    }

    /// Adds the counts of later rows.
    pub fn merge(&mut self, later: &Self) {
        self.scored += later.scored;
        self.rejected += later.rejected;
        for (tally, more) in self.tallies.iter_mut().zip(&later.tallies) {
            tally.merge(more);
        }
    }

    /// The counts as JSON for a manifest.
    pub fn described(&self, scorers: &[String]) -> serde_json::Value {
        let statuses = scorers.iter().zip(&self.tallies).map(|(name, tally)| {
            let counts = tally.occurred().map(|(status, n)| (status.to_owned(), n.into()));
            (name.clone(), serde_json::Value::Object(counts.collect()))
        });
        serde_json::json!({
            "rows": self.rows(),
            "scored": self.scored,
            "rejected": self.rejected,
            "statuses": statuses.collect::<serde_json::Map<_, _>>(),
        })
    }

    /// Scored and rejected rows.
    pub fn rows(&self) -> u64 {
        self.scored + self.rejected
    }
}
