//! Answers of the policy to the items of an evaluation.

use base::stats::mean;

use crate::error::Result;
use crate::item::{Rollout, TrainingItem};
use crate::methods::PolicyGradient;
use crate::metrics::Metrics;
use crate::rollout::{RolloutParams, SampleRequest};

/// Sets the mean, unless there are no numbers.
pub(super) fn set_mean(metrics: &mut Metrics, name: &str, numbers: &[f64]) {
    if let Some(mean) = mean(numbers) {
        metrics.set(name, mean);
    }
}

/// Samples `n` answers to each item and scores them; those of an item are together.
pub(super) fn answers(
    policy_gradient: &PolicyGradient,
    items: &[&TrainingItem],
    n: usize,
    params: RolloutParams,
) -> Result<Vec<Rollout>> {
    let sampler = policy_gradient.sampler();
    let mut requests = Vec::with_capacity(items.len() * n);
    for item in items {
        let prompt = sampler.prompt(item)?;
        for _ in 0..n {
            let adapter = policy_gradient.adapter(item.role);
            let stream = requests.len() as u64;
            requests.push((SampleRequest::new(prompt.clone(), adapter, stream), *item));
        }
    }
    let samples = policy_gradient.respond(requests, params)?.into_iter();
    let mut answers: Vec<Rollout> =
        samples.map(|sample| sampler.rollout(sample)).collect::<Result<_>>()?;
    let mut pairs: Vec<(&TrainingItem, &mut Rollout)> =
        answers.iter_mut().enumerate().map(|(at, rollout)| (items[at / n], rollout)).collect();
    policy_gradient.rewards().reward(&mut pairs, params.seed)?;
    Ok(answers)
}
