//! Trains a reward model on pairs or ranked lists: Bradley-Terry or Plackett-Luce on the score head
//! at the last token of each response.

mod contrast;
mod meta;
mod scores;

use serde::{Deserialize, Serialize};

use self::contrast::{Contrast, contrast, read_states};
pub use self::meta::MetaSection;
use self::scores::{Lists, head_grad, head_scores, question, scored};
use super::context::{MethodOutput, StepContext, check_rows, report, wrong_kind};
use crate::data::{Preference, TrainingRow};
use crate::error::{Result, TrainError};
use crate::losses::preference::{BradleyTerry, Contrastive, Pairs, plackett_luce};
use crate::metrics::Metrics;
use crate::policy::Grad;

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
    /// A contrastive term beside the loss of pairs.
    #[serde(default)]
    pub contrastive: Option<Contrastive>,
    /// Gradients at weights that tell shifted responses apart (`MetaRM`).
    #[serde(default)]
    pub meta: Option<MetaSection>,
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
        let contrastive = self.contrastive.map_or(Ok(()), |own| own.check());
        problems.extend(contrastive.err().map(|error| format!("contrastive: {error}")));
        problems.extend(self.meta.iter().flat_map(MetaSection::check));
        problems
    }

    /// Rows of shifted responses in a step; `None` without `meta`.
    pub fn shifted_rows(&self) -> Option<usize> {
        self.meta.as_ref().map(|meta| meta.rows.unwrap_or(self.rows))
    }
}

/// One step; with `shifted` rows its gradients are those at weights that tell their responses further
/// apart.
pub(super) fn step(
    config: &RewardConfig,
    step: &StepContext<'_>,
    rows: &[TrainingRow],
    shifted: Option<&[TrainingRow]>,
) -> Result<MethodOutput> {
    let (Some(section), Some(shifted)) = (&config.meta, shifted) else {
        return of_rows(config, step, rows);
    };
    let adapter = step.adapter(config.adapter.as_deref())?;
    let ascent = meta::difference(step, adapter, shifted)?;
    let Some(gradients) = &ascent.gradients else {
        return of_rows(config, step, rows);
    };
    let read = || of_rows(config, step, rows);
    let mut output = meta::at_moved(step.policy, gradients, section.rate, read)?;
    for name in ["meta/difference", "tokens_forward"] {
        output.metrics.add(name, ascent.metrics.get(name).unwrap_or_default());
    }
    output.metrics.set("meta/gradient_norm", gradients.norm());
    Ok(output)
}

fn of_rows(
    config: &RewardConfig,
    step: &StepContext<'_>,
    rows: &[TrainingRow],
) -> Result<MethodOutput> {
    match rows.first() {
        Some(TrainingRow::Ranked(_)) if config.contrastive.is_some() => {
            Err(TrainError::Invalid("`contrastive` is for rows of pairs, not of lists".to_owned()))
        }
        Some(TrainingRow::Ranked(_)) => ranking(config, step, rows),
        _ => pairs(config, step, rows),
    }
}

/// One step on pairs.
fn pairs(
    config: &RewardConfig,
    step: &StepContext<'_>,
    rows: &[TrainingRow],
) -> Result<MethodOutput> {
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
    let contrast = config.contrastive.map(|own| contrast(own, step, &sequences)).transpose()?;
    if contrast.is_some() {
        read_states(&mut sequences);
    }
    let total = rows.len();
    let mut output = step.loss_gradients(&sequences, 2, total, |members, outputs, meter| {
        let (chosen, rejected) = halves(&head_scores(outputs)?);
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
        let scores = chosen.iter().zip(rejected).flat_map(|(c, r)| [*c, *r]);
        let grads = scores.zip(members).map(|(grad, member)| {
            let state = contrast.as_ref().map(|own| Grad::Hidden(own.grads[*member].clone()));
            [head_grad(grad)].into_iter().chain(state).collect()
        });
        Ok(grads.collect())
    })?;
    if let Some(contrast) = &contrast {
        add_contrast(contrast, &mut output.metrics);
    }
    Ok(output)
}

fn add_contrast(contrast: &Contrast, metrics: &mut Metrics) {
    metrics.add("loss", contrast.loss.value);
    report(metrics, &contrast.loss.stats);
}

/// One step on ranked lists.
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
        let turns = question(row);
        let mut order: Vec<usize> = (0..row.candidates.len()).collect();
        order.sort_by(|a, b| row.ranks[*a].total_cmp(&row.ranks[*b]));
        let best_first = order.iter().map(|at| &row.candidates[*at]);
        let list = best_first.map(|response| scored(step, &turns, response, adapter));
        lists.push(list.collect::<Result<Vec<_>>>()?);
    }
    let lists = Lists::padded(lists, adapter);
    step.loss_gradients(&lists.sequences, lists.length, rows.len(), |members, outputs, meter| {
        let scores = head_scores(outputs)?;
        let loss = plackett_luce(&scores, &lists.offsets(members), rows.len())?;
        meter.add(&loss);
        Ok(loss.grad.iter().map(|grad| vec![head_grad(*grad)]).collect())
    })
}

/// Splits scores into even and odd entries.
fn halves(scores: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let pairs = scores.chunks_exact(2);
    pairs.map(|pair| (pair[0], pair[1])).unzip()
}
