//! Trains a reward model on pairs or ranked lists: Bradley-Terry or Plackett-Luce on the score head
//! at the last token of each response.

use models::{Output, OutputSpec};
use rubrics::Message;
use serde::{Deserialize, Serialize};

use super::context::{MethodOutput, StepContext, check_rows, wrong_kind};
use crate::data::{Preference, TrainingRow};
use crate::error::{Result, TrainError};
use crate::losses::preference::{BradleyTerry, Pairs, plackett_luce};
use crate::policy::{Grad, PolicySequence};

/// Options of a reward model's training. Rows are pairs, or lists with ranks, whose loss is that of
/// Plackett-Luce.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RewardConfig {
    /// Pairs or lists of a step.
    pub rows: usize,
    /// The loss of pairs.
    #[serde(default)]
    pub loss: BradleyTerry,
    /// Whether the label of a row, the probability that the chosen response is the better one,
    /// softens the loss; true by default.
    #[serde(default = "yes")]
    pub soft_labels: bool,
    /// The margin of a pair.
    #[serde(default)]
    pub margins: Margins,
    /// The adapter to train; `None` trains the model itself.
    #[serde(default)]
    pub adapter: Option<String>,
}

fn yes() -> bool {
    true
}

/// The margin by which a pair's scores should differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Margins {
    /// 0.
    None,
    /// The row's, 0 without one.
    #[default]
    Row,
    /// The row's where it is above 0: a margin below 0 asks for less than the right order.
    Positive,
}

impl Margins {
    fn of(self, row: &Preference) -> f64 {
        let margin = row.margin.unwrap_or(0.0);
        match self {
            Margins::None => 0.0,
            Margins::Row => margin,
            Margins::Positive => margin.max(0.0),
        }
    }
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
    if let Some(TrainingRow::Ranked(_)) = rows.first() {
        return ranking(config, step, rows);
    }
    let adapter = step.adapter(config.adapter.as_deref())?;
    let mut sequences = Vec::new();
    let (mut margins, mut doubts, mut weights) = (Vec::new(), Vec::new(), Vec::new());
    for row in rows {
        let TrainingRow::Preference(row) = row else {
            return Err(wrong_kind(row, "preference"));
        };
        for response in [&row.chosen, &row.rejected] {
            sequences.push(scored(step, &row.turns, response, adapter)?);
        }
        margins.push(config.margins.of(row));
        doubts.push(row.label.filter(|_| config.soft_labels).map_or(0.0, |label| 1.0 - label));
        weights.push(row.weight.unwrap_or(1.0));
    }
    let total = rows.len();
    step.loss_gradients(&sequences, 2, |members, outputs, meter| {
        let scores: Vec<f64> = outputs.iter().map(|o| head_score(o)).collect::<Result<_>>()?;
        let (chosen, rejected) = halves(&scores);
        let of_pairs =
            |all: &[f64]| -> Vec<f64> { members.iter().step_by(2).map(|at| all[at / 2]).collect() };
        let (margins, doubts) = (of_pairs(&margins), of_pairs(&doubts));
        let weights = of_pairs(&weights);
        let pairs = Pairs {
            margins: Some(&margins),
            doubts: Some(&doubts),
            weights: Some(&weights),
            ..Pairs::new(&chosen, &rejected)
        };
        let loss = config.loss.evaluate(&pairs, total)?;
        meter.add(&loss);
        let (chosen, rejected) = loss.grad.split_at(chosen.len());
        let output_grads = chosen.iter().zip(rejected).flat_map(|(c, r)| [*c, *r]);
        Ok(output_grads.map(|grad| vec![head_grad(grad)]).collect())
    })
}

/// One step on ranked lists. Lists of a batch are padded to one length by sequences that nothing is
/// read of, so that each stays in one micro-batch.
fn ranking(
    config: &RewardConfig,
    step: &StepContext<'_>,
    rows: &[TrainingRow],
) -> Result<MethodOutput> {
    let adapter = step.adapter(config.adapter.as_deref())?;
    let mut lists = Vec::with_capacity(rows.len());
    for row in rows {
        let TrainingRow::Ranked(row) = row else {
            return Err(wrong_kind(row, "ranked (`candidates`, `gold_rank`)"));
        };
        let turns = [Message { role: "user".to_owned(), content: row.problem.clone() }];
        let mut order: Vec<usize> = (0..row.candidates.len()).collect();
        order.sort_by(|a, b| row.ranks[*a].total_cmp(&row.ranks[*b]));
        let best_first = order.iter().map(|at| &row.candidates[*at]);
        let list = best_first.map(|response| scored(step, &turns, response, adapter));
        lists.push(list.collect::<Result<Vec<_>>>()?);
    }
    let longest = lists.iter().map(Vec::len).max().unwrap_or(0);
    let filler = || PolicySequence {
        token_ids: Vec::new(),
        reads: Vec::new(),
        adapter,
        logit_scale: None,
    };
    let padded = lists.into_iter().flat_map(|list| {
        let missing = longest - list.len();
        list.into_iter().chain(std::iter::repeat_with(filler).take(missing))
    });
    let sequences: Vec<PolicySequence> = padded.collect();
    step.loss_gradients(&sequences, longest, |members, outputs, meter| {
        let scores: Vec<f64> = outputs.iter().map(|o| head_score(o)).collect::<Result<_>>()?;
        let mut cu_lists = vec![0];
        for list in members.chunk_by(|a, b| a / longest == b / longest) {
            cu_lists.push(cu_lists[cu_lists.len() - 1] + list.len());
        }
        let loss = plackett_luce(&scores, &cu_lists, rows.len())?;
        meter.add(&loss);
        Ok(loss.grad.iter().map(|grad| vec![head_grad(*grad)]).collect())
    })
}

/// A response whose score is read at its last token.
fn scored(
    step: &StepContext<'_>,
    turns: &[Message],
    response: &str,
    adapter: Option<usize>,
) -> Result<PolicySequence> {
    let token_ids = step.encoder.with_response(turns, response)?;
    let reads = vec![(token_ids.len() - 1, OutputSpec::Head)];
    Ok(PolicySequence { reads, token_ids, adapter, logit_scale: None })
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
