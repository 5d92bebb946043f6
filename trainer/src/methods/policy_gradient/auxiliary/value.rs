//! Value models of GAE: a model of its own, or a head on the policy.

use models::Output;
use rubrics::{Message, Reference};

use super::super::config::ValueSection;
use super::super::rollouts::ScoredGroup;
use super::judged::{Judged, scored_responses};
use super::sequences::{grouped, head_grads, read, scored_sequence, scores};
use crate::advantages::Gae;
use crate::auxiliary::AuxiliaryModel;
use crate::error::{Result, TrainError};
use crate::item::TrainingItem;
use crate::losses::value::ValueTokens;
use crate::methods::context::{LossMeter, StepContext};
use crate::metrics::Metrics;
use crate::policy::{Grad, Gradients, Packing, Policy, PolicySequence};

/// A value model.
#[derive(Debug)]
pub(super) struct ValueModel {
    pub(super) section: ValueSection,
    /// `None` for a head on the policy.
    pub(super) model: Option<AuxiliaryModel>,
}

/// The responses of a batch with what their values learn: one entry per response, and in it one per
/// token.
#[derive(Debug)]
pub(super) struct ValueLesson {
    sequences: Vec<PolicySequence>,
    old: Vec<Vec<f64>>,
    returns: Vec<Vec<f64>>,
}

impl ValueModel {
    /// The weights that compute values.
    fn policy<'a>(&'a self, step: &StepContext<'a>) -> &'a Policy {
        self.model.as_ref().map_or(step.policy, AuxiliaryModel::policy)
    }

    /// Reads the values of all tokens and sets what they will learn.
    pub(super) fn judge(
        &self,
        gae: &Gae,
        step: &StepContext<'_>,
        groups: &[ScoredGroup],
        judged: &mut Judged,
    ) -> Result<ValueLesson> {
        let sequences = self.sequences(step, groups)?;
        let old = read(self.policy(step), &sequences, step.micro_tokens, scores)?;
        judged.values = Some(grouped(groups, old.clone()));
        let mut returns = Vec::with_capacity(old.len());
        for group in scored_responses(groups, judged) {
            for (index, response) in group.iter().enumerate() {
                returns.push(gae.estimate(index, response)?.returns);
            }
        }
        Ok(ValueLesson { sequences, old, returns })
    }

    /// All rollouts; the value of the state before each token is read.
    fn sequences(
        &self,
        step: &StepContext<'_>,
        groups: &[ScoredGroup],
    ) -> Result<Vec<PolicySequence>> {
        let mut sequences = Vec::new();
        for scored in groups {
            let (prompt, adapter) = match &self.section {
                ValueSection::Own(own) if own.anchor => {
                    let turns = anchored(&scored.group.item)?;
                    let tools = scored.group.item.fields.tools.as_deref();
                    (step.encoder.prompt_with_tools(&turns, tools)?.into(), None)
                }
                ValueSection::Own(_) => (scored.prompt.clone(), None),
                ValueSection::Shared(_) => {
                    (scored.prompt.clone(), step.adapter(scored.adapter.as_deref())?)
                }
            };
            for rollout in &scored.group.rollouts {
                let before = prompt.len() - 1;
                let positions = rollout.places().into_iter().map(|place| before + place);
                let sequence = scored_sequence(&prompt, &rollout.ids(), positions);
                sequences.push(PolicySequence { adapter, ..sequence });
            }
        }
        Ok(sequences)
    }

    /// The gradients of an epoch; for a head on the policy they are added to `policy`. `counted` says
    /// of each token whether it counts.
    pub(super) fn gradients(
        &mut self,
        step: &StepContext<'_>,
        (lesson, counted): (&ValueLesson, &[bool]),
        policy: &mut Gradients,
        metrics: &mut Metrics,
    ) -> Result<Option<Gradients>> {
        match &self.section {
            ValueSection::Shared(shared) => {
                let weight = shared.weight;
                self.add_gradients(step, (lesson, counted), (weight, policy), metrics)?;
                Ok(None)
            }
            ValueSection::Own(_) => {
                let mut own = Gradients::new(self.policy(step));
                self.add_gradients(step, (lesson, counted), (1.0, &mut own), metrics)?;
                if let Some(model) = &mut self.model {
                    model.check(&own)?;
                }
                Ok(Some(own))
            }
        }
    }

    fn add_gradients(
        &self,
        step: &StepContext<'_>,
        (lesson, counted): (&ValueLesson, &[bool]),
        (weight, gradients): (f64, &mut Gradients),
        metrics: &mut Metrics,
    ) -> Result<()> {
        let loss = self.section.loss();
        let total = counted.iter().filter(|counts| **counts).count();
        let mut starts = vec![0];
        for returns in &lesson.returns {
            starts.push(starts[starts.len() - 1] + returns.len());
        }
        let mut meter = LossMeter::new(total);
        let mut evaluate = |at: usize, outputs: &[Output]| -> Result<Vec<Grad>> {
            let tokens = ValueTokens {
                values: &scores(outputs)?,
                old: &lesson.old[at],
                returns: &lesson.returns[at],
                mask: &counted[starts[at]..starts[at + 1]],
            };
            let loss = loss.evaluate(&tokens, total)?;
            meter.add(&loss);
            Ok(head_grads(&loss.grad, weight))
        };
        let evaluate = |members: &[usize], outputs: &[Vec<Output>]| {
            members.iter().zip(outputs).map(|(at, outputs)| evaluate(*at, outputs)).collect()
        };
        let packing = Packing::of(step.micro_tokens);
        self.policy(step).gradients(&lesson.sequences, packing, gradients, evaluate)?;
        meter.report("value/", metrics);
        if let Some(explained) = explained(lesson) {
            metrics.set("value/explained", explained);
        }
        Ok(())
    }
}

/// The share of the variance of returns that the values at the rollout explain; `None` if returns
/// are equal.
fn explained(lesson: &ValueLesson) -> Option<f64> {
    let variance = |numbers: &[f64]| {
        let n = numbers.len() as f64;
        let mean = numbers.iter().sum::<f64>() / n;
        numbers.iter().map(|number| (number - mean).powi(2)).sum::<f64>() / n
    };
    let returns = lesson.returns.concat();
    let errors: Vec<f64> =
        returns.iter().zip(lesson.old.concat()).map(|(own, old)| own - old).collect();
    let of_returns = variance(&returns);
    (of_returns > 0.0).then(|| 1.0 - variance(&errors) / of_returns)
}

/// The conversation of an item with its reference answer behind the last message.
fn anchored(item: &TrainingItem) -> Result<Vec<Message>> {
    let reference = match (&item.gold, &item.fields.reference) {
        (Some(gold), _) => gold.to_string(),
        (None, Some(Reference::Text(text))) => text.clone(),
        (None, Some(Reference::AnyOf(all))) => all.join("\n"),
        (None, Some(Reference::Object(_)) | None) => {
            return Err(TrainError::Invalid(format!(
                "row {}: `anchor` of the value model needs a reference answer that is a text",
                item.index + 1
            )));
        }
    };
    let mut turns = item.turns.clone();
    if let Some(last) = turns.last_mut() {
        last.content = format!("{}\n\nReference answer:\n{reference}", last.content);
    }
    Ok(turns)
}
