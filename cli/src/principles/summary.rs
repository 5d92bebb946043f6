//! What a run did, for people and for programs.

use std::fmt::Write as _;
use std::time::Instant;

use base::human::grouped;
use curation::principles::ExtractionCounts;
use scoring::dataset_output::Finished;
use serde_json::{Value, json};

use super::judge::is_failure;
use crate::error::CommandOutcome;

/// Result of a run.
#[derive(Debug)]
pub(super) struct ExtractionSummary {
    pub(super) counts: ExtractionCounts,
    /// The principles that are left out by name.
    pub(super) left_out: Vec<String>,
    pub(super) finished: Finished,
    pub(super) started: Instant,
}

impl ExtractionSummary {
    /// Whether something failed.
    pub(super) fn outcome(&self) -> CommandOutcome {
        CommandOutcome::failed_if(self.finished.rejected > 0)
    }

    /// The summary as lines.
    pub(super) fn text(&self) -> String {
        let counts = &self.counts;
        let mut text = String::new();
        let mut line = |sign: &str, count: u64, what: &str| {
            let sign = if count > 0 { sign } else { "" };
            let count = format!("{sign}{}", grouped(count, ','));
            writeln!(text, "{count:>14}  {what}").expect("to memory");
        };
        line("", counts.rows, "rows read");
        line("-", counts.too_few_annotators, "rows with too few annotators");
        line("-", self.finished.rejected, "rows that could not be used");
        line("", counts.asked, "texts of feedback asked about");
        for (status, count) in &counts.failures {
            let whose = if is_failure(status) { ", no fault of the row" } else { "" };
            line("", *count, &format!("of them without a list: {status}{whose}"));
        }
        line("", counts.listed, "principles listed");
        line("-", counts.without_evidence, "evidence: their words are not in the feedback");
        line("-", counts.without_consensus, "consensus: some annotator has none that is alike");
        line("-", counts.left_out, &format!("listed: {}", self.left_out.join(", ")));
        line("-", counts.partially, "partially met");
        line("-", counts.contradicted, "contradicted by another verdict");
        line("-", counts.repeated, "repeated");
        line("", counts.written, "principles written");
        text + &self.finished.text(self.started)
    }

    /// The counts, for the manifest.
    pub(super) fn counts_json(&self) -> Value {
        let mut counts = serde_json::to_value(&self.counts).expect("counts serialise");
        counts["rejected"] = json!(self.finished.rejected);
        counts
    }

    /// The summary for programs.
    pub(super) fn json(&self) -> Value {
        let files = self.finished.written.files.iter();
        json!({
            "counts": self.counts_json(),
            "files": files.map(|(path, _)| path).collect::<Vec<_>>(),
            "rejects": self.finished.rejects,
            "elapsed_s": self.started.elapsed().as_secs_f64(),
        })
    }
}
