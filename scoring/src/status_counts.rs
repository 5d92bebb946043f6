//! Counts of verdicts by status, and their table.

use std::fmt::Write as _;

use base::human::grouped;
use openapi::{ScoreResult, Status};
use serde::{Deserialize, Serialize};

/// Verdicts of one scorer by status.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StatusCounts {
    /// Verdicts of each status, in the order of [`STATUSES`].
    counts: [u64; STATUSES.len()],
    /// Sum of the scores of status `ok`, added in the order of the rows.
    score_sum: f64,
}

/// All statuses, in the order of tables.
pub const STATUSES: [Status; 10] = [
    Status::Ok,
    Status::Abstain,
    Status::Refused,
    Status::BadReference,
    Status::Truncated,
    Status::ParseError,
    Status::ToolError,
    Status::Timeout,
    Status::Overloaded,
    Status::InternalError,
];

/// Statuses that are failures of the service, not of the input.
const FAILURES: [Status; 4] =
    [Status::ToolError, Status::Timeout, Status::Overloaded, Status::InternalError];

fn place(status: Status) -> usize {
    STATUSES.iter().position(|other| *other == status).expect("every status is listed")
}

impl StatusCounts {
    /// Counts one verdict.
    pub fn add(&mut self, result: &ScoreResult) {
        self.add_one(result.status, result.score);
    }

    /// Counts one verdict by its status and its score.
    pub fn add_one(&mut self, status: Status, score: Option<f64>) {
        self.counts[place(status)] += 1;
        self.score_sum += score.unwrap_or(0.0);
    }

    /// Adds the counts of later rows.
    pub fn merge(&mut self, later: &Self) {
        for (count, more) in self.counts.iter_mut().zip(later.counts) {
            *count += more;
        }
        self.score_sum += later.score_sum;
    }

    /// Number of verdicts of this status.
    pub fn count(&self, status: Status) -> u64 {
        self.counts[place(status)]
    }

    /// Number of verdicts.
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Number of verdicts that are failures of the service.
    pub fn failures(&self) -> u64 {
        FAILURES.iter().map(|status| self.count(*status)).sum()
    }

    /// Statuses that occurred, with their counts.
    pub fn occurred(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let named = STATUSES.iter().map(|status| serve::convert::status_name(*status));
        named.zip(self.counts).filter(|(_, count)| *count > 0)
    }

    /// Mean score over status `ok`; `None` without one.
    pub fn mean(&self) -> Option<f64> {
        #[expect(clippy::cast_precision_loss, reason = "far fewer than 2^53 rows")]
        let ok = self.count(Status::Ok) as f64;
        (ok > 0.0).then(|| self.score_sum / ok)
    }
}

/// Formats a table: one line for each scorer, one column for each status that occurred.
pub fn table(tallies: &[(&str, &StatusCounts)]) -> String {
    let occurs = |status: &&Status| {
        **status == Status::Ok || tallies.iter().any(|(_, tally)| tally.count(**status) > 0)
    };
    let shown: Vec<Status> = STATUSES.iter().filter(occurs).copied().collect();
    let name_width = tallies.iter().map(|(name, _)| name.len()).max().unwrap_or(0).max(6);
    let mut text = format!("{:name_width$}", "scorer");
    for status in &shown {
        write!(text, "  {:>12}", serve::convert::status_name(*status)).expect("to memory");
    }
    writeln!(text, "  {:>12}", "mean score").expect("to memory");
    for (name, tally) in tallies {
        write!(text, "{name:name_width$}").expect("to memory");
        for status in &shown {
            write!(text, "  {:>12}", grouped(tally.count(*status), ',')).expect("to memory");
        }
        let mean = tally.mean().map_or_else(|| "-".to_owned(), |mean| format!("{mean:.4}"));
        writeln!(text, "  {mean:>12}").expect("to memory");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_show_the_statuses_that_occurred() {
        let mut math = StatusCounts::default();
        math.counts[place(Status::Ok)] = 1200;
        math.counts[place(Status::BadReference)] = 3;
        math.score_sum = 300.0;
        let text = StatusCounts::default();
        let shown = table(&[("math", &math), ("text", &text)]);
        let words: Vec<Vec<&str>> =
            shown.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(words[0], ["scorer", "ok", "bad_reference", "mean", "score"]);
        assert_eq!(words[1], ["math", "1,200", "3", "0.2500"]);
        assert_eq!(words[2], ["text", "0", "0", "-"]);
    }

    #[test]
    fn only_service_statuses_count_as_failures() {
        for status in STATUSES {
            let mut tally = StatusCounts::default();
            tally.counts[place(status)] = 1;
            let expected = u64::from(FAILURES.contains(&status));
            assert_eq!(tally.failures(), expected, "{status:?}");
        }
    }
}
