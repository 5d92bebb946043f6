//! Supervised fine-tuning: cross-entropy of completions, the mean over all their tokens.

use std::collections::BTreeMap;

use models::{Output, Read};
use serde::{Deserialize, Serialize};

use super::{Step, Stepped, check_rows, wrong_kind};
use crate::data::{Row, Tokenized};
use crate::error::{Result, TrainError};
use crate::metrics::Metrics;
use crate::policy::{Gradients, Packing, Sequence, Slope};

/// Options of supervised training.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SupervisedConfig {
    /// Rows of a step.
    pub rows: usize,
    /// The adapter that is trained, where it is not the model itself.
    #[serde(default)]
    pub adapter: Option<String>,
}

impl SupervisedConfig {
    pub(super) fn check(&self) -> Vec<String> {
        check_rows(self.rows)
    }
}

/// Sum of losses and number of tokens.
#[derive(Clone, Copy, Default)]
struct Sum {
    loss: f64,
    tokens: f64,
}

pub(super) fn step(config: &SupervisedConfig, step: &Step<'_>, rows: &[Row]) -> Result<Stepped> {
    let adapter = step.adapter(config.adapter.as_deref())?;
    let (mut sequences, mut kinds) = (Vec::new(), Vec::new());
    for row in rows {
        let (sequence, kind) = match row {
            Row::Supervised(row) => {
                let prompt = step.encoder.prompt(&row.turns)?;
                let completion = step.encoder.completion(&row.completion)?;
                (Sequence::continued(&prompt, &completion), &row.kind)
            }
            Row::Tokenized(row) => (tokenized(row), &row.kind),
            Row::Preference(_)
            | Row::Process(_)
            | Row::Problem(_)
            | Row::Ranked(_)
            | Row::Open(_) => {
                return Err(wrong_kind(row, "supervised"));
            }
        };
        sequences.push(Sequence { adapter, ..sequence });
        kinds.push(kind.clone());
    }
    let tokens: usize = sequences.iter().map(|sequence| sequence.reads.len()).sum();
    let mut sums: BTreeMap<&str, Sum> = BTreeMap::new();
    let mut gradients = Gradients::new(step.policy);
    let loss = |members: &[usize], outputs: &[Vec<Output>]| {
        let mut slopes = Vec::with_capacity(members.len());
        for (member, outputs) in members.iter().zip(outputs) {
            let sum = sums.entry(&kinds[*member]).or_default();
            let logprobs = logprobs(outputs)?;
            sum.loss -= logprobs.iter().sum::<f64>();
            sum.tokens += logprobs.len() as f64;
            slopes.push(vec![mean_slope(tokens, 1.0); outputs.len()]);
        }
        Ok(slopes)
    };
    step.policy.gradients(&sequences, Packing::of(step.micro_tokens), &mut gradients, loss)?;
    let mut metrics = Metrics::default();
    let total = sums.values().map(|sum| sum.loss).sum::<f64>();
    metrics.set("loss", total / tokens as f64);
    metrics.set("tokens", tokens as f64);
    metrics.set("time/forward", gradients.forward);
    metrics.set("time/backward", gradients.backward);
    let lengths = sequences.iter().map(|sequence| sequence.token_ids.len());
    metrics.set("tokens_forward", lengths.sum::<usize>() as f64);
    for (kind, sum) in sums {
        metrics.set(format!("loss/{kind}"), sum.loss / sum.tokens);
    }
    Ok(Stepped { gradients: Some(gradients), metrics })
}

fn tokenized(row: &Tokenized) -> Sequence {
    let targets = row.targets.iter();
    Sequence {
        token_ids: row.token_ids.clone(),
        reads: targets.map(|(at, token)| (*at, Read::Logprob(*token))).collect(),
        adapter: None,
    }
}

/// −`share` / n for the log-probability.
#[expect(clippy::cast_possible_truncation, reason = "a slope, rounded to the gradients' type")]
pub(super) fn mean_slope(tokens: usize, share: f64) -> Slope {
    Slope::Logprob { logprob: (-share / tokens as f64) as f32, entropy: 0.0 }
}

/// The log-probabilities of a sequence.
pub(super) fn logprobs(outputs: &[Output]) -> Result<Vec<f64>> {
    let logprob = |output: &Output| match output {
        Output::Logprob { logprob, .. } => Ok(f64::from(*logprob)),
        Output::Head(_) | Output::Vocab(_) | Output::Labels { .. } | Output::Hidden(_) => {
            Err(TrainError::Invalid("a log-probability was to be read".to_owned()))
        }
    };
    outputs.iter().map(logprob).collect()
}
