//! One training step of GRPO and its relatives: sample, score, advantages, loss, optimiser step.
//!
//! Extensions from the run file (judge data, other kinds of rows, audits) are [`Hook`]s with a file
//! each under `hooks/`; a [`GroupSource`] samples groups, and [`Prompts`] chooses the next prompts.

use std::sync::Arc;
use std::time::Instant;

use super::auxiliary::{AuxiliaryModels, Lessons, scored_responses};
use super::config::PolicyGradientConfig;
use super::group_source::{GroupSource, Round};
use super::hook::{Hook, HookContext, StepData};
use super::labels;
use super::prompts::Prompts;
use super::rollouts::{Phase, Rollouts, ScoredGroups};
use super::round;
use super::update_batch::{Apply, TokenBatch, UpdateBatch};
use crate::curriculum::fill::Next;
use crate::curriculum::{DiscardRate, Fill, FillConfig, NoProgressRule};
use crate::error::Result;
use crate::judge_data::ReplayBuffer;
use crate::methods::context::{StepContext, count_tokens};
use crate::metrics::Metrics;
use crate::policy::Gradients;

/// A policy that is trained on its own rollouts.
#[derive(Debug)]
pub struct PolicyGradient {
    pub(super) config: Arc<PolicyGradientConfig>,
    pub(super) prompts: Prompts,
    pub(super) source: Box<dyn GroupSource>,
    pub(super) rollouts: Rollouts,
    pub(super) hooks: Vec<Box<dyn Hook>>,
    pub(super) auxiliary: AuxiliaryModels,
    pub(super) replay_buffer: ReplayBuffer,
    pub(super) no_progress: NoProgressRule,
    /// The share of groups that earlier steps did not train on.
    pub(super) discard: DiscardRate,
}

impl PolicyGradient {
    /// Samples, scores and trains once; `apply` takes the step of the optimiser. A step that fails
    /// before it changed the weights restores the state, so that it can be repeated.
    ///
    /// # Errors
    /// Errors of sampling, scoring and `apply`, and
    /// [`TrainError::NoProgress`](crate::TrainError::NoProgress) after too many steps without a
    /// group whose rewards differ.
    pub fn step(&mut self, step: &StepContext<'_>, apply: &mut Apply<'_>) -> Result<Metrics> {
        let before = self.state();
        let mut changed = false;
        let mut apply = |gradients: &mut Gradients| {
            let norm = apply(gradients)?;
            changed = true;
            Ok(norm)
        };
        let metrics = self.train(step, &mut apply);
        if metrics.is_err() && !changed {
            self.restore(before)?;
        }
        metrics
    }

    fn train(&mut self, step: &StepContext<'_>, apply: &mut Apply<'_>) -> Result<Metrics> {
        let mut metrics = Metrics::default();
        let new_pass = self.prompts.begins_pass();
        self.call_hooks(step, &mut metrics, |hook, cx| hook.before_sampling(cx, new_pass))?;

        // Sample groups of rollouts and score them.
        let scored = self.sample_and_score(step, &mut metrics)?;
        self.prompts.observe(&scored.groups)?;
        self.prompts.report(&mut metrics);

        // Hooks read the scored groups and may add to the batch.
        let mut data = StepData::new(scored, &self.rollouts)?;
        self.call_hooks(step, &mut metrics, |hook, cx| hook.after_scoring(cx, &mut data))?;

        // Advantages, loss and step of the optimiser.
        self.update(step, &data.batch, apply, &mut metrics)?;
        self.source.after_update();
        self.prompts.learn((&self.rollouts.sampler, step), &data.groups, &mut metrics)?;
        self.no_progress.observe(&data.counts)?;

        // What hooks sample from here on has the revision of the updated weights.
        let updated = StepContext { revision: self.revision(), ..*step };
        self.call_hooks(&updated, &mut metrics, |hook, cx| hook.after_update(cx, apply))?;
        self.replay_buffer.observe(&data.verified);
        Ok(metrics)
    }

    /// Updates the weights, which stay as they are until nothing is sampled by them any more.
    fn update(
        &mut self,
        step: &StepContext<'_>,
        batch: &UpdateBatch,
        apply: &mut Apply<'_>,
        metrics: &mut Metrics,
    ) -> Result<()> {
        let (auxiliary, source) = (&mut self.auxiliary, &mut self.source);
        let mut waited = 0.0;
        let mut apply = |gradients: &mut Gradients| {
            waited += source.before_update()?;
            apply(gradients)
        };
        metrics.extend("", &update(&self.config, step, batch, auxiliary, &mut apply)?);
        if waited > 0.0 {
            metrics.add("time/optimiser", -waited);
        }
        // Without a step of the optimiser nothing was waited for yet.
        waited += self.source.before_update()?;
        metrics.add("time/rollout", waited);
        Ok(())
    }

    /// Samples and scores until enough groups are worth training on: once, unless the run asks for
    /// dynamic sampling (`fill`).
    fn sample_and_score(
        &mut self,
        step: &StepContext<'_>,
        metrics: &mut Metrics,
    ) -> Result<ScoredGroups> {
        let mut scored = ScoredGroups::default();
        let batch = self.config.prompts;
        let problems = self.hooks.iter().find_map(|hook| hook.problems(step.step, batch));
        let problems = problems.unwrap_or(batch);
        if problems == 0 {
            return Ok(scored);
        }
        let config = self.config.fill.unwrap_or(FillConfig::ONCE);
        let mut fill = Fill::new(config, problems)?.with_discard(self.discard);
        loop {
            match fill.next()? {
                Next::Sample(n) => {
                    let phase = Phase::Policy(fill.rounds());
                    let begin = Instant::now();
                    let round = Round::new(&self.rollouts, step, phase, n);
                    let sampled = self.source.sample(&round, &mut self.prompts, metrics)?;
                    metrics.add("time/rollout", begin.elapsed().as_secs_f64());
                    let round = self.rollouts.score(step, sampled, phase, metrics)?;
                    self.source.after_scoring(round.train_groups.len(), round.groups.len())?;
                    fill.add(round.train_groups.len());
                    scored.extend(round);
                }
                Next::Train(n) => {
                    scored.train_groups.truncate(n);
                    metrics.set("groups/surplus", fill.surplus() as f64);
                    metrics.set("rollout/rounds", f64::from(fill.rounds()));
                    if config.adaptive {
                        let sampled = scored.counts.groups.max(1) as f64;
                        self.discard.observe(1.0 - scored.counts.kept as f64 / sampled);
                        metrics.set("groups/discard_rate", self.discard.rate());
                    }
                    return Ok(scored);
                }
            }
        }
    }

    fn call_hooks(
        &mut self,
        step: &StepContext<'_>,
        metrics: &mut Metrics,
        mut call: impl FnMut(&mut dyn Hook, &mut HookContext<'_>) -> Result<()>,
    ) -> Result<()> {
        let mut cx = HookContext {
            step,
            config: &self.config,
            rollouts: &self.rollouts,
            replay_buffer: &self.replay_buffer,
            metrics,
        };
        self.hooks.iter_mut().try_for_each(|hook| call(&mut **hook, &mut cx))
    }
}

/// Trains on a batch for the configured number of epochs; an empty batch takes no step. While a model
/// beside the policy warms up, the policy is left as it is.
pub(super) fn update(
    config: &PolicyGradientConfig,
    step: &StepContext<'_>,
    batch: &UpdateBatch,
    auxiliary: &mut AuxiliaryModels,
    apply: &mut Apply<'_>,
) -> Result<Metrics> {
    if let Some(section) = &config.round {
        return round::update((config, section), step, batch, apply);
    }
    let mut metrics = Metrics::default();
    let groups = &batch.train_groups;
    metrics.set("groups/teaching", groups.len() as f64);
    let mut tokens = None;
    let mut lessons = Lessons::default();
    if !groups.is_empty() {
        let (judged, own) = auxiliary.judge(config, step, groups)?;
        lessons = own;
        let advantage = config.advantage.at(step.step, step.steps);
        let advantages = advantage.evaluate(&scored_responses(groups, &judged))?;
        tokens = TokenBatch::new(config, step, (groups, &judged), advantages, &mut metrics)?;
    }
    if tokens.is_none() && batch.labels.is_empty() {
        return Ok(metrics);
    }
    let sequences = tokens.iter().flat_map(TokenBatch::sequences).chain(&batch.labels);
    metrics.set("tokens_forward", count_tokens(sequences));
    let learns = !auxiliary.warm_up(step.step);
    for epoch in 0..config.epochs {
        let begin = Instant::now();
        let mut gradients = Gradients::new(step.policy);
        if let Some(tokens) = tokens.as_ref().filter(|_| learns) {
            let loss = tokens.add_gradients(config, step, &mut gradients)?;
            if epoch == 0 {
                loss.report(&mut metrics);
            }
        }
        if learns && !batch.labels.is_empty() {
            let share = config.streams.ce;
            let loss = labels::add_gradients(step, &batch.labels, share, &mut gradients)?;
            if epoch == 0 {
                metrics.extend("labels/", &loss);
            }
        }
        let lesson = (&lessons, tokens.as_ref().map(TokenBatch::counted));
        let own = auxiliary.gradients((step, epoch), lesson, &mut gradients, &mut metrics)?;
        metrics.add("time/train", begin.elapsed().as_secs_f64());
        metrics.add("time/forward", gradients.forward);
        metrics.add("time/backward", gradients.backward);
        let begin = Instant::now();
        if learns {
            metrics.set("gradient_norm", apply(&mut gradients)?);
        }
        auxiliary.take_steps(own, &mut metrics)?;
        metrics.add("time/optimiser", begin.elapsed().as_secs_f64());
    }
    Ok(metrics)
}
