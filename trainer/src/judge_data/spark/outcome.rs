//! The verified outcome of a group of rollouts.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use verifiers::extract::{Occurrence, marked};

use crate::item::{Group, ItemRole, Rollout, TrainingItem};

/// The answer of a rollout that an item shows. The reward, and with it the label, belongs to the
/// answer that the verifier extracted; in a text with several boxes, another choice can mislabel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ShownAnswer {
    /// The answer that the verifier judged.
    Judged,
    /// The first `\boxed{…}` that closes, as in the authors' code.
    FirstBoxed,
    /// The last one.
    LastBoxed,
    /// The response as a whole, for verifiers that judge all of it.
    Whole,
}

/// A group with its verified answers.
pub(super) struct VerifiedGroup<'g> {
    pub(super) item: &'g TrainingItem,
    /// Index within the step of the group's first rollout.
    pub(super) first: usize,
    /// Places of the right answers, in order.
    pub(super) right: Vec<usize>,
    /// Places of the wrong ones.
    pub(super) wrong: Vec<usize>,
    /// Number of rollouts without a reward.
    pub(super) unrewarded: u64,
    rollouts: &'g [Rollout],
    shown: ShownAnswer,
}

/// The first column of the table.
pub(super) enum GroupOutcome {
    /// No rollout has a reward.
    Nothing,
    AllRight,
    AllWrong,
    Mixed,
}

/// A rollout to show.
pub(super) struct Chosen<'g> {
    pub(super) solution: &'g str,
    pub(super) answer: Cow<'g, str>,
    pub(super) right: bool,
    /// Its index within the step; `None` for old ones.
    pub(super) parent: Option<usize>,
}

/// The policy's groups of a step. Groups of other roles are skipped, but their rollouts count in
/// the indices.
pub(super) fn seen(
    groups: &[Group],
    shown: ShownAnswer,
) -> impl Iterator<Item = VerifiedGroup<'_>> {
    let firsts = groups.iter().scan(0, |next, group| {
        let first = *next;
        *next += group.rollouts.len();
        Some((first, group))
    });
    let of_player = firsts.filter(|(_, group)| group.item.role == ItemRole::Policy);
    of_player.map(move |(first, group)| {
        let places = |wanted: fn(&Rollout) -> bool| {
            let rollouts = group.rollouts.iter().enumerate();
            let places = rollouts.filter(|(_, rollout)| wanted(rollout));
            places.map(|(place, _)| place).collect::<Vec<_>>()
        };
        let (right, wrong) = (places(Rollout::is_right), places(Rollout::is_wrong));
        VerifiedGroup {
            item: &group.item,
            first,
            unrewarded: (group.rollouts.len() - right.len() - wrong.len()) as u64,
            right,
            wrong,
            rollouts: &group.rollouts,
            shown,
        }
    })
}

impl<'g> VerifiedGroup<'g> {
    pub(super) fn outcome(&self) -> GroupOutcome {
        match (self.right.is_empty(), self.wrong.is_empty()) {
            (true, true) => GroupOutcome::Nothing,
            (false, true) => GroupOutcome::AllRight,
            (true, false) => GroupOutcome::AllWrong,
            (false, false) => GroupOutcome::Mixed,
        }
    }

    /// The full text of the rollout at `place`.
    pub(super) fn solution(&self, place: usize) -> &'g str {
        &self.rollouts[place].text
    }

    /// The final answer to show of the rollout at `place`.
    pub(super) fn answer(&self, place: usize) -> Option<Cow<'g, str>> {
        let rollout = &self.rollouts[place];
        let boxed = |which| marked(&rollout.text, "\\boxed", which).map(|found| found.text);
        let found = match self.shown {
            ShownAnswer::Judged => rollout.answer.as_deref(),
            ShownAnswer::FirstBoxed => boxed(Occurrence::First),
            ShownAnswer::LastBoxed => boxed(Occurrence::Last),
            ShownAnswer::Whole => Some(rollout.text.as_str()),
        };
        found.filter(|text| !text.trim().is_empty()).map(Cow::from)
    }

    pub(super) fn wrong_with_answer(&self) -> Vec<usize> {
        let wrong = self.wrong.iter().copied();
        wrong.filter(|place| self.answer(*place).is_some()).collect()
    }

    /// The rollout at `place`, if it has an answer to show.
    pub(super) fn answered(&self, place: Option<usize>) -> Option<Chosen<'g>> {
        let place = place?;
        Some(Chosen {
            solution: self.solution(place),
            answer: self.answer(place)?,
            right: self.right.contains(&place),
            parent: Some(self.first + place),
        })
    }
}
