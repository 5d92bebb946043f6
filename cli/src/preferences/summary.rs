//! What a run did, for people and for programs.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Instant;

use base::human::grouped;
use curation::histogram::Histogram;
use curation::preferences::{DenoiseCounts, ResolvedRule, RuleCount};
use scoring::dataset_output::Finished;
use scoring::status_counts::{StatusCounts, table};
use serde_json::{Value, json};

use crate::error::CommandOutcome;

/// Result of a run.
#[derive(Debug)]
pub(super) struct DenoiseSummary {
    pub(super) counts: DenoiseCounts,
    pub(super) histogram: Option<Histogram>,
    /// The voters, in order.
    pub(super) voters: Vec<String>,
    /// What the scorers among them said.
    pub(super) tallies: Vec<(String, StatusCounts)>,
    /// Pairs that a server would not take.
    pub(super) refused: u64,
    pub(super) finished: Finished,
    /// Where the other pairs are.
    pub(super) left_out: Vec<PathBuf>,
    pub(super) started: Instant,
}

/// A range in strengths, for people.
fn strengths(range: &ResolvedRule) -> String {
    if [range.from, range.below].into_iter().flatten().any(f64::is_nan) {
        return "not known, for nothing was measured".to_owned();
    }
    let from = range.from.map(|from| format!("from {from:.4}"));
    let below = range.below.map(|below| format!("below {below:.4}"));
    let parts: Vec<String> = from.into_iter().chain(below).collect();
    parts.join(" ")
}

impl DenoiseSummary {
    /// Whether something failed through no fault of the command.
    pub(super) fn outcome(&self) -> CommandOutcome {
        CommandOutcome::failed_if(self.finished.rejected > 0 || self.failures() > 0)
    }

    fn failures(&self) -> u64 {
        let failed = self.tallies.iter().map(|(_, tally)| tally.failures());
        failed.sum::<u64>() + self.refused
    }

    /// The summary as lines.
    pub(super) fn text(&self) -> String {
        let counts = &self.counts;
        let mut text = String::new();
        let mut line = |count: u64, what: &str| {
            writeln!(text, "{:>14}  {what}", grouped(count, ',')).expect("to memory");
        };
        line(counts.pairs, "pairs");
        for rule in &counts.rules {
            line(rule.pairs, &format!("{} (strength {})", rule.rule, strengths(&rule.range)));
        }
        line(counts.kept, "kept as they are, in no range");
        if counts.disputed > 0 {
            line(counts.disputed, "dropped, the votes differ by more than --max-std");
        }
        if counts.not_measured > 0 {
            line(counts.not_measured, "not measured, fewer votes than --min-votes");
        }
        line(self.finished.written.rows, "pairs written");
        if let Some(histogram) = &self.histogram {
            let Histogram { min, max, mean, .. } = histogram;
            let bars = histogram.sparkline();
            writeln!(text, "strength  {min:.3} {bars} {max:.3}, mean {mean:.3}")
                .expect("to memory");
        }
        for (voter, votes) in self.voters.iter().zip(&counts.votes) {
            let without = counts.pairs - votes;
            if without > 0 {
                let without = grouped(without, ',');
                writeln!(text, "{voter}: no vote on {without} pairs").expect("to memory");
            }
        }
        if !self.tallies.is_empty() {
            let tallies: Vec<(&str, &StatusCounts)> =
                self.tallies.iter().map(|(name, tally)| (name.as_str(), tally)).collect();
            text += &table(&tallies);
        }
        if self.failures() > 0 {
            let failures = grouped(self.failures(), ',');
            writeln!(text, "failed: {failures} votes are failures of the service, not of the rows")
                .expect("to memory");
        }
        for path in &self.left_out {
            writeln!(text, "the pairs that go are in {}", path.display()).expect("to memory");
        }
        text + &self.finished.text(self.started)
    }

    /// The counts, for the manifest.
    pub(super) fn counts_json(&self) -> Value {
        let counts = &self.counts;
        let rule = |rule: &RuleCount| {
            json!({
                "rule": rule.rule,
                "from": rule.range.from.filter(|bound| bound.is_finite()),
                "below": rule.range.below.filter(|bound| bound.is_finite()),
                "pairs": rule.pairs,
            })
        };
        let votes = self.voters.iter().cloned().zip(counts.votes.iter().map(|n| json!(n)));
        json!({
            "pairs": counts.pairs,
            "rules": counts.rules.iter().map(rule).collect::<Vec<_>>(),
            "kept": counts.kept,
            "disputed": counts.disputed,
            "not_measured": counts.not_measured,
            "rejected": self.finished.rejected,
            "written": self.finished.written.rows,
            "votes": votes.collect::<serde_json::Map<_, _>>(),
        })
    }

    /// The summary for programs.
    pub(super) fn json(&self) -> Value {
        let files = self.finished.written.files.iter();
        let strength = self.histogram.as_ref().map(|histogram| {
            let bars = histogram.bars.iter().map(|bar| json!([bar.low, bar.high, bar.count]));
            json!({
                "min": histogram.min,
                "max": histogram.max,
                "mean": histogram.mean,
                "bars": bars.collect::<Vec<_>>(),
            })
        });
        json!({
            "counts": self.counts_json(),
            "strength": strength,
            "failures": self.failures(),
            "files": files.map(|(path, _)| path).collect::<Vec<_>>(),
            "left_out": self.left_out,
            "rejects": self.finished.rejects,
            "elapsed_s": self.started.elapsed().as_secs_f64(),
        })
    }
}
