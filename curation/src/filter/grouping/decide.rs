//! The decision over one group.

use super::super::kept_rows::KeptRows;
use super::drop_counts::{DropCounts, DropReason};
use super::operation::GroupOperation;
use crate::groups::{
    Ballot, BandPosition, BothOrders, GroupMember, NoPair, OrderAgreement, PairRule, VoteOutcome,
    best, best_of, best_worst, keep, majority, pass_rate,
};

/// A row of a group.
#[derive(Debug, Clone)]
pub(super) struct GroupRow {
    /// Its position in the source.
    pub(super) position: u64,
    /// Its score; `None` if not measured.
    pub(super) score: Option<f64>,
    /// Digest of its response or answer; empty without one.
    pub(super) content: String,
    /// A hash of its prompt.
    pub(super) prompt: u64,
    /// Its index into lists of comparisons.
    pub(super) index: Option<usize>,
    /// Probability against each row of the group that this one is better when shown first.
    pub(super) against: Vec<Option<f64>>,
}

/// The best and the worst row of a group.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct PairPositions {
    pub(super) chosen: u64,
    pub(super) rejected: u64,
    pub(super) chosen_score: f64,
    pub(super) rejected_score: f64,
}

/// Decisions over all groups.
pub(super) struct GroupDecisions {
    pub(super) kept: KeptRows,
    pub(super) tally: DropCounts,
    /// In the order of the groups.
    pub(super) pairs: Vec<PairPositions>,
}

/// Decides groups by an operation.
pub(super) struct GroupDecider<'o> {
    pub(super) operation: &'o GroupOperation,
    /// The keys, in words.
    pub(super) by: &'o str,
    pub(super) seed: u64,
}

impl GroupDecider<'_> {
    /// Decides a group, whose rows are sorted by content.
    pub(super) fn decide(&self, rows: &[GroupRow], decided: &mut GroupDecisions) {
        let members: Vec<GroupMember<'_>> = rows.iter().map(GroupRow::member).collect();
        match self.operation {
            GroupOperation::PassRate { band, mark, least } => {
                let scores: Vec<Option<f64>> = rows.iter().map(|row| row.score).collect();
                let rate = pass_rate(&scores, *mark);
                decided.tally.rate(rate.rate(), self.by);
                let why = match band.place(&rate, *least) {
                    BandPosition::Inside => {
                        decided.keep(rows, 0..rows.len());
                        return;
                    }
                    BandPosition::NotMeasured => DropReason::TooFewMeasured,
                    BandPosition::Below if rate.passed == 0 => DropReason::AllWrong,
                    BandPosition::Below => DropReason::BelowBand,
                    BandPosition::Above if rate.passed == rate.measured => DropReason::AllRight,
                    BandPosition::Above => DropReason::AboveBand,
                };
                decided.tally.group(why, rows.len());
            }
            GroupOperation::BestOfN { n } => {
                let chosen = match n {
                    Some(n) => best_of(&members, *n, self.seed),
                    None => best(&members, self.seed),
                };
                decided.choose(rows, &Vec::from_iter(chosen));
            }
            GroupOperation::Filtration { filter, keep: n } => {
                let kept = keep(&members, *filter, n.unwrap_or(1), self.seed);
                if kept.is_empty() && rows.iter().any(|row| row.score.is_some()) {
                    decided.tally.group(DropReason::AllZero, rows.len());
                } else {
                    decided.choose(rows, &kept);
                }
            }
            GroupOperation::BestWorstPairs { margin, orders } => {
                let rule =
                    PairRule { margin: *margin, both_orders: orders.is_some(), seed: self.seed };
                decide_pair(rows, &members, rule, decided);
            }
            GroupOperation::Majority { .. } => vote(rows, decided),
        }
    }
}

/// Makes a pair of the best and the worst row.
fn decide_pair(
    rows: &[GroupRow],
    members: &[GroupMember<'_>],
    rule: PairRule,
    decided: &mut GroupDecisions,
) {
    let orders = |chosen: usize, rejected: usize| {
        rule.both_orders.then(|| orders_of(&rows[chosen], &rows[rejected]))
    };
    let why = match best_worst(members, rule, orders) {
        Ok(pair) if rows[pair.chosen].prompt == rows[pair.rejected].prompt => {
            decided.keep(rows, [pair.chosen, pair.rejected]);
            decided.tally.rows(DropReason::NotChosen, rows.len() - 2);
            decided.tally.rows(DropReason::InPair, 1);
            decided.pairs.push(PairPositions {
                chosen: rows[pair.chosen].position,
                rejected: rows[pair.rejected].position,
                chosen_score: pair.chosen_score,
                rejected_score: pair.rejected_score,
            });
            return;
        }
        Ok(_) => DropReason::PromptsDiffer,
        Err(NoPair::TooFewMeasured { .. }) => DropReason::TooFewMeasured,
        Err(NoPair::Tie) => DropReason::Tie,
        Err(NoPair::SameText) => DropReason::SameText,
        Err(NoPair::WithinMargin { .. }) => DropReason::WithinMargin,
        Err(NoPair::OrdersDisagree { agreement }) => match agreement {
            OrderAgreement::Contradicts => DropReason::OrdersContradict,
            OrderAgreement::Inconsistent => DropReason::OrdersDiffer,
            OrderAgreement::NotMeasured | OrderAgreement::NotAsked | OrderAgreement::Agrees => {
                DropReason::OrderMissing
            }
        },
    };
    decided.tally.group(why, rows.len());
}

/// Verdicts of a pairwise judge on two rows, in both orders.
fn orders_of(chosen: &GroupRow, rejected: &GroupRow) -> BothOrders {
    let (Some(first), Some(second)) = (chosen.index, rejected.index) else {
        return BothOrders::default();
    };
    let at = |row: &GroupRow, column: usize| row.against.get(column).copied().flatten();
    BothOrders { first: at(chosen, second), second: at(rejected, first).map(|other| 1.0 - other) }
}

/// Keeps the rows of the majority answer, weighted by scores if there are any.
fn vote(rows: &[GroupRow], decided: &mut GroupDecisions) {
    if rows.iter().any(|row| row.score.is_some_and(|score| score < 0.0)) {
        decided.tally.group(DropReason::NegativeWeight, rows.len());
        return;
    }
    let ballots: Vec<Ballot<'_>> = rows.iter().map(GroupRow::ballot).collect();
    let normalised = |answer: &str| (!answer.is_empty()).then(|| answer.to_owned());
    match majority(&ballots, normalised) {
        VoteOutcome::Won { voters, n_silent, .. } => {
            let others = rows.len() - voters.len() - n_silent;
            decided.keep(rows, voters);
            decided.tally.rows(DropReason::OtherAnswer, others);
            decided.tally.rows(DropReason::NoAnswer, n_silent);
        }
        VoteOutcome::Tied { .. } => decided.tally.group(DropReason::Tie, rows.len()),
        VoteOutcome::NoVotes { .. } => decided.tally.group(DropReason::NoVotes, rows.len()),
    }
}

impl GroupRow {
    fn member(&self) -> GroupMember<'_> {
        GroupMember { text: &self.content, score: self.score }
    }

    fn ballot(&self) -> Ballot<'_> {
        Ballot { answer: Some(&self.content), weight: self.score }
    }
}

impl GroupDecisions {
    pub(super) fn new(rows: u64) -> Self {
        Self { kept: KeptRows::none(rows), tally: DropCounts::default(), pairs: Vec::new() }
    }

    /// Keeps rows of a group.
    fn keep(&mut self, rows: &[GroupRow], kept: impl IntoIterator<Item = usize>) {
        for index in kept {
            self.kept.keep(rows[index].position);
        }
        self.tally.kept += 1;
    }

    /// Keeps the rows that were chosen, and drops the others.
    fn choose(&mut self, rows: &[GroupRow], chosen: &[usize]) {
        if chosen.is_empty() {
            self.tally.group(DropReason::TooFewMeasured, rows.len());
            return;
        }
        self.keep(rows, chosen.iter().copied());
        let others = rows.len() - chosen.len();
        self.tally.rows(DropReason::NotChosen, others);
    }
}
