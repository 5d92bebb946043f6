//! Trains a process reward model on labelled steps: a head, or verdict tokens, at the separator
//! after each step.

use std::sync::Arc;

use models::{Output, OutputSpec};
use serde::{Deserialize, Serialize};

use super::context::{MethodOutput, StepContext, check_rows, wrong_kind};
use crate::data::{Process, TrainingRow};
use crate::error::{Result, TrainError};
use crate::losses::Loss;
use crate::losses::process::{binary, two_class};
use crate::policy::{Grad, PolicySequence};

/// Options of a process reward model's training: those of the scorer `process` that will use it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProcessConfig {
    /// Solutions of a step.
    pub rows: usize,
    /// Separator after each step; the step is read at its last token.
    pub separator: String,
    /// Text between a separator and the next step.
    #[serde(default)]
    pub joint: String,
    /// The words for a right and a wrong step; `None` reads a head.
    #[serde(default)]
    pub labels: Option<[String; 2]>,
    /// The adapter to train; `None` trains the model itself.
    #[serde(default)]
    pub adapter: Option<String>,
}

impl ProcessConfig {
    pub(super) fn check(&self) -> Vec<String> {
        let mut problems = check_rows(self.rows);
        if self.separator.is_empty() {
            problems.push("`separator` is what stands after each step, and not empty".to_owned());
        }
        problems
    }
}

pub(super) fn step(
    config: &ProcessConfig,
    step: &StepContext<'_>,
    rows: &[TrainingRow],
) -> Result<MethodOutput> {
    let adapter = step.adapter(config.adapter.as_deref())?;
    let read = output_spec(config, step)?;
    let (mut sequences, mut labels) = (Vec::new(), Vec::new());
    for row in rows {
        let TrainingRow::Process(row) = row else {
            return Err(wrong_kind(row, "process"));
        };
        sequences.push(PolicySequence { adapter, ..sequence(config, step, row, &read)? });
        let number = |label: &Option<bool>| label.map(|right| f64::from(u8::from(right)));
        labels.push(row.labels.iter().map(number).collect::<Vec<_>>());
    }
    let total = labels.iter().flatten().flatten().count();
    step.loss_gradients(&sequences, 1, total, |members, outputs, meter| {
        let mut output_grads = Vec::with_capacity(members.len());
        for (member, outputs) in members.iter().zip(outputs) {
            let (loss, own) = one(outputs, &labels[*member], total)?;
            meter.add(&loss);
            output_grads.push(own);
        }
        Ok(output_grads)
    })
}

/// The output read after each step: wrong first, so that both forms have the same order.
fn output_spec(config: &ProcessConfig, step: &StepContext<'_>) -> Result<OutputSpec> {
    let Some([right, wrong]) = &config.labels else {
        return Ok(OutputSpec::Head);
    };
    let token = |word: &String| match step.encoder.text(word)?.as_slice() {
        [token] => Ok(*token),
        ids => Err(TrainError::Invalid(format!(
            "the label '{word}' is {} tokens, and has to be one",
            ids.len()
        ))),
    };
    let columns: Arc<[u32]> = vec![token(wrong)?, token(right)?].into();
    Ok(OutputSpec::Labels { columns, mass: false })
}

fn sequence(
    config: &ProcessConfig,
    step: &StepContext<'_>,
    row: &Process,
    read: &OutputSpec,
) -> Result<PolicySequence> {
    let mut token_ids = step.encoder.prompt(&row.turns)?;
    let mut reads = Vec::with_capacity(row.steps.len());
    for (index, text) in row.steps.iter().enumerate() {
        if index > 0 {
            token_ids.extend(step.encoder.text(&config.joint)?);
        }
        token_ids.extend(step.encoder.text(text)?);
        token_ids.extend(step.encoder.marker(&config.separator)?);
        reads.push((token_ids.len() - 1, read.clone()));
    }
    Ok(PolicySequence { token_ids, reads, adapter: None, logit_scale: None })
}

#[expect(clippy::cast_possible_truncation, reason = "rounded to the type of gradients")]
fn one(outputs: &[Output], labels: &[Option<f64>], total: usize) -> Result<(Loss, Vec<Grad>)> {
    let values: Vec<(&[f32], bool)> = outputs
        .iter()
        .map(|output| match output {
            Output::Head(values) => Ok((values.as_slice(), true)),
            Output::Labels { logits, .. } => Ok((logits.as_slice(), false)),
            Output::Logprob { .. } | Output::Vocab(_) | Output::Hidden(_) => {
                Err(TrainError::Invalid("steps are read by a head or by labels".to_owned()))
            }
        })
        .collect::<Result<_>>()?;
    let width = values.first().map_or(0, |(values, _)| values.len());
    let loss = match width {
        1 => {
            let logits: Vec<f64> = values.iter().map(|(v, _)| f64::from(v[0])).collect();
            binary(&logits, labels, total)?
        }
        2 => {
            let pair = |(v, _): &(&[f32], bool)| [f64::from(v[0]), f64::from(v[1])];
            let logits: Vec<[f64; 2]> = values.iter().map(pair).collect();
            two_class(&logits, labels, total)?
        }
        n => {
            return Err(TrainError::Invalid(format!(
                "a step head has one output or two, and this one has {n}"
            )));
        }
    };
    let output_grads = loss.grad.chunks_exact(width).zip(&values);
    let output_grads = output_grads.map(|(output_grads, (_, is_head))| {
        let output_grads = output_grads.iter().map(|grad| *grad as f32).collect();
        if *is_head { Grad::Head(output_grads) } else { Grad::Labels(output_grads) }
    });
    let output_grads = output_grads.collect();
    Ok((loss, output_grads))
}
