//! What auxiliary models say about a batch, for advantages and losses.

use super::super::rollouts::ScoredGroup;
use crate::advantages::{ResponseStep, ScoredResponse};

/// A number of each token, by group, response and token.
pub(in super::super) type TokenNumbers = Vec<Vec<Vec<f64>>>;

/// What auxiliary models say about the rollouts of a batch.
#[derive(Debug, Default)]
pub(in super::super) struct Judged {
    /// Values of tokens.
    pub(in super::super) values: Option<TokenNumbers>,
    /// The mean entropy of the tokens of each response.
    pub(in super::super) entropies: Option<Vec<Vec<f64>>>,
    /// Rewards of tokens: the divergence from the reference.
    pub(in super::super) token_rewards: Option<TokenNumbers>,
    /// Steps with their rewards, in the place of those of the groups.
    pub(in super::super) steps: Option<Vec<Vec<Vec<ResponseStep>>>>,
    /// A token reward model's probabilities that a response is right so far.
    pub(in super::super) credit: Option<TokenNumbers>,
    /// Whether each response is trained on.
    pub(in super::super) kept: Option<Vec<Vec<bool>>>,
    /// The weight of each group in the loss.
    pub(in super::super) weights: Option<Vec<f64>>,
}

/// Lists rewards, steps and values of all rollouts, group by group, for advantages.
pub(in super::super) fn scored_responses<'a>(
    groups: &'a [ScoredGroup],
    judged: &'a Judged,
) -> Vec<Vec<ScoredResponse<'a>>> {
    let numbers = |all: &'a Option<TokenNumbers>, group: usize, at: usize| -> &'a [f64] {
        all.as_ref().map_or(&[], |all| &all[group][at])
    };
    let response = |group: usize, scored: &'a ScoredGroup, at: usize| {
        let steps = judged.steps.as_ref().map_or(&scored.steps[at], |all| &all[group][at]);
        let n = scored.group.rollouts[at].tokens.len();
        ScoredResponse {
            values: numbers(&judged.values, group, at),
            entropy: judged.entropies.as_ref().map(|all| all[group][at]),
            token_rewards: numbers(&judged.token_rewards, group, at),
            ..ScoredResponse::new(scored.rewards[at], n).with_steps(steps)
        }
    };
    let group = |(group, scored): (usize, &'a ScoredGroup)| {
        (0..scored.group.rollouts.len()).map(|at| response(group, scored, at)).collect()
    };
    groups.iter().enumerate().map(group).collect()
}
