//! What became of groups and their rows, by the reason.

use std::collections::BTreeMap;

use super::super::DroppedRows;
use crate::histogram::{Histogram, HistogramBuilder};

/// Why rows are dropped, in the order in which it is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum DropReason {
    /// Every key is null.
    NoKey,
    /// Fewer rows have a score than are asked for.
    TooFewMeasured,
    /// No row passes.
    AllWrong,
    /// Fewer pass than the band wants.
    BelowBand,
    /// Every row passes.
    AllRight,
    /// More pass than the band wants.
    AboveBand,
    /// No row has an answer.
    NoVotes,
    /// Several answers have the most votes, or all scores are equal.
    Tie,
    /// Best and worst are one text.
    SameText,
    /// The scores are too near each other.
    WithinMargin,
    /// A judge of pairs prefers the worst in both orders.
    OrdersContradict,
    /// What it prefers depends on the order.
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
    /// The rejected row stands in one row with the chosen one.
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

/// What was counted over groups.
#[derive(Default)]
pub(super) struct DropCounts {
    /// Groups and rows.
    dropped: BTreeMap<DropReason, (Option<u64>, u64)>,
    /// Groups of which something stays.
    pub(super) kept: u64,
    /// Pass rates of groups.
    rates: Option<HistogramBuilder>,
}

impl DropCounts {
    /// Nothing stays of a group of so many rows.
    pub(super) fn group(&mut self, why: DropReason, rows: usize) {
        let (groups, all) = self.dropped.entry(why).or_default();
        *groups = Some(groups.unwrap_or(0) + 1);
        *all += rows as u64;
    }

    /// So many rows go of a group that stays.
    pub(super) fn rows(&mut self, why: DropReason, rows: usize) {
        if rows > 0 {
            let (_, all) = self.dropped.entry(why).or_default();
            *all += rows as u64;
        }
    }

    /// The pass rate of a group.
    pub(super) fn rate(&mut self, rate: Option<f64>, by: &str) {
        let name = || HistogramBuilder::new(vec![format!("pass rate by {by}")]);
        self.rates.get_or_insert_with(name).count(rate);
    }

    /// What was dropped, by an operation in words; that nothing was is told too.
    pub(super) fn told(&self, operation: &str) -> Vec<DroppedRows> {
        if self.dropped.is_empty() {
            return vec![DroppedRows::rows(operation.to_owned(), Some(0))];
        }
        let told = |(why, (groups, rows)): (&DropReason, &(Option<u64>, u64))| DroppedRows {
            condition: operation.to_owned(),
            why: Some(why.words()),
            rows: Some(*rows),
            groups: *groups,
        };
        self.dropped.iter().map(told).collect()
    }

    /// How pass rates are spread.
    pub(super) fn rates(self) -> Option<Histogram> {
        self.rates.and_then(HistogramBuilder::finish)
    }
}
