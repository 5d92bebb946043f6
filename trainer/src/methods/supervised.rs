//! Supervised fine-tuning: cross-entropy of completions, the mean over all their tokens.

use std::collections::BTreeMap;

use models::{Output, OutputSpec};
use serde::{Deserialize, Serialize};

use super::context::{MethodOutput, StepContext, check_rows, count_tokens, wrong_kind};
use super::outputs::{logprobs, mean_logprob_grad};
use crate::data::{Tokenized, TrainingRow};
use crate::error::Result;
use crate::metrics::Metrics;
use crate::policy::{Gradients, Packing, PolicySequence};

/// Options of supervised training.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SupervisedConfig {
    /// Rows of a step.
    pub rows: usize,
    /// The adapter to train; `None` trains the model itself.
    #[serde(default)]
    pub adapter: Option<String>,
}

impl SupervisedConfig {
    pub(super) fn check(&self) -> Vec<String> {
        check_rows(self.rows)
    }
}

/// Loss sum and number of tokens of a kind of row.
#[derive(Clone, Copy, Default)]
struct LossSum {
    loss: f64,
    tokens: f64,
}

pub(super) fn step(
    config: &SupervisedConfig,
    step: &StepContext<'_>,
    rows: &[TrainingRow],
) -> Result<MethodOutput> {
    let adapter = step.adapter(config.adapter.as_deref())?;
    let (mut sequences, mut kinds) = (Vec::new(), Vec::new());
    for row in rows {
        let (sequence, kind) = match row {
            TrainingRow::Supervised(row) => {
                let tools = row.tools.as_deref();
                let prompt = step.encoder.prompt_with_tools(&row.turns, tools)?;
                let completion = step.encoder.completion(&row.completion)?;
                (PolicySequence::continued(&prompt, &completion), &row.kind)
            }
            TrainingRow::Tokenized(row) => (tokenized(row), &row.kind),
            TrainingRow::Preference(_)
            | TrainingRow::Process(_)
            | TrainingRow::Problem(_)
            | TrainingRow::Ranked(_)
            | TrainingRow::Open(_) => {
                return Err(wrong_kind(row, "supervised"));
            }
        };
        sequences.push(PolicySequence { adapter, ..sequence });
        kinds.push(kind.clone());
    }
    let tokens: usize = sequences.iter().map(|sequence| sequence.reads.len()).sum();
    let mut sums: BTreeMap<&str, LossSum> = BTreeMap::new();
    let mut gradients = Gradients::new(step.policy);
    let loss = |members: &[usize], outputs: &[Vec<Output>]| {
        let mut output_grads = Vec::with_capacity(members.len());
        for (member, outputs) in members.iter().zip(outputs) {
            let sum = sums.entry(&kinds[*member]).or_default();
            let logprobs = logprobs(outputs)?;
            sum.loss -= logprobs.iter().sum::<f64>();
            sum.tokens += logprobs.len() as f64;
            output_grads.push(vec![mean_logprob_grad(tokens, 1.0); outputs.len()]);
        }
        Ok(output_grads)
    };
    step.policy.gradients(&sequences, Packing::of(step.micro_tokens), &mut gradients, loss)?;
    let mut metrics = Metrics::default();
    let total = sums.values().map(|sum| sum.loss).sum::<f64>();
    metrics.set_mean("loss", total / tokens as f64, tokens as f64);
    metrics.set("tokens", tokens as f64);
    metrics.set("time/forward", gradients.forward);
    metrics.set("time/backward", gradients.backward);
    metrics.set("tokens_forward", count_tokens(&sequences));
    for (kind, sum) in sums {
        metrics.set_mean(format!("loss/{kind}"), sum.loss / sum.tokens, sum.tokens);
    }
    Ok(MethodOutput { gradients: Some(gradients), metrics })
}

fn tokenized(row: &Tokenized) -> PolicySequence {
    let targets = row.targets.iter();
    PolicySequence {
        token_ids: row.token_ids.clone(),
        reads: targets.map(|(at, token)| (*at, OutputSpec::Logprob(*token))).collect(),
        adapter: None,
        logit_scale: None,
    }
}
