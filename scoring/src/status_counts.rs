//! Counts of verdicts by status, and their table.

use std::cmp::Reverse;
use std::collections::BTreeMap;
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
    /// Verdicts without a score or with the score 0, by the code of their reason.
    #[serde(default)]
    reasons: BTreeMap<String, u64>,
    /// Why the first refused input was refused.
    #[serde(default)]
    refusal: Option<String>,
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

/// Most reasons that a summary names.
const REASONS: usize = 5;

/// Statuses that are failures of the service, not of the input.
const FAILURES: [Status; 4] =
    [Status::ToolError, Status::Timeout, Status::Overloaded, Status::InternalError];

fn place(status: Status) -> usize {
    STATUSES.iter().position(|other| *other == status).expect("every status is listed")
}

impl StatusCounts {
    /// Counts one verdict.
    pub fn add(&mut self, result: &ScoreResult) {
        let reason = result.reason.as_ref();
        let reason = reason.map(|reason| (reason.code.as_str(), reason.detail.as_deref()));
        self.add_one(result.status, result.score, reason);
    }

    /// Counts one verdict by its status, its score, and the code and detail of its reason.
    pub fn add_one(
        &mut self,
        status: Status,
        score: Option<f64>,
        reason: Option<(&str, Option<&str>)>,
    ) {
        self.counts[place(status)] += 1;
        if status == Status::Refused && self.refusal.is_none() {
            self.refusal = reason.map(|(code, detail)| detail.unwrap_or(code).to_owned());
        }
        let score = score.unwrap_or(0.0);
        self.score_sum += score;
        if let Some((reason, _)) = reason.filter(|_| score == 0.0) {
            match self.reasons.get_mut(reason) {
                Some(count) => *count += 1,
                None => drop(self.reasons.insert(reason.to_owned(), 1)),
            }
        }
    }

    /// Adds the counts of later rows.
    pub fn merge(&mut self, later: &Self) {
        for (count, more) in self.counts.iter_mut().zip(later.counts) {
            *count += more;
        }
        self.score_sum += later.score_sum;
        for (reason, more) in &later.reasons {
            *self.reasons.entry(reason.clone()).or_default() += more;
        }
        if self.refusal.is_none() {
            self.refusal.clone_from(&later.refusal);
        }
    }

    /// Reasons of verdicts without a score or with the score 0, the most frequent first.
    pub fn reasons(&self) -> Vec<(&str, u64)> {
        let mut reasons: Vec<_> =
            self.reasons.iter().map(|(code, count)| (code.as_str(), *count)).collect();
        reasons.sort_by_key(|(_, count)| Reverse(*count));
        reasons
    }

    /// Whether there are verdicts, and each says that its reference cannot be used: the references
    /// are not what the scorer reads, and no row was measured.
    pub fn has_no_reference(&self) -> bool {
        self.total() > 0 && self.count(Status::BadReference) == self.total()
    }

    /// Why the first input was refused, if every one was; `None` where one was not.
    pub fn refusal_of_all(&self) -> Option<&str> {
        self.refusal.as_deref().filter(|_| self.count(Status::Refused) == self.total())
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
    for (name, tally) in tallies {
        let reasons = tally.reasons();
        if reasons.is_empty() {
            continue;
        }
        let one = |(code, count): &(&str, u64)| format!("{} {code}", grouped(*count, ','));
        let shown: Vec<String> = reasons.iter().take(REASONS).map(one).collect();
        let more = if reasons.len() > REASONS { ", …" } else { "" };
        writeln!(text, "{name}: no score or 0: {}{more}", shown.join(", ")).expect("to memory");
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
        for (code, n) in [("different", 3), ("no_answer", 7)] {
            math.reasons.insert(code.to_owned(), n);
        }
        let text = StatusCounts::default();
        let shown = table(&[("math", &math), ("text", &text)]);
        let words: Vec<Vec<&str>> =
            shown.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(words[0], ["scorer", "ok", "bad_reference", "mean", "score"]);
        assert_eq!(words[1], ["math", "1,200", "3", "0.2500"]);
        assert_eq!(words[2], ["text", "0", "0", "-"]);
        assert_eq!(
            words[3..],
            [["math:", "no", "score", "or", "0:", "7", "no_answer,", "3", "different"]]
        );
    }

    #[test]
    fn reasons_of_zeros_and_of_failures_are_counted() {
        let mut counts = StatusCounts::default();
        counts.add_one(Status::Ok, Some(1.0), Some(("equal", None)));
        counts.add_one(Status::Ok, Some(0.0), Some(("different", Some("1 ≠ 2"))));
        counts.add_one(Status::Ok, Some(0.0), None);
        assert!(!counts.has_no_reference());
        let mut later = StatusCounts::default();
        assert!(!later.has_no_reference());
        for _ in 0..2 {
            later.add_one(Status::BadReference, None, Some(("unreadable", None)));
        }
        assert!(later.has_no_reference());
        counts.merge(&later);
        assert_eq!(counts.reasons(), [("unreadable", 2), ("different", 1)]);
    }

    #[test]
    fn reason_of_a_refusal_is_kept_where_all_are_refused() {
        let refused = |reason| {
            let mut counts = StatusCounts::default();
            counts.add_one(Status::Refused, None, Some(reason));
            counts
        };
        let mut counts = StatusCounts::default();
        assert_eq!(counts.refusal_of_all(), None);
        counts.merge(&refused(("out_of_domain", Some("sums alone"))));
        counts.merge(&refused(("too_long", None)));
        assert_eq!(counts.refusal_of_all(), Some("sums alone"));
        assert_eq!(refused(("too_long", None)).refusal_of_all(), Some("too_long"));
        counts.add_one(Status::Ok, Some(0.0), None);
        assert_eq!(counts.refusal_of_all(), None);
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
