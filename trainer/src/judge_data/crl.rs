//! CRL, as in Critique-Coder (arXiv 2509.22824, the id is unconfirmed): a share of a batch are
//! critique items. The model criticises a solution and concludes `\conclusion{T}` or
//! `\conclusion{F}`; the last conclusion counts, and the reward is 1 if it equals the label,
//! otherwise 0, also without a conclusion. That reward is the scorer `conclusion` of
//! [`super::SCORERS`].
//!
//! The share of 20 % and the conclusion are from the authors' code. They take questions, solutions
//! and labels from a data set; taking them from the model's own verified rollouts, balancing labels
//! and filling up with old mistakes is ours.

use std::sync::Arc;

use rand::{Rng, RngExt as _, seq::SliceRandom as _};
use serde::{Deserialize, Serialize};

use super::draws::{StepSeed, subset};
use super::replay_buffer::ReplayBuffer;
use super::templates::{TemplateKind, Templates};
use crate::error::{Result, TrainError};
use crate::item::{Group, ItemRole, TrainingItem};

/// The options of CRL.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CrlConfig {
    /// Share of a batch's items that are critiques: 0.2.
    pub share: f64,
    /// Whether to balance right and wrong solutions. Ours, on by default: a critic that approves of
    /// everything must not gain.
    pub balance: bool,
}

impl Default for CrlConfig {
    fn default() -> Self {
        Self { share: 0.2, balance: true }
    }
}

/// Counts of a draw of critiques.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CrlCounts {
    /// Critiques of right solutions.
    pub right: u64,
    /// Critiques of wrong solutions.
    pub wrong: u64,
    /// Critiques of wrong solutions that are old mistakes.
    pub from_reservoir: u64,
    /// Items missing from the requested number.
    pub short: u64,
}

/// Makes critique items.
#[derive(Clone, Debug)]
pub struct Crl {
    config: CrlConfig,
    templates: Templates,
}

/// A solution with its label.
struct Solution<'g> {
    item: &'g TrainingItem,
    text: &'g str,
    parent: Option<usize>,
}

impl Crl {
    /// Makes critiques with these options and wordings.
    ///
    /// # Errors
    /// A share that is not in [0, 1), or no wording of a critique.
    pub fn new(config: CrlConfig, templates: Templates) -> Result<Self> {
        if !(0.0..1.0).contains(&config.share) {
            return Err(TrainError::Invalid(format!(
                "crl.share is at least 0 and below 1, not {}",
                config.share
            )));
        }
        templates.require(&[TemplateKind::Critique])?;
        Ok(Self { config, templates })
    }

    /// The number of critiques beside `others` items that gives them their share of all.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share below 1 of a batch, rounded, is a small count"
    )]
    pub fn beside(&self, others: usize) -> usize {
        let share = self.config.share;
        (others as f64 * share / (1.0 - share)).round() as usize
    }

    /// Makes the critique item of one solution with a known label.
    pub fn critique(
        &self,
        of: &TrainingItem,
        solution: &str,
        right: bool,
        rng: &mut impl Rng,
    ) -> TrainingItem {
        let wordings = self.templates.of(TemplateKind::Critique);
        let template = &wordings[rng.random_range(0..wordings.len())];
        let turns = template.fill(&[("problem", &of.problem), ("solution", solution)]);
        TrainingItem {
            role: ItemRole::Critic,
            turns,
            gold: Some(template.label(right)),
            scorer: Arc::clone(&template.scorer),
            fields: Arc::default(),
            parent: None,
            ..of.clone()
        }
    }

    /// Draws at most `count` critiques of the policy's verified solutions of a step, in random
    /// order. If balance needs more wrong solutions, they come from `old`.
    pub fn draw(
        &self,
        groups: &[Group],
        count: usize,
        seed: StepSeed,
        old: Option<&ReplayBuffer>,
    ) -> (Vec<TrainingItem>, CrlCounts) {
        let mut rng = seed.rng("crl", 0);
        let (rights, mut wrongs) = verified(groups);
        let new = wrongs.len();
        let mistakes = old.map_or(&[][..], ReplayBuffer::mistakes);
        let (of_right, of_wrong) = if self.config.balance {
            let extra = usize::from(rng.random_bool(0.5)) * (count % 2);
            let (right, wrong) = (count / 2 + extra, count / 2 + count % 2 - extra);
            let missing = wrong.saturating_sub(new);
            for place in subset(&mut rng, mistakes.len(), missing) {
                wrongs.push(Solution {
                    item: &mistakes[place].item,
                    text: &mistakes[place].text,
                    parent: None,
                });
            }
            // If the count is odd, either label may have one more.
            let least = rights.len().min(wrongs.len());
            (right.min(least + extra), wrong.min(least + count % 2 - extra))
        } else {
            let both = subset(&mut rng, rights.len() + new, count);
            let right = both.iter().filter(|place| **place < rights.len()).count();
            (right, both.len() - right)
        };
        let mut counts = CrlCounts::default();
        let mut items = Vec::with_capacity(count);
        for (solutions, wanted, right) in [(&rights, of_right, true), (&wrongs, of_wrong, false)] {
            for place in subset(&mut rng, solutions.len(), wanted) {
                let solution = &solutions[place];
                let mut item = self.critique(solution.item, solution.text, right, &mut rng);
                item.parent = solution.parent;
                counts.right += u64::from(right);
                counts.wrong += u64::from(!right);
                counts.from_reservoir += u64::from(!right && place >= new);
                items.push(item);
            }
        }
        counts.short = (count - items.len()) as u64;
        items.shuffle(&mut rng);
        (items, counts)
    }
}

/// The policy's solutions that a verifier found right, and those it found wrong.
fn verified(groups: &[Group]) -> (Vec<Solution<'_>>, Vec<Solution<'_>>) {
    let (mut rights, mut wrongs) = (Vec::new(), Vec::new());
    let mut place = 0;
    for group in groups {
        for rollout in &group.rollouts {
            let solution = Solution { item: &group.item, text: &rollout.text, parent: Some(place) };
            place += 1;
            if group.item.role != ItemRole::Policy {
                continue;
            }
            if rollout.is_right() {
                rights.push(solution);
            } else if rollout.is_wrong() {
                wrongs.push(solution);
            }
        }
    }
    (rights, wrongs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge_data::fixtures::{group, none, right, wrong};

    fn crl(balance: bool) -> Crl {
        let config = CrlConfig { balance, ..CrlConfig::default() };
        Crl::new(config, Templates::built_in("crl").expect("built in")).expect("valid")
    }

    fn at(seed: u64) -> StepSeed {
        StepSeed { seed, step: 1 }
    }

    #[test]
    fn c3_crl_share() {
        let check = |others, expected| assert_eq!(crl(true).beside(others), expected, "{others}");
        check(0, 0);
        check(4, 1);
        check(80, 20);
        check(128, 32);
        for share in [-0.1, 1.0, f64::NAN] {
            let config = CrlConfig { share, ..CrlConfig::default() };
            let templates = Templates::built_in("crl").expect("built in");
            assert!(Crl::new(config, templates).is_err(), "{share}");
        }
    }

    #[test]
    fn c3_crl_labels_are_those_of_the_verifier() {
        let groups = [
            group(0, vec![right("1"), none(), wrong("2")]),
            group(1, vec![wrong("3"), right("4")]),
        ];
        for seed in 0..20 {
            let (items, counts) = crl(false).draw(&groups, 4, at(seed), None);
            assert_eq!((items.len(), counts.right, counts.wrong), (4, 2, 2));
            for item in items {
                let expected = match item.parent {
                    Some(0 | 4) => "T",
                    Some(2 | 3) => "F",
                    other => panic!("made of {other:?}"),
                };
                assert_eq!(item.gold.as_deref(), Some(expected));
                assert_eq!((item.role, &*item.scorer), (ItemRole::Critic, "conclusion"));
                let text = &item.turns[0].content;
                assert!(text.contains("\\conclusion{T}") && text.contains("> I reason."));
            }
        }
    }

    #[test]
    fn c3_crl_labels_are_balanced() {
        let check = |rights: usize, wrongs: usize, old: u64, count: usize, expected: [u64; 2]| {
            let mut rollouts = vec![right("1"); rights];
            rollouts.extend(vec![wrong("2"); wrongs]);
            let mut reservoir = ReplayBuffer::new(10, 1);
            for index in 0..old {
                reservoir.observe(&[group(index, vec![wrong("3")])]);
            }
            for seed in 0..10 {
                let groups = [group(0, rollouts.clone())];
                let (items, counts) = crl(true).draw(&groups, count, at(seed), Some(&reservoir));
                let mut found = [counts.right, counts.wrong];
                found.sort_unstable();
                assert_eq!(found, expected, "{rights} {wrongs} {old} {count}");
                assert_eq!(counts.short, (count - items.len()) as u64);
            }
        };
        check(8, 8, 0, 8, [4, 4]);
        check(8, 2, 0, 8, [2, 2]);
        check(8, 2, 5, 8, [4, 4]);
        check(8, 0, 3, 8, [3, 3]);
        check(0, 8, 0, 8, [0, 0]);
        check(8, 8, 0, 7, [3, 4]);
        check(0, 0, 0, 0, [0, 0]);
    }

    #[test]
    fn old_mistakes_fill_in_for_missing_new_ones() {
        let mut reservoir = ReplayBuffer::new(10, 1);
        reservoir.observe(&[group(9, vec![wrong("3"), wrong("4")])]);
        let groups = [group(0, vec![right("1"), right("2"), wrong("2")])];
        let (items, counts) = crl(true).draw(&groups, 4, at(1), Some(&reservoir));
        assert_eq!((counts.right, counts.wrong, counts.from_reservoir), (2, 2, 1));
        assert_eq!(items.iter().filter(|item| item.index == 9).count(), 1);
    }
}
