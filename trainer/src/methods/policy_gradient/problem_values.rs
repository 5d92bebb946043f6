//! The value model of PCL (arXiv 2510.01135): the expected mean reward of a problem, by one forward pass
//! over its prompt. It learns by squared error from the mean rewards of each batch after the batch was
//! chosen, so that it is one step behind.

use models::Output;

use super::auxiliary::{PROBLEM_VALUE, head_grads, scored_sequence, scores};
use crate::auxiliary::AuxiliaryModel;
use crate::error::Result;
use crate::item::TrainingItem;
use crate::methods::context::StepContext;
use crate::metrics::Metrics;
use crate::policy::{Gradients, Packing, PolicySequence};
use crate::rollout::Sampler;

/// A value model of problems.
#[derive(Debug)]
pub(super) struct ProblemValues(pub(super) AuxiliaryModel);

impl ProblemValues {
    /// The values of problems.
    ///
    /// # Errors
    /// Prompts that cannot be encoded or run.
    pub(super) fn read(
        &self,
        (sampler, step): (&Sampler, &StepContext<'_>),
        items: &[&TrainingItem],
    ) -> Result<Vec<f64>> {
        let sequences = sequences(sampler, items)?;
        let outputs = self.0.policy().read(&sequences, step.micro_tokens)?;
        let values: Vec<Vec<f64>> = outputs.iter().map(|own| scores(own)).collect::<Result<_>>()?;
        Ok(values.concat())
    }

    /// Takes a step towards the observed mean rewards.
    ///
    /// # Errors
    /// Prompts that cannot be encoded or run; gradients that are not finite.
    pub(super) fn learn(
        &mut self,
        (sampler, step): (&Sampler, &StepContext<'_>),
        observed: &[(&TrainingItem, f64)],
        metrics: &mut Metrics,
    ) -> Result<()> {
        if observed.is_empty() {
            return Ok(());
        }
        let items: Vec<&TrainingItem> = observed.iter().map(|(item, _)| *item).collect();
        let sequences = sequences(sampler, &items)?;
        let mut gradients = Gradients::new(self.0.policy());
        let n = observed.len() as f64;
        let mut squares = 0.0;
        let loss = |members: &[usize], outputs: &[Vec<Output>]| {
            let mut grads = Vec::with_capacity(members.len());
            for (at, outputs) in members.iter().zip(outputs) {
                let error = scores(outputs)?[0] - observed[*at].1;
                squares += error * error;
                grads.push(head_grads(&[2.0 * error / n], 1.0));
            }
            Ok(grads)
        };
        let packing = Packing::of(step.micro_tokens);
        self.0.policy().gradients(&sequences, packing, &mut gradients, loss)?;
        self.0.check(&gradients)?;
        metrics.set(format!("{PROBLEM_VALUE}/loss"), squares / n);
        metrics.set(format!("{PROBLEM_VALUE}/gradient_norm"), self.0.take_step(&mut gradients)?);
        Ok(())
    }
}

/// The prompts of problems, whose last position is read.
fn sequences(sampler: &Sampler, items: &[&TrainingItem]) -> Result<Vec<PolicySequence>> {
    let sequence = |item: &&TrainingItem| {
        let prompt = sampler.prompt(item)?;
        Ok(scored_sequence(&prompt, &[], std::iter::once(prompt.len() - 1)))
    };
    items.iter().map(sequence).collect()
}
