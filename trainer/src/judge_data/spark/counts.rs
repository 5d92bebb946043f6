//! Counts of the items made and dropped.

use serde::Serialize;

use crate::item::ItemRole;
use crate::judge_data::templates::TemplateKind;

/// Items by kind and label after caps and balancing, and the reasons for missing ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SparkCounts {
    /// Pointwise items on right answers.
    pub pointwise_right: u64,
    /// Pointwise items on wrong answers.
    pub pointwise_wrong: u64,
    /// Pairwise items whose first answer is the right one.
    pub pairwise_first: u64,
    /// Pairwise items whose second answer is the right one.
    pub pairwise_second: u64,
    /// Reflections on the full text of a wrong solution.
    pub reflect_reasoning: u64,
    /// Reflections on a wrong final answer.
    pub reflect_answer: u64,
    /// Items on old mistakes, before caps.
    pub from_reservoir: u64,
    /// Items dropped because the chosen rollout has no answer to show.
    pub no_answer: u64,
    /// Pairs dropped because both answers have the same text.
    pub same_answer: u64,
    /// Reflections dropped because the problem has no gold answer.
    pub no_gold: u64,
    /// Rollouts without a reward, which are not used.
    pub unrewarded: u64,
    /// Items over a cap.
    pub over_cap: u64,
    /// Items dropped so that labels are balanced.
    pub unbalanced: u64,
}

impl SparkCounts {
    pub(super) fn judged(&mut self, role: ItemRole, yes: bool) {
        let count = match (role == ItemRole::Pairwise, yes) {
            (false, true) => &mut self.pointwise_right,
            (false, false) => &mut self.pointwise_wrong,
            (true, true) => &mut self.pairwise_first,
            (true, false) => &mut self.pairwise_second,
        };
        *count += 1;
    }

    pub(super) fn reflected(&mut self, kind: TemplateKind) {
        if kind == TemplateKind::ReflectReasoning {
            self.reflect_reasoning += 1;
        } else {
            self.reflect_answer += 1;
        }
    }
}
