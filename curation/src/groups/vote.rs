//! Majority votes over answers.

use std::collections::BTreeMap;

use caseless::Caseless as _;
use serde::Serialize;
use unicode_normalization::UnicodeNormalization as _;

/// One vote.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ballot<'a> {
    /// The answer; `None` if none could be extracted, which is no vote.
    pub answer: Option<&'a str>,
    /// Its weight; `None` if not measured, which is no vote either. A plain majority uses the weight 1.
    pub weight: Option<f64>,
}

/// Result of a vote.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum VoteOutcome {
    /// One answer has the greatest weight.
    Won {
        /// The normalised answer.
        answer: String,
        /// Positions of the ballots that gave it.
        voters: Vec<usize>,
        /// Its share of the weight of all votes that count.
        share: f64,
        /// Ballots without a vote.
        n_silent: usize,
    },
    /// Several answers have the greatest weight.
    Tied {
        /// The normalised answers, sorted.
        answers: Vec<String>,
        /// Ballots without a vote.
        n_silent: usize,
    },
    /// There are no votes with a weight.
    NoVotes {
        /// Ballots without a vote.
        n_silent: usize,
    },
}

/// Counts votes over answers with equal normal forms. An answer without a normal form is no vote, nor is
/// a weight that is negative or not finite.
///
/// Weights of one answer are added in ascending order, so that the sum, and with it a tie, does not
/// depend on the order of the ballots.
pub fn majority(ballots: &[Ballot<'_>], normalise: impl Fn(&str) -> Option<String>) -> VoteOutcome {
    let mut by_answer: BTreeMap<String, (Vec<usize>, Vec<f64>)> = BTreeMap::new();
    let mut n_silent = 0;
    for (index, ballot) in ballots.iter().enumerate() {
        let weight = ballot.weight.filter(|w| w.is_finite() && *w >= 0.0);
        let (Some(answer), Some(weight)) = (ballot.answer.and_then(&normalise), weight) else {
            n_silent += 1;
            continue;
        };
        let (voters, weights) = by_answer.entry(answer).or_default();
        voters.push(index);
        weights.push(weight);
    }
    let sum = |weights: &mut Vec<f64>| -> f64 {
        weights.sort_unstable_by(f64::total_cmp);
        weights.iter().sum()
    };
    let tallied: Vec<(String, Vec<usize>, f64)> = by_answer
        .into_iter()
        .map(|(answer, (voters, mut weights))| (answer, voters, sum(&mut weights)))
        .collect();
    let mut all: Vec<f64> = tallied.iter().map(|(_, _, weight)| *weight).collect();
    let whole = sum(&mut all);
    let most = all.last().copied().unwrap_or(0.0);
    if most <= 0.0 {
        return VoteOutcome::NoVotes { n_silent };
    }
    let (mut winners, rest): (Vec<_>, Vec<_>) =
        tallied.into_iter().partition(|(_, _, weight)| weight.total_cmp(&most).is_eq());
    drop(rest);
    if winners.len() > 1 {
        let answers = winners.into_iter().map(|(answer, _, _)| answer).collect();
        return VoteOutcome::Tied { answers, n_silent };
    }
    let (answer, voters, weight) = winners.pop().expect("there is a greatest weight");
    VoteOutcome::Won { answer, voters, share: weight / whole, n_silent }
}

/// Normalises a short answer: canonical case folding, runs of white space as one blank,
/// no blanks, dollar signs or full stop around it. `None` for an empty answer.
pub fn normalised(answer: &str) -> Option<String> {
    let folded: String = answer.nfd().default_case_fold().nfc().collect();
    let words: Vec<&str> = folded.split_whitespace().collect();
    let joined = words.join(" ");
    let bare = joined.trim_matches(['$', ' ']);
    let bare = bare.strip_suffix('.').unwrap_or(bare);
    let bare = bare.trim_matches(['$', ' ']);
    (!bare.is_empty()).then(|| bare.to_owned())
}
