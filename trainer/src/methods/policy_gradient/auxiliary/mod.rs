//! Models that are trained beside the policy: what they say about a batch before its update, and
//! their own updates with it.

mod judged;
mod sequences;
mod step_model;
mod token_reward;
mod value;

use std::collections::BTreeMap;
use std::path::PathBuf;

use models::Output;

use self::judged::TokenNumbers;
use self::sequences::{grouped, read};
use self::step_model::{StepLesson, StepModel};
use self::token_reward::{TokenLesson, TokenReward};
use self::value::{ValueLesson, ValueModel};
use super::config::{PolicyGradientConfig, StepModelSection, ValueSection};
use super::rollouts::ScoredGroup;
use crate::advantages::{AdvantageKind, Gae};
use crate::auxiliary::AuxiliaryModel;
use crate::curriculum::CurriculumConfig;
use crate::error::{Result, TrainError};
use crate::losses::kl::penalties;
use crate::methods::context::StepContext;
use crate::methods::outputs::entropy;
use crate::metrics::Metrics;
use crate::policy::{Gradients, PolicySequence};

/// An auxiliary model that a run needs.
#[derive(Clone, Debug, PartialEq)]
pub struct AuxiliarySpec {
    /// Its name.
    pub name: &'static str,
    /// Its learning rate.
    pub rate: f64,
    /// Its weights at the start of the run.
    pub start: AuxiliaryStart,
}

/// The weights of an auxiliary model at the start of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AuxiliaryStart {
    /// The policy's model with a score head of zeros in the place of its vocabulary.
    Scores,
    /// A copy of the policy's model.
    Copy,
    /// A model folder with a score head of one output.
    Folder(PathBuf),
}

impl PolicyGradientConfig {
    /// The models that are trained beside the policy.
    pub fn auxiliary(&self) -> Vec<AuxiliarySpec> {
        let spec = |name, rate, start| AuxiliarySpec { name, rate, start };
        let value = match &self.value {
            Some(ValueSection::Own(own)) => {
                let start = own.path.clone().map(AuxiliaryStart::Folder);
                Some(spec(VALUE, own.rate, start.unwrap_or(AuxiliaryStart::Scores)))
            }
            Some(ValueSection::Shared(_)) | None => None,
        };
        let tokens = self.token_reward.as_ref();
        let tokens = tokens.map(|own| spec(TOKEN_REWARD, own.rate, AuxiliaryStart::Scores));
        let steps = self.step_model.as_ref().map(|own| {
            let start = match own {
                StepModelSection::Implicit(_) => AuxiliaryStart::Copy,
                StepModelSection::Progress(_) => AuxiliaryStart::Scores,
            };
            spec(STEP_MODEL, own.rate(), start)
        });
        let problems = match &self.curriculum {
            CurriculumConfig::Pcl { value: Some(own), .. } => {
                Some(spec(PROBLEM_VALUE, own.rate, AuxiliaryStart::Scores))
            }
            CurriculumConfig::Pcl { value: None, .. }
            | CurriculumConfig::Uniform
            | CurriculumConfig::Shares { .. }
            | CurriculumConfig::Dump { .. }
            | CurriculumConfig::Sec { .. } => None,
        };
        value.into_iter().chain(tokens).chain(steps).chain(problems).collect()
    }
}

const VALUE: &str = "value";
const TOKEN_REWARD: &str = "token_reward";
const STEP_MODEL: &str = "step_model";
/// The value model of problems, in checkpoints and logs.
pub(super) const PROBLEM_VALUE: &str = "problem_value";

pub(super) use self::judged::{Judged, scored_responses};
pub(super) use self::sequences::{head_grads, scored_sequence, scores};

/// The batches that auxiliary models are trained on.
#[derive(Debug, Default)]
pub(super) struct Lessons {
    value: Option<ValueLesson>,
    token_reward: Option<TokenLesson>,
    steps: Option<StepLesson>,
}

/// The auxiliary models of a run.
#[derive(Debug, Default)]
pub(super) struct AuxiliaryModels {
    value: Option<ValueModel>,
    token_reward: Option<TokenReward>,
    steps: Option<StepModel>,
}

/// Gradients of auxiliary models in one epoch.
#[derive(Debug, Default)]
pub(super) struct AuxiliaryGradients(Vec<(&'static str, Gradients)>);

impl AuxiliaryModels {
    /// The models of a run by their sections.
    ///
    /// # Errors
    /// A model that is missing.
    pub(super) fn new(
        config: &PolicyGradientConfig,
        models: Vec<AuxiliaryModel>,
    ) -> Result<AuxiliaryModels> {
        let mut models: BTreeMap<&str, AuxiliaryModel> =
            models.into_iter().map(|model| (model.name(), model)).collect();
        let mut take = |name: &'static str| {
            let missing =
                || TrainError::Invalid(format!("the run has no auxiliary model '{name}'"));
            models.remove(name).ok_or_else(missing)
        };
        Ok(AuxiliaryModels {
            value: match &config.value {
                None => None,
                Some(section @ ValueSection::Shared(_)) => {
                    Some(ValueModel { section: section.clone(), model: None })
                }
                Some(section @ ValueSection::Own(_)) => {
                    Some(ValueModel { section: section.clone(), model: Some(take(VALUE)?) })
                }
            },
            token_reward: match &config.token_reward {
                None => None,
                Some(section) => {
                    Some(TokenReward { section: section.clone(), model: take(TOKEN_REWARD)? })
                }
            },
            steps: match &config.step_model {
                None => None,
                Some(section) => {
                    Some(StepModel { section: section.clone(), model: take(STEP_MODEL)? })
                }
            },
        })
    }

    /// All models with weights of their own.
    pub(super) fn models(&self) -> impl Iterator<Item = &AuxiliaryModel> {
        let value = self.value.iter().filter_map(|value| value.model.as_ref());
        let tokens = self.token_reward.iter().map(|own| &own.model);
        value.chain(tokens).chain(self.steps.iter().map(|own| &own.model))
    }

    /// All models with weights of their own.
    pub(super) fn models_mut(&mut self) -> impl Iterator<Item = &mut AuxiliaryModel> {
        let value = self.value.iter_mut().filter_map(|value| value.model.as_mut());
        let tokens = self.token_reward.iter_mut().map(|own| &mut own.model);
        value.chain(tokens).chain(self.steps.iter_mut().map(|own| &mut own.model))
    }

    /// Whether the policy waits in this step for a model to learn.
    pub(super) fn warm_up(&self, step: u64) -> bool {
        let value = self.value.as_ref().map_or(0, |own| own.section.warmup());
        let tokens = self.token_reward.as_ref().map_or(0, |own| own.section.warmup);
        step <= value.max(tokens)
    }

    /// Reads a batch before its update.
    ///
    /// # Errors
    /// Sequences that cannot be run or read.
    pub(super) fn judge(
        &self,
        config: &PolicyGradientConfig,
        step: &StepContext<'_>,
        groups: &[ScoredGroup],
    ) -> Result<(Judged, Lessons)> {
        let (mut judged, mut lessons) = (Judged::default(), Lessons::default());
        if let Some(model) = &self.steps {
            lessons.steps = model.judge(config, step, groups, &mut judged)?;
        }
        if let Some(model) = &self.token_reward {
            lessons.token_reward = Some(model.judge(step, groups, &mut judged)?);
        }
        if config.advantage.reads_entropies() {
            judged.entropies = Some(entropies(step, groups, config.sampling.logit_scale())?);
        }
        if let AdvantageKind::Gae(gae) = &config.advantage {
            let scale = config.sampling.logit_scale();
            judged.token_rewards = divergence(gae, step, groups, scale)?;
            let value = self.value.as_ref().ok_or_else(|| {
                TrainError::Invalid("gae needs a value model, `value` of [method]".to_owned())
            })?;
            lessons.value = Some(value.judge(gae, step, groups, &mut judged)?);
        }
        Ok((judged, lessons))
    }

    /// Computes the gradients of an epoch; those of a head on the policy are added to `policy`.
    /// `counted` says of each token of the batch whether it counts.
    ///
    /// # Errors
    /// Sequences that cannot be run or read; gradients that no step could be taken with.
    pub(super) fn gradients(
        &mut self,
        (step, epoch): (&StepContext<'_>, u64),
        (lessons, counted): (&Lessons, Option<&[bool]>),
        policy: &mut Gradients,
        metrics: &mut Metrics,
    ) -> Result<AuxiliaryGradients> {
        let mut all = AuxiliaryGradients::default();
        if let (Some(value), Some(lesson), Some(counted)) =
            (&mut self.value, &lessons.value, counted)
        {
            let own = value.gradients(step, (lesson, counted), policy, metrics)?;
            all.0.extend(own.map(|own| (VALUE, own)));
        }
        // A value model learns with the policy; the others once from a batch.
        if epoch == 0 {
            if let (Some(model), Some(lesson)) = (&mut self.token_reward, &lessons.token_reward) {
                all.0.push((TOKEN_REWARD, model.gradients(step, lesson, metrics)?));
            }
            if let (Some(model), Some(lesson)) = (&mut self.steps, &lessons.steps) {
                let own = model.gradients(step, lesson, metrics)?;
                all.0.extend(own.map(|own| (STEP_MODEL, own)));
            }
        }
        Ok(all)
    }

    /// Takes the steps of the models' optimisers.
    ///
    /// # Errors
    /// Gradients that are not finite, which [`AuxiliaryModels::gradients`] refuses.
    pub(super) fn take_steps(
        &mut self,
        gradients: AuxiliaryGradients,
        metrics: &mut Metrics,
    ) -> Result<()> {
        for (name, mut gradients) in gradients.0 {
            for model in self.models_mut().filter(|model| model.name() == name) {
                let norm = model.take_step(&mut gradients)?;
                metrics.set(format!("{name}/gradient_norm"), norm);
            }
        }
        Ok(())
    }
}

/// The rollouts of groups, in order, as the policy computes them: with the adapters that sampled them.
fn policy_sequences(
    step: &StepContext<'_>,
    groups: &[ScoredGroup],
    logit_scale: Option<f32>,
) -> Result<Vec<PolicySequence>> {
    let mut sequences = Vec::new();
    for scored in groups {
        let adapter = step.adapter(scored.adapter.as_deref())?;
        for (at, rollout) in scored.group.rollouts.iter().enumerate() {
            let sequence = PolicySequence::rollout(scored.prompt_of(at), rollout, logit_scale);
            sequences.push(PolicySequence { adapter, ..sequence });
        }
    }
    Ok(sequences)
}

/// The mean entropy of the tokens of each response under the weights at the beginning of the step.
fn entropies(
    step: &StepContext<'_>,
    groups: &[ScoredGroup],
    logit_scale: Option<f32>,
) -> Result<Vec<Vec<f64>>> {
    let sequences = policy_sequences(step, groups, logit_scale)?;
    let mean = |outputs: &[Output]| {
        let entropies = outputs.iter().map(entropy);
        Ok(vec![entropies.sum::<f64>() / outputs.len().max(1) as f64])
    };
    let read = read(step.policy, &sequences, step.micro_tokens, mean)?;
    Ok(grouped(groups, read.concat()))
}

/// The divergence from the reference as rewards of tokens; `None` if GAE has none.
fn divergence(
    gae: &Gae,
    step: &StepContext<'_>,
    groups: &[ScoredGroup],
    logit_scale: Option<f32>,
) -> Result<Option<TokenNumbers>> {
    let Some(kl) = &gae.kl else {
        return Ok(None);
    };
    let sequences = policy_sequences(step, groups, logit_scale)?;
    let mut read = step.reference_logprobs(&sequences)?.into_iter();
    let mut all = Vec::with_capacity(groups.len());
    for scored in groups {
        let own = scored.group.rollouts.iter().zip(read.by_ref()).map(|(rollout, reference)| {
            let sampled: Vec<f64> =
                rollout.tokens.iter().map(|token| f64::from(token.logprob)).collect();
            Ok(penalties(kl, &sampled, &reference)?)
        });
        all.push(own.collect::<Result<_>>()?);
    }
    Ok(Some(all))
}
