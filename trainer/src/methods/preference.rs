//! Direct preference optimisation: pairs of responses against a frozen reference.

use base::stats::log_sum_exp;
use models::{Output, OutputSpec};
use serde::{Deserialize, Serialize};

use super::context::{MethodOutput, StepContext, check_rows, wrong_kind};
use super::outputs::{logprobs, output_grads};
use crate::data::{Preference, TrainingRow};
use crate::error::{Result, TrainError};
use crate::losses::Layout;
use crate::losses::preference::weights::{JudgedSolution, confidence, step_orlm, wpo};
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
    /// The weight of a pair.
    #[serde(default)]
    pub weights: PairWeights,
    /// Whether the label of a row, the probability that the chosen response is the better one,
    /// softens the loss; true by default.
    #[serde(default = "yes")]
    pub soft_labels: bool,
    /// Whether the margin of a row is what `beta D` should exceed; false by default.
    #[serde(default)]
    pub margins: bool,
    /// Whether the loss uses no reference model.
    #[serde(default)]
    pub reference_free: bool,
    /// The adapter to train; `None` trains the model itself.
    #[serde(default)]
    pub adapter: Option<String>,
}

fn yes() -> bool {
    true
}

/// The weight of a pair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PairWeights {
    /// 1.
    #[default]
    None,
    /// The row's `weight`.
    Row,
    /// The row's `margin`.
    Margin,
    /// `|2 q - 1|` by the row's `label` q, which then does not soften the loss.
    Confidence,
    /// By the row's `outcomes` and `right_shares`: W-DPO of `StepORLM` (2509.22558).
    WDpo,
    /// By the likelihood of both responses under the current weights: WPO (2406.11827).
    Wpo,
}

impl PreferenceConfig {
    pub(super) fn check(&self) -> Vec<String> {
        let mut problems = check_rows(self.rows);
        problems.extend(self.loss.check().err().map(|error| format!("loss: {error}")));
        if self.margins && matches!(self.loss, DirectPreference::Ipo { .. }) {
            problems.push("IPO has a fixed target, so `margins` is false with it".to_owned());
        }
        if self.margins && self.weights == PairWeights::Margin {
            problems.push("a margin is a weight or what a pair should exceed, not both".to_owned());
        }
        problems
    }

    /// The label of a row as the loss reads it.
    fn label(&self, row: &Preference) -> f64 {
        let softens = self.soft_labels && self.weights != PairWeights::Confidence;
        row.label.filter(|_| softens).unwrap_or(1.0)
    }

    /// The weight of a row's pair; `read` computes WPO's.
    fn weight(&self, row: &Preference, read: impl FnOnce() -> Result<f64>) -> Result<f64> {
        let missing = |field: &str| {
            TrainError::Invalid(format!("`weights` reads `{field}`, and a row has none"))
        };
        match self.weights {
            PairWeights::None => Ok(1.0),
            PairWeights::Row => row.weight.ok_or_else(|| missing("weight")),
            PairWeights::Margin => row.margin.ok_or_else(|| missing("margin")),
            PairWeights::Confidence => Ok(confidence(row.label.ok_or_else(|| missing("label"))?)?),
            PairWeights::WDpo => w_dpo(row),
            PairWeights::Wpo => read(),
        }
    }
}

/// The weight of W-DPO; a pair of equals has 0.
fn w_dpo(row: &Preference) -> Result<f64> {
    let [chosen, rejected] = row.outcomes.ok_or_else(|| {
        TrainError::Invalid("`weights = \"w_dpo\"` reads `outcomes`, and a row has none".to_owned())
    })?;
    let shares = row.right_shares.unwrap_or_default();
    let judged = |is_right, right_share| JudgedSolution { is_right, right_share };
    match step_orlm(judged(chosen, shares[0]), judged(rejected, shares[1]))? {
        None => Ok(0.0),
        Some(preference) if preference.prefers_first => Ok(preference.weight),
        Some(_) => Err(TrainError::Invalid(
            "by its `outcomes` and `right_shares`, the rejected response of a row is the better one"
                .to_owned(),
        )),
    }
}

pub(super) fn step(
    config: &PreferenceConfig,
    step: &StepContext<'_>,
    rows: &[TrainingRow],
) -> Result<MethodOutput> {
    let adapter = step.adapter(config.adapter.as_deref())?;
    let mut sequences = Vec::new();
    let (mut weights, mut labels, mut margins) = (Vec::new(), Vec::new(), Vec::new());
    for row in rows {
        let TrainingRow::Preference(row) = row else {
            return Err(wrong_kind(row, "preference"));
        };
        let prompt = step.encoder.prompt(&row.turns)?;
        let first = sequences.len();
        for response in [&row.chosen, &row.rejected] {
            sequences.push(PolicySequence {
                adapter,
                ..PolicySequence::continued(&prompt, &step.encoder.completion(response)?)
            });
        }
        let likelihoods = || {
            let pair = sequences[first..].iter();
            pair.map(|sequence| likelihood(step, sequence)).product::<Result<f64>>()
        };
        weights.push(config.weight(row, likelihoods)?);
        labels.push(config.label(row));
        margins.push(row.margin.unwrap_or(0.0));
    }
    let total = rows.len();
    let reference = reference_logprobs(config, step, &sequences)?;
    let mut output = step.loss_gradients(&sequences, 2, total, |members, outputs, meter| {
        let (mut logp, mut before, mut cu_seqlens) = (Vec::new(), Vec::new(), vec![0]);
        for (member, outputs) in members.iter().zip(outputs) {
            logp.extend(logprobs(outputs)?);
            if let Some(reference) = &reference {
                before.extend_from_slice(&reference[*member]);
            }
            cu_seqlens.push(logp.len());
        }
        let mask = vec![true; logp.len()];
        let of_pairs =
            |all: &[f64]| -> Vec<f64> { members.iter().step_by(2).map(|at| all[at / 2]).collect() };
        let (weights, labels) = (of_pairs(&weights), of_pairs(&labels));
        let margins = of_pairs(&margins);
        let responses = PreferredResponses {
            reference: reference.as_ref().map(|_| before.as_slice()),
            weights: Some(&weights),
            labels: Some(&labels),
            margins: config.margins.then_some(margins.as_slice()),
            ..PreferredResponses::new(Layout::new(&cu_seqlens, &mask), &logp)
        };
        let loss = config.loss.evaluate(&responses, total)?;
        meter.add(&loss);
        let parts = cu_seqlens.windows(2).map(|ends| output_grads(&loss.grad[ends[0]..ends[1]]));
        Ok(parts.collect())
    })?;
    let mean = weights.iter().sum::<f64>() / total as f64;
    output.metrics.set_mean("preference/weight", mean, total as f64);
    Ok(output)
}

/// The likelihood of a response under the current weights, as WPO weighs it.
fn likelihood(step: &StepContext<'_>, sequence: &PolicySequence) -> Result<f64> {
    let size = u32::try_from(step.policy.config().vocab_size).expect("ids are u32");
    let all = OutputSpec::Labels { columns: (0..size).collect(), mass: false };
    let whole = PolicySequence {
        reads: sequence.reads.iter().map(|(at, _)| (*at, all.clone())).collect(),
        ..sequence.clone()
    };
    let read = step.policy.read(std::slice::from_ref(&whole), step.micro_tokens)?;
    let (mut logp, mut squares) = (Vec::new(), Vec::new());
    for ((at, _), output) in whole.reads.iter().zip(read.iter().flatten()) {
        let Output::Labels { logits, .. } = output else {
            return Err(TrainError::Invalid("WPO reads the vocabulary".to_owned()));
        };
        let logits: Vec<f64> = logits.iter().map(|logit| f64::from(*logit)).collect();
        let doubled: Vec<f64> = logits.iter().map(|logit| 2.0 * logit).collect();
        let total = log_sum_exp(&logits);
        logp.push(logits[sequence.token_ids[at + 1] as usize] - total);
        squares.push(log_sum_exp(&doubled) - 2.0 * total);
    }
    Ok(wpo(&logp, &squares)?)
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
    step.reference_logprobs(sequences).map(Some)
}
