//! Decisions over the responses to one prompt: pass rates, best of n, pairs, votes, filtration.
//!
//! Every function is pure. A score that could not be measured is `None` and enters no number; a score
//! that is not finite counts as not measured. Random choices follow from a seed and the content of the
//! responses, so that the order of rows, files and shards changes nothing.

mod choice;
mod filtration;
mod pairs;
mod rate;
#[cfg(test)]
mod tests;
mod vote;

pub use choice::{best, best_of, worst};
pub use filtration::{Filtration, keep, weights};
pub use pairs::{
    BothOrders, NoPair, OrderAgreement, PairRule, PreferenceRow, ScoredPair, best_worst,
    both_orders,
};
pub use rate::{Band, BandError, BandPosition, PassRate, pass_rate};
pub use vote::{Ballot, VoteOutcome, majority, normalised};

/// One response of a group.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GroupMember<'a> {
    /// The response.
    pub text: &'a str,
    /// Its score; `None` if not measured.
    pub score: Option<f64>,
}

impl GroupMember<'_> {
    /// The score, if it is finite.
    fn measured(&self) -> Option<f64> {
        self.score.filter(|score| score.is_finite())
    }
}

/// Positions and scores of the measured members.
fn measured<'m>(members: &'m [GroupMember<'_>]) -> impl Iterator<Item = (usize, f64)> + 'm {
    let scored = |(index, member): (usize, &GroupMember<'_>)| Some((index, member.measured()?));
    members.iter().enumerate().filter_map(scored)
}
