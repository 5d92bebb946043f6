//! Direct preference optimisation: pairs of responses against a frozen reference.

use serde::{Deserialize, Serialize};

use super::context::{MethodOutput, StepContext, check_rows, wrong_kind};
use super::outputs::{logprobs, output_grads};
use crate::data::TrainingRow;
use crate::error::{Result, TrainError};
use crate::losses::Layout;
use crate::losses::preference::{DirectPreference, PreferredResponses};
use crate::policy::PolicySequence;

/// Options of preference optimisation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PreferenceConfig {
    /// Pairs of a step.
    pub rows: usize,
    /// The loss.
    #[serde(default)]
    pub loss: DirectPreference,
    /// Whether a pair is weighted by the margin of its row, as in weighted DPO.
    #[serde(default)]
    pub weighted: bool,
    /// Whether the loss uses no reference model.
    #[serde(default)]
    pub reference_free: bool,
    /// The adapter to train; `None` trains the model itself.
    #[serde(default)]
    pub adapter: Option<String>,
}

impl PreferenceConfig {
    pub(super) fn check(&self) -> Vec<String> {
        let mut problems = check_rows(self.rows);
        problems.extend(self.loss.check().err().map(|error| format!("loss: {error}")));
        problems
    }
}

pub(super) fn step(
    config: &PreferenceConfig,
    step: &StepContext<'_>,
    rows: &[TrainingRow],
) -> Result<MethodOutput> {
    let adapter = step.adapter(config.adapter.as_deref())?;
    let (mut sequences, mut weights) = (Vec::new(), Vec::new());
    for row in rows {
        let TrainingRow::Preference(row) = row else {
            return Err(wrong_kind(row, "preference"));
        };
        let prompt = step.encoder.prompt(&row.turns)?;
        for response in [&row.chosen, &row.rejected] {
            sequences.push(PolicySequence {
                adapter,
                ..PolicySequence::continued(&prompt, &step.encoder.completion(response)?)
            });
        }
        weights.push(row.margin.filter(|_| config.weighted).unwrap_or(1.0));
    }
    let reference = reference_logprobs(config, step, &sequences)?;
    step.loss_gradients(&sequences, 2, |members, outputs, meter| {
        let (mut logp, mut before, mut cu_seqlens) = (Vec::new(), Vec::new(), vec![0]);
        for (member, outputs) in members.iter().zip(outputs) {
            logp.extend(logprobs(outputs)?);
            if let Some(reference) = &reference {
                before.extend_from_slice(&reference[*member]);
            }
            cu_seqlens.push(logp.len());
        }
        let mask = vec![true; logp.len()];
        let weights: Vec<f64> = members.iter().step_by(2).map(|at| weights[at / 2]).collect();
        let responses = PreferredResponses {
            layout: Layout::new(&cu_seqlens, &mask),
            logp: &logp,
            reference: reference.as_ref().map(|_| before.as_slice()),
            weights: Some(&weights),
        };
        let loss = config.loss.evaluate(&responses, rows.len())?;
        meter.add(&loss);
        let parts = cu_seqlens.windows(2).map(|ends| output_grads(&loss.grad[ends[0]..ends[1]]));
        Ok(parts.collect())
    })
}

/// Computes log-probabilities under the reference; `None` if the loss uses none.
fn reference_logprobs(
    config: &PreferenceConfig,
    step: &StepContext<'_>,
    sequences: &[PolicySequence],
) -> Result<Option<Vec<Vec<f64>>>> {
    if config.reference_free {
        return Ok(None);
    }
    let reference = step.reference.ok_or_else(|| {
        TrainError::Invalid("the loss compares with a reference, and there is none".to_owned())
    })?;
    let bare: Vec<PolicySequence> = sequences
        .iter()
        .map(|sequence| PolicySequence { adapter: None, ..sequence.clone() })
        .collect();
    let read = reference.read(&bare, step.micro_tokens)?;
    read.iter().map(|outputs| logprobs(outputs)).collect::<Result<_>>().map(Some)
}
