//! Judging items as supervised rows: the reply is known, so it can be trained by cross-entropy
//! without a rollout, beside rewards or in their place. Which is better for a judge is an open
//! question (arXiv 2510.12157 finds that rewards alone need not make a better verifier).

use std::sync::Arc;
use std::time::Instant;

use models::Output;

use super::rollouts::Rollouts;
use super::update_batch::Apply;
use crate::error::Result;
use crate::item::TrainingItem;
use crate::methods::context::{StepContext, count_tokens};
use crate::methods::outputs::{logprobs, mean_logprob_grad};
use crate::metrics::Metrics;
use crate::policy::{Gradients, Packing, PolicySequence};

/// Encodes the judging items whose label is known, each with its label as the reply.
pub(super) fn encode(
    rollouts: &Rollouts,
    step: &StepContext<'_>,
    items: &[TrainingItem],
) -> Result<Vec<PolicySequence>> {
    let mut sequences = Vec::new();
    for item in items.iter().filter(|item| item.role.judges()) {
        let Some(label) = &item.gold else { continue };
        let prompt: Arc<[u32]> = rollouts.sampler.prompt(item)?;
        let adapter = rollouts.adapter(item.role);
        sequences.push(PolicySequence {
            adapter: step.adapter(adapter.as_deref())?,
            ..PolicySequence::continued(&prompt, &step.encoder.completion(label)?)
        });
    }
    Ok(sequences)
}

/// Takes one step of the optimiser on labels: the mean cross-entropy over their tokens.
pub(super) fn train(
    step: &StepContext<'_>,
    labels: &[PolicySequence],
    apply: &mut Apply<'_>,
) -> Result<Metrics> {
    let mut metrics = Metrics::default();
    metrics.set("items", labels.len() as f64);
    if labels.is_empty() {
        return Ok(metrics);
    }
    let begin = Instant::now();
    let mut gradients = Gradients::new(step.policy);
    metrics.extend("", &add_gradients(step, labels, 1.0, &mut gradients)?);
    metrics.set("tokens_forward", count_tokens(labels));
    metrics.set("gradient_norm", apply(&mut gradients)?);
    metrics.set("time/train", begin.elapsed().as_secs_f64());
    Ok(metrics)
}

/// Adds the gradient of `share` times the mean cross-entropy over the labels' tokens; reports that
/// mean and the number of tokens.
pub(super) fn add_gradients(
    step: &StepContext<'_>,
    labels: &[PolicySequence],
    share: f64,
    gradients: &mut Gradients,
) -> Result<Metrics> {
    let n: usize = labels.iter().map(|sequence| sequence.reads.len()).sum();
    let mut sum = 0.0;
    let loss = |_: &[usize], outputs: &[Vec<Output>]| {
        let output_grads = |outputs: &Vec<Output>| {
            sum -= logprobs(outputs)?.iter().sum::<f64>();
            Ok(vec![mean_logprob_grad(n, share); outputs.len()])
        };
        outputs.iter().map(output_grads).collect()
    };
    step.policy.gradients(labels, Packing::of(step.micro_tokens), gradients, loss)?;
    let mut metrics = Metrics::default();
    metrics.set("loss", sum / n as f64);
    metrics.set("tokens", n as f64);
    Ok(metrics)
}
