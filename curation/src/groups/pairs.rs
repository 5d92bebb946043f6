//! Best-worst pairs: preference rows from scored responses.

use serde::Serialize;

use super::{GroupMember, best, worst};

/// Conditions on pairs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PairRule {
    /// Minimum difference of the scores, which is always above 0.
    pub margin: f64,
    /// Whether a pairwise judge must prefer the chosen response in both orders.
    pub both_orders: bool,
    /// Seed that decides between equal scores, by content.
    pub seed: u64,
}

impl Default for PairRule {
    fn default() -> Self {
        Self { margin: 0.0, both_orders: false, seed: 0 }
    }
}

/// The best and the worst response of a group.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ScoredPair {
    /// Position of the best.
    pub chosen: usize,
    /// Position of the worst.
    pub rejected: usize,
    /// Score of the best.
    pub chosen_score: f64,
    /// Score of the worst.
    pub rejected_score: f64,
    /// Agreement of a pairwise judge over both orders.
    pub agreement: OrderAgreement,
}

/// Agreement of a pairwise judge over both orders.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum OrderAgreement {
    /// There is no pairwise judge.
    NotAsked,
    /// Both orders prefer the chosen response.
    Agrees,
    /// Both orders prefer the rejected response.
    Contradicts,
    /// The orders differ, or one is a tie: position bias.
    Inconsistent,
    /// One of the orders has no verdict.
    NotMeasured,
}

/// Probability that the chosen response is better, by the position that it was shown in.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct BothOrders {
    /// Shown first.
    pub first: Option<f64>,
    /// Shown second.
    pub second: Option<f64>,
}

/// Reason why a group has no pair.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NoPair {
    /// Fewer than two responses have a score.
    TooFewMeasured {
        /// Number of measured responses.
        measured: usize,
    },
    /// All scores are equal.
    Tie,
    /// Best and worst have the same text.
    SameText,
    /// The scores differ by less than the margin.
    WithinMargin {
        /// Difference of the scores.
        difference: f64,
    },
    /// The pairwise judge does not prefer the chosen response in both orders.
    OrdersDisagree {
        /// Its agreement.
        agreement: OrderAgreement,
    },
}

/// A preference row.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PreferenceRow<'a> {
    /// The prompt.
    pub prompt: &'a str,
    /// The better response.
    pub chosen: &'a str,
    /// The worse response.
    pub rejected: &'a str,
    /// Score of the better.
    pub chosen_score: f64,
    /// Score of the worse.
    pub rejected_score: f64,
    /// Difference of the scores.
    pub margin: f64,
}

impl BothOrders {
    /// Agreement of the two orders.
    pub fn agreement(self) -> OrderAgreement {
        let finite = |p: Option<f64>| p.filter(|p| p.is_finite());
        match (finite(self.first), finite(self.second)) {
            (Some(first), Some(second)) if first > 0.5 && second > 0.5 => OrderAgreement::Agrees,
            (Some(first), Some(second)) if first < 0.5 && second < 0.5 => {
                OrderAgreement::Contradicts
            }
            (Some(_), Some(_)) => OrderAgreement::Inconsistent,
            (None, _) | (_, None) => OrderAgreement::NotMeasured,
        }
    }
}

/// Reads both orders of two responses from a matrix whose entry `[i][j]` is the probability that
/// response i beats response j when i is shown first. An entry that is missing was not measured.
///
/// A matrix of means over both orders, in which the entries of a pair add up to 1, has no
/// information about orders: its orders always agree.
pub fn both_orders(matrix: &[Vec<Option<f64>>], chosen: usize, rejected: usize) -> BothOrders {
    let at = |row: usize, column: usize| *matrix.get(row)?.get(column)?;
    BothOrders {
        first: at(chosen, rejected),
        second: at(rejected, chosen).map(|other| 1.0 - other),
    }
}

/// Pairs the best with the worst response. `orders` returns the verdicts of a pairwise judge on a chosen
/// and a rejected position, `None` without such a judge.
///
/// # Errors
/// The reason why the group has no pair, as a value to count.
pub fn best_worst(
    members: &[GroupMember<'_>],
    rule: PairRule,
    orders: impl Fn(usize, usize) -> Option<BothOrders>,
) -> Result<ScoredPair, NoPair> {
    let measured = super::measured(members).count();
    let (Some(chosen), Some(rejected), 2..) =
        (best(members, rule.seed), worst(members, rule.seed), measured)
    else {
        return Err(NoPair::TooFewMeasured { measured });
    };
    let score = |index: usize| members[index].measured().expect("it was chosen by it");
    let (chosen_score, rejected_score) = (score(chosen), score(rejected));
    let difference = chosen_score - rejected_score;
    if difference <= 0.0 {
        return Err(NoPair::Tie);
    }
    if members[chosen].text == members[rejected].text {
        return Err(NoPair::SameText);
    }
    if difference < rule.margin {
        return Err(NoPair::WithinMargin { difference });
    }
    let both = orders(chosen, rejected);
    let agreement = both.map_or(OrderAgreement::NotAsked, BothOrders::agreement);
    let is_wanted = match agreement {
        OrderAgreement::NotAsked | OrderAgreement::Agrees => true,
        OrderAgreement::Contradicts
        | OrderAgreement::Inconsistent
        | OrderAgreement::NotMeasured => false,
    };
    if rule.both_orders && !is_wanted {
        return Err(NoPair::OrdersDisagree { agreement });
    }
    Ok(ScoredPair { chosen, rejected, chosen_score, rejected_score, agreement })
}

impl ScoredPair {
    /// Converts the pair to a row.
    pub fn row<'a>(&self, prompt: &'a str, members: &[GroupMember<'a>]) -> PreferenceRow<'a> {
        PreferenceRow {
            prompt,
            chosen: members[self.chosen].text,
            rejected: members[self.rejected].text,
            chosen_score: self.chosen_score,
            rejected_score: self.rejected_score,
            margin: self.chosen_score - self.rejected_score,
        }
    }
}
