//! Rewards by majority vote: without a reference answer, the most frequent answer of a group is the
//! reference (TTRL: Test-Time Reinforcement Learning, arXiv 2504.16084).
//!
//! It is the baseline for a learned judge: it needs no judge, and its confidence is the model's
//! own.

use std::collections::BTreeMap;
use std::sync::Arc;

use rubrics::FailureKind;
use verifiers::extract::{AnswerPolicy, answer};

use crate::item::{Group, Rollout, TrainingItem};

/// The scorer that such problems name. It is not one of `rubrics`, since a reward depends on the
/// other rollouts of its group.
pub(crate) const SCORER: &str = "majority-vote";

/// Whether a group is rewarded by its own vote.
pub(super) fn applies(group: &Group) -> bool {
    &*group.item.scorer == SCORER
}

/// The problem with the majority's answer as its reference, judged by `scorer`. Without any
/// extracted answer, the group has no rewards.
pub(super) fn elect(group: &mut Group, scorer: &Arc<str>) -> Option<Arc<TrainingItem>> {
    let Some(gold) = majority(&group.rollouts) else {
        for rollout in &mut group.rollouts {
            rollout.reward = Err(FailureKind::Abstain);
        }
        return None;
    };
    Some(Arc::new(TrainingItem {
        gold: Some(gold.into()),
        scorer: scorer.clone(),
        ..(*group.item).clone()
    }))
}

/// The most frequent answer in its original text; the first of equally frequent ones.
fn majority(rollouts: &[Rollout]) -> Option<String> {
    let policy = AnswerPolicy::default();
    let mut seen: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for (at, rollout) in rollouts.iter().enumerate() {
        if let Some(found) = answer(&rollout.text, &policy) {
            seen.entry(found.text.trim()).or_insert((0, at)).0 += 1;
        }
    }
    let most =
        seen.into_iter().max_by_key(|(_, (votes, first))| (*votes, std::cmp::Reverse(*first)))?;
    Some(most.0.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn majority_wins_and_ties_go_to_the_first() {
        let check = |texts: &[&str], expected: Option<&str>| {
            let rollout = |text: &&str| Rollout {
                text: (*text).to_owned(),
                truncated: false,
                tokens: Vec::new(),
                observations: Vec::new(),
                early_end: None,
                scaffold: None,
                answer: None,
                reward: Err(FailureKind::Internal),
                right: None,
                steps: None,
            };
            let rollouts: Vec<Rollout> = texts.iter().map(rollout).collect();
            assert_eq!(majority(&rollouts).as_deref(), expected, "{texts:?}");
        };
        check(&["Answer: 3", "1+1=2\nAnswer: 2", "Answer: 2"], Some("2"));
        check(&["Answer: 9", "Answer: 2"], Some("9"));
        check(&["Answer: 2", "Answer: 9", "Answer: 9", "Answer: 2"], Some("2"));
        check(&["nothing at all is said here, by nobody", "Answer: 4"], Some("4"));
        check(&["nothing at all is said here, by nobody"], None);
        check(&[], None);
    }
}
