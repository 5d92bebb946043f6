//! One group: what stays of it.

use super::super::kept::Kept;
use super::operation::Operation;
use super::tally::{Tally, Why};
use crate::groups::{
    Agreement, Ballot, BothOrders, Member, NoPair, Outcome, PairRule, Place, best, best_of,
    best_worst, keep, majority, pass_rate,
};

/// A row of a group.
#[derive(Debug, Clone)]
pub(super) struct Row {
    /// Its position in the source.
    pub(super) position: u64,
    /// Its score, where it was measured.
    pub(super) score: Option<f64>,
    /// A digest of its response or answer; empty where it has none.
    pub(super) content: String,
    /// A hash of its prompt.
    pub(super) prompt: u64,
    /// Its place in lists of comparisons.
    pub(super) index: Option<usize>,
    /// Against each row of the group: the probability that this one is the better when it is shown
    /// first.
    pub(super) against: Vec<Option<f64>>,
}

/// The best and the worst row of a group.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Pair {
    pub(super) chosen: u64,
    pub(super) rejected: u64,
    pub(super) chosen_score: f64,
    pub(super) rejected_score: f64,
}

/// What was decided of all groups.
pub(super) struct Decided {
    pub(super) kept: Kept,
    pub(super) tally: Tally,
    /// In the order of the groups.
    pub(super) pairs: Vec<Pair>,
}

/// How groups are decided.
pub(super) struct Judge<'o> {
    pub(super) operation: &'o Operation,
    /// The keys, in words.
    pub(super) by: &'o str,
    pub(super) seed: u64,
}

impl Judge<'_> {
    /// Decides a group, whose rows are in an order that follows from their content.
    pub(super) fn decide(&self, rows: &[Row], decided: &mut Decided) {
        let members: Vec<Member<'_>> = rows.iter().map(Row::member).collect();
        match self.operation {
            Operation::PassRate { band, mark, least } => {
                let scores: Vec<Option<f64>> = rows.iter().map(|row| row.score).collect();
                let rate = pass_rate(&scores, *mark);
                decided.tally.rate(rate.rate(), self.by);
                let why = match band.place(&rate, *least) {
                    Place::Inside => {
                        decided.keep(rows, 0..rows.len());
                        return;
                    }
                    Place::NotMeasured => Why::TooFewMeasured,
                    Place::Below if rate.passed == 0 => Why::AllWrong,
                    Place::Below => Why::BelowBand,
                    Place::Above if rate.passed == rate.measured => Why::AllRight,
                    Place::Above => Why::AboveBand,
                };
                decided.tally.group(why, rows.len());
            }
            Operation::BestOfN { n } => {
                let chosen = match n {
                    Some(n) => best_of(&members, *n, self.seed),
                    None => best(&members, self.seed),
                };
                decided.choose(rows, &Vec::from_iter(chosen));
            }
            Operation::Filtration { filter, keep: n } => {
                let kept = keep(&members, *filter, n.unwrap_or(1), self.seed);
                if kept.is_empty() && rows.iter().any(|row| row.score.is_some()) {
                    decided.tally.group(Why::AllZero, rows.len());
                } else {
                    decided.choose(rows, &kept);
                }
            }
            Operation::BestWorstPairs { margin, orders } => {
                let rule =
                    PairRule { margin: *margin, both_orders: orders.is_some(), seed: self.seed };
                pair(rows, &members, rule, decided);
            }
            Operation::Majority { .. } => vote(rows, decided),
        }
    }
}

/// Makes a pair of the best and the worst row.
fn pair(rows: &[Row], members: &[Member<'_>], rule: PairRule, decided: &mut Decided) {
    let orders = |chosen: usize, rejected: usize| {
        rule.both_orders.then(|| orders_of(&rows[chosen], &rows[rejected]))
    };
    let why = match best_worst(members, rule, orders) {
        Ok(pair) if rows[pair.chosen].prompt == rows[pair.rejected].prompt => {
            decided.keep(rows, [pair.chosen, pair.rejected]);
            decided.tally.rows(Why::NotChosen, rows.len() - 2);
            decided.tally.rows(Why::InPair, 1);
            decided.pairs.push(Pair {
                chosen: rows[pair.chosen].position,
                rejected: rows[pair.rejected].position,
                chosen_score: pair.chosen_score,
                rejected_score: pair.rejected_score,
            });
            return;
        }
        Ok(_) => Why::PromptsDiffer,
        Err(NoPair::TooFewMeasured { .. }) => Why::TooFewMeasured,
        Err(NoPair::Tie) => Why::Tie,
        Err(NoPair::SameText) => Why::SameText,
        Err(NoPair::WithinMargin { .. }) => Why::WithinMargin,
        Err(NoPair::OrdersDisagree { agreement }) => match agreement {
            Agreement::Contradicts => Why::OrdersContradict,
            Agreement::Inconsistent => Why::OrdersDiffer,
            Agreement::NotMeasured | Agreement::NotAsked | Agreement::Agrees => Why::OrderMissing,
        },
    };
    decided.tally.group(why, rows.len());
}

/// What was said of two rows in both orders.
fn orders_of(chosen: &Row, rejected: &Row) -> BothOrders {
    let (Some(first), Some(second)) = (chosen.index, rejected.index) else {
        return BothOrders::default();
    };
    let at = |row: &Row, column: usize| row.against.get(column).copied().flatten();
    BothOrders { first: at(chosen, second), second: at(rejected, first).map(|other| 1.0 - other) }
}

/// Keeps the rows of the answer that most rows give. Scores are weights; without any, each row has
/// one vote.
fn vote(rows: &[Row], decided: &mut Decided) {
    let ballots: Vec<Ballot<'_>> = rows.iter().map(Row::ballot).collect();
    let normalised = |answer: &str| (!answer.is_empty()).then(|| answer.to_owned());
    match majority(&ballots, normalised) {
        Outcome::Won { voters, n_silent, .. } => {
            let others = rows.len() - voters.len() - n_silent;
            decided.keep(rows, voters);
            decided.tally.rows(Why::OtherAnswer, others);
            decided.tally.rows(Why::NoAnswer, n_silent);
        }
        Outcome::Tied { .. } => decided.tally.group(Why::Tie, rows.len()),
        Outcome::NoVotes { .. } => decided.tally.group(Why::NoVotes, rows.len()),
    }
}

impl Row {
    fn member(&self) -> Member<'_> {
        Member { text: &self.content, score: self.score }
    }

    fn ballot(&self) -> Ballot<'_> {
        Ballot { answer: Some(&self.content), weight: self.score }
    }
}

impl Decided {
    pub(super) fn new(rows: u64) -> Self {
        Self { kept: Kept::none(rows), tally: Tally::default(), pairs: Vec::new() }
    }

    /// Keeps rows of a group.
    fn keep(&mut self, rows: &[Row], kept: impl IntoIterator<Item = usize>) {
        for index in kept {
            self.kept.keep(rows[index].position);
        }
        self.tally.kept += 1;
    }

    /// Keeps the rows that were chosen, and drops the others.
    fn choose(&mut self, rows: &[Row], chosen: &[usize]) {
        if chosen.is_empty() {
            self.tally.group(Why::TooFewMeasured, rows.len());
            return;
        }
        self.keep(rows, chosen.iter().copied());
        let others = rows.len() - chosen.len();
        self.tally.rows(Why::NotChosen, others);
    }
}
