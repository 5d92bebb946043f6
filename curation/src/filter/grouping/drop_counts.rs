//! Counts of dropped groups and rows by reason.

use std::collections::BTreeMap;

use super::super::DroppedRows;
use crate::histogram::{Histogram, HistogramBuilder};

/// Reason why rows are dropped, in the order of reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum DropReason {
    /// Every key is null.
    NoKey,
    /// Too few rows have a score.
    TooFewMeasured,
    /// No row passes.
    AllWrong,
    /// The pass rate is below the band.
    BelowBand,
    /// Every row passes.
    AllRight,
    /// The pass rate is above the band.
    AboveBand,
    /// No row has an answer.
    NoVotes,
    /// A score is negative, which is no weight of a vote.
    NegativeWeight,
    /// Several answers have the most votes, or all scores are equal.
    Tie,
    /// Best and worst are one text.
    SameText,
    /// The scores are too near each other.
    WithinMargin,
    /// A pairwise judge prefers the worst in both orders.
    OrdersContradict,
    /// Its preference depends on the order.
    OrdersDiffer,
    /// One of the orders has no verdict.
    OrderMissing,
    /// Best and worst answer different prompts.
    PromptsDiffer,
    /// Another row was chosen.
    NotChosen,
    /// Every score is 0, and rows are drawn by their scores.
    AllZero,
    /// The row gives another answer.
    OtherAnswer,
    /// The row gives no answer.
    NoAnswer,
    /// The rejected row was joined into one row with the chosen one.
    InPair,
}

impl DropReason {
    fn words(self) -> &'static str {
        match self {
            Self::NoKey => "every key is null",
            Self::TooFewMeasured => "too few with a score",
            Self::AllWrong => "none passes",
            Self::BelowBand => "below the band",
            Self::AllRight => "all pass",
            Self::AboveBand => "above the band",
            Self::NoVotes => "no votes",
            Self::NegativeWeight => "a score is negative, which is no weight",
            Self::Tie => "tie",
            Self::SameText => "best and worst are the same text",
            Self::WithinMargin => "within the margin",
            Self::OrdersContradict => "both orders prefer the worst",
            Self::OrdersDiffer => "the orders differ",
            Self::OrderMissing => "an order has no verdict",
            Self::PromptsDiffer => "best and worst answer different prompts",
            Self::NotChosen => "another was chosen",
            Self::AllZero => "every score is 0",
            Self::OtherAnswer => "another answer",
            Self::NoAnswer => "no answer",
            Self::InPair => "the rejected response, in the row of the chosen one",
        }
    }
}

/// Counts over groups.
#[derive(Default)]
pub(super) struct DropCounts {
    /// Groups and rows.
    dropped: BTreeMap<DropReason, (Option<u64>, u64)>,
    /// Number of groups with rows left.
    pub(super) kept: u64,
    /// Pass rates of groups.
    rates: Option<HistogramBuilder>,
}

impl DropCounts {
    /// Counts a group that is dropped completely.
    pub(super) fn group(&mut self, why: DropReason, rows: usize) {
        let (groups, all) = self.dropped.entry(why).or_default();
        *groups = Some(groups.unwrap_or(0) + 1);
        *all += rows as u64;
    }

    /// Counts dropped rows of a group that is kept.
    pub(super) fn rows(&mut self, why: DropReason, rows: usize) {
        if rows > 0 {
            let (_, all) = self.dropped.entry(why).or_default();
            *all += rows as u64;
        }
    }

    /// Adds the pass rate of a group.
    pub(super) fn rate(&mut self, rate: Option<f64>, by: &str) {
        let name = || HistogramBuilder::new(vec![format!("pass rate by {by}")]);
        self.rates.get_or_insert_with(name).count(rate);
    }

    /// Converts the counts to report lines; one line of 0 rows if nothing was dropped.
    pub(super) fn dropped_rows(&self, operation: &str) -> Vec<DroppedRows> {
        if self.dropped.is_empty() {
            return vec![DroppedRows::rows(operation.to_owned(), Some(0))];
        }
        let dropped_rows =
            |(why, (groups, rows)): (&DropReason, &(Option<u64>, u64))| DroppedRows {
                condition: operation.to_owned(),
                why: Some(why.words()),
                rows: Some(*rows),
                groups: *groups,
            };
        self.dropped.iter().map(dropped_rows).collect()
    }

    /// Histogram of the pass rates.
    pub(super) fn rates(self) -> Option<Histogram> {
        self.rates.and_then(HistogramBuilder::finish)
    }
}
