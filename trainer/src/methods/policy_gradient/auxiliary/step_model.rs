//! Rewards of steps by a model that learns from the rewards of responses: iStar's implicit process
//! reward model and SPA-RL's progress estimator.

use std::ops::Range;

use models::Output;

use super::super::config::{
    ImplicitSection, PolicyGradientConfig, ProgressSection, StepModelSection, TrajectoryScore,
};
use super::super::rollouts::ScoredGroup;
use super::judged::Judged;
use super::sequences::{grouped, head_grads, logprob_sequences, read, scored_sequence, scores};
use crate::advantages::steps::{grounded_rewards, implicit_rewards};
use crate::advantages::{AdvantageKind, ResponseStep, Signal, StepReturns};
use crate::auxiliary::AuxiliaryModel;
use crate::error::{Result, TrainError};
use crate::item::Rollout;
use crate::losses::preference::{BradleyTerry, Pairs};
use crate::losses::process::progress;
use crate::methods::context::{LossMeter, StepContext};
use crate::methods::outputs::{logprobs, output_grads};
use crate::metrics::Metrics;
use crate::policy::{Grad, Gradients, Packing, PolicySequence};

/// A model that gives steps their rewards.
#[derive(Debug)]
pub(super) struct StepModel {
    pub(super) section: StepModelSection,
    pub(super) model: AuxiliaryModel,
}

/// What a step model learns from a batch.
#[derive(Debug)]
pub(super) enum StepLesson {
    /// The derivative of the loss by the log-probability of each token of each response.
    Implicit { sequences: Vec<PolicySequence>, slopes: Vec<Vec<f64>>, meter: LossMeter },
    /// The reward of each response, whose steps are read.
    Progress { sequences: Vec<PolicySequence>, rewards: Vec<f64> },
}

/// The score above which the scorer of steps finds a step right.
const RIGHT: f64 = 0.5;

impl StepModel {
    /// Reads the rewards of all steps and sets what the model learns.
    pub(super) fn judge(
        &self,
        config: &PolicyGradientConfig,
        step: &StepContext<'_>,
        groups: &[ScoredGroup],
        judged: &mut Judged,
    ) -> Result<Option<StepLesson>> {
        let (steps, lesson) = match (&self.section, &config.advantage) {
            (StepModelSection::Implicit(section), _) => {
                let sequences = logprob_sequences(groups, config.sampling.logit_scale());
                self.implicit(section, step, groups, sequences)?
            }
            (StepModelSection::Progress(section), AdvantageKind::StepReturns(returns)) => {
                self.progress(section, returns, step, groups)?
            }
            (StepModelSection::Progress(_), _) => {
                return Err(TrainError::Invalid("progress is for step returns".to_owned()));
            }
        };
        judged.steps = Some(grouped(groups, steps));
        Ok(lesson)
    }

    /// Rewards by log-ratios, and the pairs of right and wrong responses of each group.
    fn implicit(
        &self,
        section: &ImplicitSection,
        step: &StepContext<'_>,
        groups: &[ScoredGroup],
        sequences: Vec<PolicySequence>,
    ) -> Result<(Vec<Vec<ResponseStep>>, Option<StepLesson>)> {
        let logprobs = read(self.model.policy(), &sequences, step.micro_tokens, logprobs)?;
        let mut steps = Vec::with_capacity(sequences.len());
        let mut scores = Vec::with_capacity(sequences.len());
        for (response, logp) in responses(groups).zip(&logprobs) {
            let places: Vec<Range<usize>> =
                response.steps.iter().map(|step| step.tokens.clone()).collect();
            let sampled: Vec<f64> =
                response.rollout.tokens.iter().map(|token| f64::from(token.logprob)).collect();
            let rewards = implicit_rewards(logp, &sampled, &places, section.beta)?;
            scores.push(rewards.iter().sum::<f64>() * section.share(places.len()));
            steps.push(rewarded(response.steps, rewards));
        }
        let (chosen, rejected) = pairs(groups);
        if chosen.is_empty() {
            return Ok((steps, None));
        }
        let mut meter = LossMeter::new(chosen.len());
        let of = |places: &[usize]| -> Vec<f64> { places.iter().map(|at| scores[*at]).collect() };
        let both = (of(&chosen), of(&rejected));
        let loss = BradleyTerry::default().evaluate(&Pairs::new(&both.0, &both.1), chosen.len())?;
        meter.add(&loss);
        let mut by_score = vec![0.0; scores.len()];
        for (at, slope) in chosen.iter().chain(&rejected).zip(&loss.grad) {
            by_score[*at] += slope;
        }
        let slopes = responses(groups).zip(by_score).map(|(response, slope)| {
            let mut slopes = vec![0.0; response.rollout.tokens.len()];
            for step in response.steps {
                let own = slope * section.beta * section.share(response.steps.len());
                slopes[step.tokens.clone()].fill(own);
            }
            slopes
        });
        let slopes = slopes.collect();
        Ok((steps, Some(StepLesson::Implicit { sequences, slopes, meter })))
    }

    /// Rewards by the estimated progress of each step.
    fn progress(
        &self,
        section: &ProgressSection,
        returns: &StepReturns,
        step: &StepContext<'_>,
        groups: &[ScoredGroup],
    ) -> Result<(Vec<Vec<ResponseStep>>, Option<StepLesson>)> {
        let mut sequences = Vec::new();
        for (response, prompt) in responses(groups).zip(prompts(groups)) {
            let places = response.rollout.places();
            let ends = response.steps.iter().map(|step| prompt.len() + places[step.tokens.end - 1]);
            sequences.push(scored_sequence(prompt, &response.rollout.ids(), ends));
        }
        let read = read(self.model.policy(), &sequences, step.micro_tokens, scores)?;
        let mut steps = Vec::with_capacity(sequences.len());
        for (response, contributions) in responses(groups).zip(&read) {
            let is_right =
                |step: &ResponseStep| matches!(step.signal, Signal::Reward(score) if score > RIGHT);
            let executed: Vec<bool> = response.steps.iter().map(is_right).collect();
            let own = grounded_rewards(contributions, &executed, section.bonus)?;
            let own = if own.is_empty() {
                own
            } else {
                returns.rewards(contributions, Some(&own), response.reward)?
            };
            steps.push(rewarded(response.steps, own));
        }
        let rewards = responses(groups).map(|response| response.reward).collect();
        Ok((steps, Some(StepLesson::Progress { sequences, rewards })))
    }

    pub(super) fn gradients(
        &mut self,
        step: &StepContext<'_>,
        lesson: &StepLesson,
        metrics: &mut Metrics,
    ) -> Result<Option<Gradients>> {
        let mut gradients = Gradients::new(self.model.policy());
        let packing = Packing::of(step.micro_tokens);
        match lesson {
            StepLesson::Implicit { sequences, slopes, meter } => {
                let loss = |members: &[usize], _: &[Vec<Output>]| {
                    Ok(members.iter().map(|at| output_grads(&slopes[*at])).collect())
                };
                self.model.policy().gradients(sequences, packing, &mut gradients, loss)?;
                meter.report("step_model/", metrics);
            }
            StepLesson::Progress { sequences, rewards } => {
                if sequences.iter().all(|sequence| sequence.reads.is_empty()) {
                    return Ok(None);
                }
                let mut meter = LossMeter::new(rewards.len());
                let loss = |members: &[usize], outputs: &[Vec<Output>]| {
                    let mut grads: Vec<Vec<Grad>> = Vec::with_capacity(members.len());
                    for (at, outputs) in members.iter().zip(outputs) {
                        let own = scores(outputs)?;
                        let ends = [0, own.len()];
                        let loss = progress(&own, &ends, &[rewards[*at]], rewards.len())?;
                        meter.add(&loss);
                        grads.push(head_grads(&loss.grad, 1.0));
                    }
                    Ok(grads)
                };
                self.model.policy().gradients(sequences, packing, &mut gradients, loss)?;
                meter.report("step_model/", metrics);
            }
        }
        self.model.check(&gradients)?;
        Ok(Some(gradients))
    }
}

impl ImplicitSection {
    /// The weight of each step in the score of a response of `n` steps.
    fn share(&self, n: usize) -> f64 {
        match self.trajectory {
            TrajectoryScore::MeanSteps => 1.0 / n.max(1) as f64,
            TrajectoryScore::Sum => 1.0,
        }
    }
}

/// One response of a batch.
struct Response<'a> {
    rollout: &'a Rollout,
    steps: &'a [ResponseStep],
    reward: f64,
}

/// All responses of a batch, in order.
fn responses(groups: &[ScoredGroup]) -> impl Iterator<Item = Response<'_>> {
    groups.iter().flat_map(|scored| {
        let both = scored.group.rollouts.iter().zip(&scored.steps).zip(&scored.rewards);
        both.map(|((rollout, steps), reward)| Response { rollout, steps, reward: *reward })
    })
}

/// The prompt of each response.
fn prompts(groups: &[ScoredGroup]) -> impl Iterator<Item = &[u32]> {
    groups.iter().flat_map(|scored| scored.group.rollouts.iter().map(|_| &scored.prompt[..]))
}

/// All pairs of a right and a wrong response of one group, by their places in the batch.
fn pairs(groups: &[ScoredGroup]) -> (Vec<usize>, Vec<usize>) {
    let (mut chosen, mut rejected) = (Vec::new(), Vec::new());
    let mut first = 0;
    for scored in groups {
        let rewards = &scored.rewards;
        for (right, _) in rewards.iter().enumerate().filter(|(_, reward)| **reward > 0.0) {
            for (wrong, _) in rewards.iter().enumerate().filter(|(_, reward)| **reward <= 0.0) {
                chosen.push(first + right);
                rejected.push(first + wrong);
            }
        }
        first += rewards.len();
    }
    (chosen, rejected)
}

/// Steps with other rewards.
fn rewarded(steps: &[ResponseStep], rewards: Vec<f64>) -> Vec<ResponseStep> {
    let both = steps.iter().zip(rewards);
    both.map(|(step, reward)| ResponseStep {
        tokens: step.tokens.clone(),
        signal: Signal::Reward(reward),
    })
    .collect()
}
