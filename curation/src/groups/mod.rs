//! What can be said of the responses to one prompt, and which of them to keep.
//!
//! Every function is pure: slices in, a decision out. A score that could not be measured is `None`
//! and stays out of every number; it is counted apart, and a number that is not finite is taken
//! for one that could not be measured. Where chance decides, a seed and the content of the
//! responses do, so that the order of rows, files and shards changes nothing.

mod choice;
mod filtration;
mod pairs;
mod rate;
#[cfg(test)]
mod tests;
mod vote;

pub use choice::{best, best_of, worst};
pub use filtration::{Filtration, determination, keep, weights};
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
    /// Its score; `None` where it could not be measured.
    pub score: Option<f64>,
}

impl GroupMember<'_> {
    /// The score, if it is one.
    fn measured(&self) -> Option<f64> {
        self.score.filter(|score| score.is_finite())
    }
}

/// Members that have a score: their positions and scores.
fn measured<'m>(members: &'m [GroupMember<'_>]) -> impl Iterator<Item = (usize, f64)> + 'm {
    let scored = |(index, member): (usize, &GroupMember<'_>)| Some((index, member.measured()?));
    members.iter().enumerate().filter_map(scored)
}
