//! OREAL's token reward model: a score of each token, whose mean over a response learns whether the
//! response is right.

use base::seeded::decision;
use models::Output;
use rand::RngExt as _;

use super::super::config::TokenRewardSection;
use super::super::rollouts::ScoredGroup;
use super::judged::Judged;
use super::sequences::{grouped, head_grads, read, scored_sequence, scores};
use crate::auxiliary::AuxiliaryModel;
use crate::error::Result;
use crate::losses::policy::{credit, token_reward_loss};
use crate::methods::context::{LossMeter, StepContext};
use crate::metrics::Metrics;
use crate::policy::{Gradients, Packing, PolicySequence};

/// A token reward model.
#[derive(Debug)]
pub(super) struct TokenReward {
    pub(super) section: TokenRewardSection,
    pub(super) model: AuxiliaryModel,
}

/// The responses that it learns from, and whether each is right.
#[derive(Debug)]
pub(super) struct TokenLesson {
    sequences: Vec<PolicySequence>,
    positive: Vec<bool>,
}

impl TokenReward {
    /// Reads the credit of all tokens and draws the responses to train on.
    pub(super) fn judge(
        &self,
        step: &StepContext<'_>,
        groups: &[ScoredGroup],
        judged: &mut Judged,
    ) -> Result<TokenLesson> {
        let mut sequences = Vec::new();
        for scored in groups {
            for rollout in &scored.group.rollouts {
                let first = scored.prompt.len();
                let positions = rollout.places().into_iter().map(|place| first + place);
                sequences.push(scored_sequence(&scored.prompt, &rollout.ids(), positions));
            }
        }
        let read = read(self.model.policy(), &sequences, step.micro_tokens, scores)?;
        let credits = read.iter().map(|scores| Ok(credit(scores, &[0, scores.len()])?));
        judged.credit = Some(grouped(groups, credits.collect::<Result<_>>()?));
        let kept: Vec<Vec<bool>> =
            (0..).zip(groups).map(|(at, scored)| self.kept(step, at, scored)).collect();
        let positive = groups.iter().flat_map(|scored| &scored.rewards).map(|reward| *reward > 0.0);
        let lesson = sequences.into_iter().zip(positive).zip(kept.concat());
        let lesson = lesson.filter(|(_, kept)| *kept).map(|(own, _)| own);
        let (sequences, positive) = lesson.unzip();
        judged.kept = Some(kept);
        judged.weights = self.section.by_pass_rate.then(|| weights_by_pass_rate(groups));
        Ok(TokenLesson { sequences, positive })
    }

    /// The responses of a group to train on: all, or one right and one wrong.
    fn kept(&self, step: &StepContext<'_>, group: u64, scored: &ScoredGroup) -> Vec<bool> {
        let n = scored.rewards.len();
        if !self.section.pairs {
            return vec![true; n];
        }
        let mut rng = decision(step.seed, "oreal pairs", &[step.step, group]);
        let mut kept = vec![false; n];
        for positive in [true, false] {
            let own: Vec<usize> =
                (0..n).filter(|at| (scored.rewards[*at] > 0.0) == positive).collect();
            if !own.is_empty() {
                kept[own[rng.random_range(0..own.len())]] = true;
            }
        }
        kept
    }

    /// The gradients of a step.
    pub(super) fn gradients(
        &mut self,
        step: &StepContext<'_>,
        lesson: &TokenLesson,
        metrics: &mut Metrics,
    ) -> Result<Gradients> {
        let mut gradients = Gradients::new(self.model.policy());
        let total = lesson.sequences.len();
        let mut meter = LossMeter::new(total);
        let loss = |members: &[usize], outputs: &[Vec<Output>]| {
            let mut grads = Vec::with_capacity(members.len());
            for (at, outputs) in members.iter().zip(outputs) {
                let scores = scores(outputs)?;
                let ends = [0, scores.len()];
                let loss = token_reward_loss(&scores, &ends, &[lesson.positive[*at]], total)?;
                meter.add(&loss);
                grads.push(head_grads(&loss.grad, 1.0));
            }
            Ok(grads)
        };
        let packing = Packing::of(step.micro_tokens);
        self.model.policy().gradients(&lesson.sequences, packing, &mut gradients, loss)?;
        meter.report("token_reward/", metrics);
        self.model.check(&gradients)?;
        Ok(gradients)
    }
}

/// Weights of groups from a pass rate of 0 up, in fifths.
const BY_PASS_RATE: [f64; 5] = [6.0, 4.0, 4.0, 2.0, 0.0];

/// The weight of each group by its pass rate, over their mean; 0 if all groups are too easy.
fn weights_by_pass_rate(groups: &[ScoredGroup]) -> Vec<f64> {
    let weight = |scored: &ScoredGroup| {
        let rate = scored.pass_rate();
        let fifth = BY_PASS_RATE.iter().zip([0.2, 0.4, 0.6, 0.8, 1.0]);
        fifth.filter(|(_, end)| rate <= *end).map(|(weight, _)| *weight).next().unwrap_or(0.0)
    };
    let weights: Vec<f64> = groups.iter().map(weight).collect();
    let mean = weights.iter().sum::<f64>() / weights.len().max(1) as f64;
    weights.into_iter().map(|weight| if mean > 0.0 { weight / mean } else { 0.0 }).collect()
}
