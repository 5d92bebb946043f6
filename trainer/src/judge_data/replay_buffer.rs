//! Old wrong answers: a policy that is mostly right makes too few mistakes to train a judge on.

use std::sync::Arc;

use rand::RngExt as _;
use serde::{Deserialize, Serialize};

use crate::item::{Group, ItemRole, TrainingItem};
use base::seeded::decision;

/// A wrong answer and its problem.
#[derive(Clone, Debug, PartialEq)]
pub struct Mistake {
    /// The problem.
    pub item: Arc<TrainingItem>,
    /// The answer's full text.
    pub text: String,
    /// The final answer that a verifier found in it.
    pub answer: String,
}

/// A uniform sample of all mistakes of a run, of bounded size (reservoir sampling, Vitter 1985,
/// algorithm R). Serialisable, and resumed exactly: probabilities depend on the number of mistakes
/// seen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReplayBuffer {
    capacity: usize,
    seed: u64,
    seen: u64,
    #[serde(with = "mistakes")]
    kept: Vec<Mistake>,
}

impl ReplayBuffer {
    /// An empty buffer that keeps `capacity` mistakes.
    pub fn new(capacity: usize, seed: u64) -> Self {
        Self { capacity, seed, seen: 0, kept: Vec::new() }
    }

    /// Adds every answer of the policy that a verifier found wrong and that has a final answer.
    pub fn observe(&mut self, groups: &[Group]) {
        for group in groups.iter().filter(|g| g.item.role == ItemRole::Policy) {
            for rollout in group.rollouts.iter().filter(|r| r.is_wrong()) {
                if let Some(answer) = &rollout.answer {
                    self.add(Mistake {
                        item: Arc::clone(&group.item),
                        text: rollout.text.clone(),
                        answer: answer.clone(),
                    });
                }
            }
        }
    }

    /// Keeps the `n`-th mistake with probability capacity / n, in the place of a random one.
    fn add(&mut self, mistake: Mistake) {
        self.seen += 1;
        if self.kept.len() < self.capacity {
            self.kept.push(mistake);
            return;
        }
        let place = decision(self.seed, "reservoir", &[self.seen]).random_range(0..self.seen);
        let place = usize::try_from(place).ok();
        if let Some(slot) = place.and_then(|place| self.kept.get_mut(place)) {
            *slot = mistake;
        }
    }

    /// The mistakes it keeps.
    pub fn mistakes(&self) -> &[Mistake] {
        &self.kept
    }

    /// Number of mistakes seen.
    pub fn seen(&self) -> u64 {
        self.seen
    }
}

/// Mistakes in files.
mod mistakes {
    use std::sync::Arc;

    use serde::{Deserialize, Deserializer, Serialize as _, Serializer};

    use super::Mistake;
    use crate::item::TrainingItem;

    pub(super) fn serialize<S: Serializer>(kept: &[Mistake], out: S) -> Result<S::Ok, S::Error> {
        let rows = kept.iter().map(|m| (&*m.item, &m.text, &m.answer));
        rows.collect::<Vec<_>>().serialize(out)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        input: D,
    ) -> Result<Vec<Mistake>, D::Error> {
        let rows = Vec::<(TrainingItem, String, String)>::deserialize(input)?;
        let read = rows.into_iter().map(|(item, text, answer)| Mistake {
            item: Arc::new(item),
            text,
            answer,
        });
        Ok(read.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge_data::fixtures::{group, none, right, wrong};

    #[test]
    fn only_wrong_answers_with_an_answer_are_kept() {
        let mut reservoir = ReplayBuffer::new(10, 1);
        let mut silent = wrong("x");
        silent.answer = None;
        reservoir.observe(&[group(7, vec![right("2"), wrong("3"), none(), silent])]);
        let kept: Vec<_> = reservoir.mistakes().iter().collect();
        assert_eq!(kept.len(), 1);
        assert_eq!((kept[0].item.index, kept[0].answer.as_str()), (7, "3"));
        assert_eq!(reservoir.seen(), 1);
    }

    #[test]
    fn mistakes_are_kept_with_equal_probability() {
        let runs = 2000;
        let mut kept = [0_u32; 20];
        for seed in 0..runs {
            let mut reservoir = ReplayBuffer::new(5, seed);
            for index in 0..20 {
                reservoir.observe(&[group(index, vec![wrong("3")])]);
            }
            for mistake in reservoir.mistakes() {
                kept[usize::try_from(mistake.item.index).expect("small")] += 1;
            }
        }
        // A binomial of 2000 draws with probability a quarter: six deviations are 116.
        for count in kept {
            assert!((384..=616).contains(&count), "{kept:?}");
        }
    }

    #[test]
    fn resumed_replay_buffer_continues_unchanged() {
        let feed = |reservoir: &mut ReplayBuffer, range: std::ops::Range<u64>| {
            for index in range {
                reservoir.observe(&[group(index, vec![wrong("3")])]);
            }
        };
        let mut whole = ReplayBuffer::new(3, 5);
        feed(&mut whole, 0..30);
        let mut half = ReplayBuffer::new(3, 5);
        feed(&mut half, 0..11);
        let text = serde_json::to_string(&half).expect("serialises");
        let mut resumed: ReplayBuffer = serde_json::from_str(&text).expect("reads");
        feed(&mut resumed, 11..30);
        assert_eq!(resumed, whole);
        let mut none = ReplayBuffer::new(0, 5);
        feed(&mut none, 0..3);
        assert!(none.mistakes().is_empty());
    }
}
