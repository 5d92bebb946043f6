//! Results of tools inside responses.

use std::ops::Range;

use rubrics::FailureKind;
use serde::{Deserialize, Serialize};

use super::{Rollout, Token};

/// The results of a turn's calls, inserted behind the turn. Its tokens were not sampled: nothing is
/// trained on them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Observation {
    /// Number of sampled tokens before it.
    pub at: usize,
    /// The inserted tokens, in a chat template with those that open the next turn.
    pub token_ids: Vec<u32>,
    /// Its text, as logs and scorers of the transcript read it.
    pub text: String,
    /// Number of calls that it has the results of.
    pub calls: usize,
    /// Number of those that failed.
    pub failed: usize,
}

/// Why a response ended before the model ended it, beside its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EarlyEnd {
    /// It called tools in more turns than it may.
    Turns,
    /// A tool failed, and not by its arguments: the response has no score.
    Tool(FailureKind),
}

/// All token ids of a response, with those of its observations.
pub fn interleaved(tokens: &[Token], observations: &[Observation]) -> Vec<u32> {
    let mut ids = Vec::with_capacity(tokens.len());
    let mut begin = 0;
    for observation in observations {
        ids.extend(tokens[begin..observation.at].iter().map(|token| token.id));
        ids.extend_from_slice(&observation.token_ids);
        begin = observation.at;
    }
    ids.extend(tokens[begin..].iter().map(|token| token.id));
    ids
}

impl Rollout {
    /// The sampled tokens of each turn; a last turn without tokens is left out.
    pub fn turns(&self) -> Vec<Range<usize>> {
        let ends = self.observations.iter().map(|observation| observation.at);
        let ends: Vec<usize> = ends.chain([self.tokens.len()]).collect();
        let begins = [0].into_iter().chain(ends.iter().copied());
        begins.zip(&ends).map(|(begin, end)| begin..*end).filter(|turn| !turn.is_empty()).collect()
    }

    /// The place of each sampled token among [`Rollout::ids`].
    pub fn places(&self) -> Vec<usize> {
        let mut inserted = 0;
        let mut observations = self.observations.iter().peekable();
        let place = |at: usize| {
            while let Some(observation) = observations.next_if(|next| next.at <= at) {
                inserted += observation.token_ids.len();
            }
            at + inserted
        };
        (0..self.tokens.len()).map(place).collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::item::Observation;
    use crate::judge_data::fixtures::none;

    use super::*;

    #[test]
    fn sampled_tokens_have_their_places_between_observations() {
        let token = |id| Token { id, logprob: -1.0, revision: 0 };
        let observation = |at, ids: &[u32]| Observation {
            at,
            token_ids: ids.to_vec(),
            text: String::new(),
            calls: 1,
            failed: 0,
        };
        let check = |n: u32, observations: &[(usize, &[u32])], ids: &[u32], places: &[usize]| {
            let observations = observations.iter().map(|(at, ids)| observation(*at, ids)).collect();
            let rollout = Rollout { tokens: (0..n).map(token).collect(), observations, ..none() };
            assert_eq!(rollout.ids(), ids);
            assert_eq!(rollout.places(), places);
            for (token, place) in rollout.tokens.iter().zip(places) {
                assert_eq!(token.id, ids[*place]);
            }
            rollout.turns().into_iter().map(|turn| (turn.start, turn.end)).collect::<Vec<_>>()
        };
        assert_eq!(check(3, &[], &[0, 1, 2], &[0, 1, 2]), [(0, 3)]);
        let turns =
            check(4, &[(1, &[70, 71]), (3, &[80])], &[0, 70, 71, 1, 2, 80, 3], &[0, 3, 4, 6]);
        assert_eq!(turns, [(0, 1), (1, 3), (3, 4)]);
        let turns = check(5, &[(3, &[80, 81])], &[0, 1, 2, 80, 81, 3, 4], &[0, 1, 2, 5, 6]);
        assert_eq!(turns, [(0, 3), (3, 5)]);
        // A response that ends with a result.
        assert_eq!(check(2, &[(2, &[70])], &[0, 1, 70], &[0, 1]), [(0, 2)]);
        assert_eq!(check(0, &[], &[], &[]), []);
    }
}
