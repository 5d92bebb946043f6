//! What a run did, for people and for programs.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::journal::{Counts, Judge};
use crate::error::Outcome;
use crate::tally::{grouped, table};

/// What a run did.
#[derive(Debug)]
pub(crate) struct Summary {
    /// Who judged.
    pub(crate) scorers: Vec<Judge>,
    /// What was counted, earlier runs included.
    pub(crate) counts: Counts,
    /// Rows of earlier runs.
    pub(crate) resumed_rows: u64,
    /// Time of this run.
    pub(crate) elapsed: Duration,
    /// Rows per second of this run.
    pub(crate) rows_per_s: f64,
    /// Where the scored rows are; `None` for a stream.
    pub(crate) output: Option<PathBuf>,
    /// Where the rejected rows are; `None` if they were named on standard error.
    pub(crate) rejects: Option<PathBuf>,
}

#[derive(Serialize)]
struct ScorerJson<'s> {
    name: &'s str,
    digest: &'s str,
    statuses: Map<String, Value>,
    mean_score: Option<f64>,
}

impl Summary {
    /// Whether some rows have no verdict, or one that failed through no fault of their own.
    pub(crate) fn outcome(&self) -> Outcome {
        Outcome::failed_if(self.counts.rejected > 0 || self.failures() > 0)
    }

    fn failures(&self) -> u64 {
        self.counts.tallies.iter().map(crate::tally::Tally::failures).sum()
    }

    /// The summary as a table, for standard error.
    pub(crate) fn text(&self) -> String {
        let named = self.scorers.iter().map(|judge| judge.name.as_str());
        let tallies: Vec<_> = named.zip(&self.counts.tallies).collect();
        let mut text = table(&tallies);
        let counts = &self.counts;
        let before = match self.resumed_rows {
            0 => String::new(),
            rows => format!(" ({} rows were done before)", grouped(rows)),
        };
        let line = format!("{} rows scored{before}", grouped(counts.scored));
        let seconds = self.elapsed.as_secs_f64();
        writeln!(text, "{line} in {seconds:.2} s, {:.0} rows/s", self.rows_per_s)
            .expect("to memory");
        if counts.rejected > 0 {
            let place = self.rejects.as_ref().map_or_else(String::new, |path| {
                format!("; they are in {}, with the reasons", path.display())
            });
            writeln!(text, "failed: {} rows were rejected{place}", grouped(counts.rejected))
                .expect("to memory");
        }
        if self.failures() > 0 {
            let failures = grouped(self.failures());
            writeln!(
                text,
                "failed: {failures} verdicts are failures of the service, not of the rows"
            )
            .expect("to memory");
        }
        if let Some(output) = &self.output {
            writeln!(text, "wrote {}", output.display()).expect("to memory");
        }
        text
    }

    /// The summary as one line of JSON.
    pub(crate) fn json(&self) -> String {
        let scorers = self.scorers.iter().zip(&self.counts.tallies).map(|(judge, tally)| {
            let statuses = tally.occurred().map(|(name, count)| (name.to_owned(), count.into()));
            ScorerJson {
                name: &judge.name,
                digest: &judge.digest,
                statuses: statuses.collect(),
                mean_score: tally.mean(),
            }
        });
        let counts = &self.counts;
        let rejects = self.rejects.as_ref().filter(|_| counts.rejected > 0);
        json!({
            "rows": counts.rows(),
            "scored": counts.scored,
            "rejected": counts.rejected,
            "resumed_rows": self.resumed_rows,
            "scorers": scorers.collect::<Vec<_>>(),
            "elapsed_s": self.elapsed.as_secs_f64(),
            "rows_per_s": self.rows_per_s,
            "output": self.output,
            "rejects": rejects,
        })
        .to_string()
    }
}
