//! Trains a reward model on pairs: Bradley-Terry on the score head at the last token of each
//! response.

use models::{Output, OutputSpec};
use serde::{Deserialize, Serialize};

use super::context::{MethodOutput, StepContext, check_rows, wrong_kind};
use crate::data::TrainingRow;
use crate::error::{Result, TrainError};
use crate::losses::preference::{BradleyTerry, Pairs};
use crate::policy::{Grad, PolicySequence};

/// Options of a reward model's training.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RewardConfig {
    /// Pairs of a step.
    pub rows: usize,
    /// The loss.
    #[serde(default)]
    pub loss: BradleyTerry,
    /// The adapter to train; `None` trains the model itself.
    #[serde(default)]
    pub adapter: Option<String>,
}

impl RewardConfig {
    pub(super) fn check(&self) -> Vec<String> {
        let mut problems = check_rows(self.rows);
        problems.extend(self.loss.check().err().map(|error| format!("loss: {error}")));
        problems
    }
}

pub(super) fn step(
    config: &RewardConfig,
    step: &StepContext<'_>,
    rows: &[TrainingRow],
) -> Result<MethodOutput> {
    let adapter = step.adapter(config.adapter.as_deref())?;
    let (mut sequences, mut margins) = (Vec::new(), Vec::new());
    for row in rows {
        let TrainingRow::Preference(row) = row else {
            return Err(wrong_kind(row, "preference"));
        };
        for response in [&row.chosen, &row.rejected] {
            let token_ids = step.encoder.with_response(&row.turns, response)?;
            sequences.push(PolicySequence {
                reads: vec![(token_ids.len() - 1, OutputSpec::Head)],
                token_ids,
                adapter,
            });
        }
        margins.push(row.margin.unwrap_or(0.0));
    }
    let total = rows.len();
    step.loss_gradients(&sequences, 2, |members, outputs, meter| {
        let scores: Vec<f64> = outputs.iter().map(|o| head_score(o)).collect::<Result<_>>()?;
        let (chosen, rejected) = halves(&scores);
        let margins: Vec<f64> = members.iter().step_by(2).map(|at| margins[at / 2]).collect();
        let pairs = Pairs { margins: Some(&margins), ..Pairs::new(&chosen, &rejected) };
        let loss = config.loss.evaluate(&pairs, total)?;
        meter.add(&loss);
        let (chosen, rejected) = loss.grad.split_at(chosen.len());
        let output_grads = chosen.iter().zip(rejected).flat_map(|(c, r)| [*c, *r]);
        Ok(output_grads.map(|grad| vec![head_grad(grad)]).collect())
    })
}

/// Splits scores into even and odd entries.
fn halves(scores: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let pairs = scores.chunks_exact(2);
    pairs.map(|pair| (pair[0], pair[1])).unzip()
}

fn head_score(outputs: &[Output]) -> Result<f64> {
    match outputs {
        [Output::Head(values)] if values.len() == 1 => Ok(f64::from(values[0])),
        _ => Err(TrainError::Invalid("a reward model has a score head of one output".to_owned())),
    }
}

#[expect(clippy::cast_possible_truncation, reason = "rounded to the type of gradients")]
fn head_grad(grad: f64) -> Grad {
    Grad::Head(vec![grad as f32])
}
