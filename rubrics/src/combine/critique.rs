//! Votes over critiques and the rewards that follow: CAPO, generative credit assignment
//! (2508.02298).

use base::stats::from_count;
use std::collections::BTreeSet;

use serde::Serialize;

use super::group::{Normalisation, advantages};
use super::numbers::{CombineError, not_negative, results, shares};

/// When a step counts as wrong, given `k` critiques that could be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Vote {
    /// All of them name it.
    Intersection,
    /// At least `k / 2` of them name it.
    Majority,
    /// One of them names it.
    Union,
    /// It counts by the share of them that name it.
    Average,
    /// The first critique alone, which is meant to be decoded greedily.
    Greedy,
}

/// Wrong steps of a solution, by vote.
#[derive(Debug, Clone, PartialEq)]
pub struct WrongSteps {
    /// For each step how wrong it is, in [0, 1]: 0 or 1 but for [`Vote::Average`].
    pub weights: Vec<f64>,
    /// Readable critiques, on which the vote rests. If 0, no step counts as wrong, and a report of
    /// the vote should say so.
    pub readable: usize,
}

/// Weights of a right answer and of a wrong step.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Weights {
    /// `W_whole`.
    pub whole: f64,
    /// `W_process`.
    pub process: f64,
}

impl Default for Weights {
    /// The paper's 2 and 1, by which a right answer with a wrong step still outranks a wrong answer
    /// without one.
    fn default() -> Self {
        Self { whole: 2.0, process: 1.0 }
    }
}

/// Takes a vote over critiques: each lists the numbers of the wrong steps, from 1; `None` if it is
/// unreadable.
///
/// Rules of our own, where we have none from the paper: numbers outside `1..=n_steps` are ignored,
/// a repeated number counts once, an unreadable critique does not count towards `k`, and without a
/// readable critique no step is wrong.
pub fn vote(critiques: &[Option<Vec<usize>>], n_steps: usize, how: Vote) -> WrongSteps {
    let voting = match how {
        Vote::Greedy => critiques.get(..1).unwrap_or_default(),
        Vote::Intersection | Vote::Majority | Vote::Union | Vote::Average => critiques,
    };
    let mut counts = vec![0_usize; n_steps];
    let mut readable = 0;
    for named in voting.iter().flatten() {
        readable += 1;
        let named: BTreeSet<usize> = named.iter().copied().collect();
        for number in named {
            let step = number.checked_sub(1);
            if let Some(count) = step.and_then(|step| counts.get_mut(step)) {
                *count += 1;
            }
        }
    }
    if readable == 0 {
        let weights = vec![0.0; n_steps];
        return WrongSteps { weights, readable };
    }
    let weight = |named: usize| match how {
        Vote::Intersection | Vote::Greedy => f64::from(u8::from(named == readable)),
        Vote::Majority => f64::from(u8::from(2 * named >= readable)),
        Vote::Union => f64::from(u8::from(named > 0)),
        Vote::Average => from_count(named) / from_count(readable),
    };
    WrongSteps { weights: counts.into_iter().map(weight).collect(), readable }
}

/// Returns the reward of each step's tokens: `R_t = r_v W_whole - 1[t in T_err] W_process`.
///
/// # Errors
/// A weight of a step outside [0, 1], or a weight of the method below 0.
pub fn step_rewards(
    is_right: bool,
    wrong: &[f64],
    weights: Weights,
) -> Result<Vec<f64>, CombineError> {
    shares("weight of step", wrong)?;
    not_negative("weight", &[weights.whole, weights.process])?;
    let whole = if is_right { weights.whole } else { 0.0 };
    let reward = |wrong: &f64| whole - wrong * weights.process;
    results(wrong.iter().map(reward).collect())
}

/// Normalises token rewards over all tokens of the group at once. `group` has one list for each
/// response.
///
/// # Errors
/// No token at all, or a number that is not finite.
pub fn token_advantages(
    group: &[Vec<f64>],
    how: Normalisation,
) -> Result<Vec<Vec<f64>>, CombineError> {
    let mut left = advantages(&group.concat(), how)?.into_iter();
    let take = |rewards: &Vec<f64>| left.by_ref().take(rewards.len()).collect();
    Ok(group.iter().map(take).collect())
}
