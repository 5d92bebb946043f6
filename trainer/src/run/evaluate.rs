//! Evaluations: problems solved greedily and by sampling, and losses on held-out rows.

use std::sync::Arc;

use super::adapters;
use super::answers::{answers, set_mean};
use super::reflection::Reflection;
use super::training_run::TrainingRun;
use crate::error::{Result, TrainError};
use crate::figures::pass_at_k;
use crate::item::TrainingItem;
use crate::methods::{MethodConfig, StepContext, offline_batch};
use crate::metrics::Metrics;
use crate::rollout::{DrawParams, RolloutParams};

/// Maximum tokens of an answer of a judge set, unless the run file sets it.
const MOST_ANSWER: usize = 128;

impl TrainingRun {
    /// Solves the evaluation's problems, greedily and by sampling, or computes the loss on its
    /// rows; then measures the judge sets.
    ///
    /// # Errors
    /// A problem that cannot be sampled or scored.
    pub fn evaluate(&mut self) -> Result<Metrics> {
        let mut metrics =
            if self.policy_gradient.is_some() { problems(self)? } else { loss(self)? };
        if let Some(rewards) = &self.judge_set_rewards {
            let max_tokens = self.config.evaluation.max_tokens.unwrap_or(MOST_ANSWER);
            let method = &self.config.method;
            // An adapter under a head gives scores: the model below it writes the solutions.
            let writer = method.adapter().filter(|_| !method.reads_head()).map(Arc::from);
            for set in &self.config.evaluation.judge {
                let solver = (&self.sampler, writer.as_ref());
                let cases = set.cases(&self.config.base, solver, max_tokens)?;
                let measured = set.measure(&cases, rewards)?;
                metrics.extend(&format!("judge/{}/", set.name), &measured);
            }
        }
        Ok(metrics)
    }
}

/// Computes the loss on the evaluation's rows, each once, by the run's method and without training.
/// Means are those over all rows; tokens and times are sums.
fn loss(run: &mut TrainingRun) -> Result<Metrics> {
    let mut metrics = Metrics::default();
    let per_step = run.config.method.rows();
    let Some(rows) = &mut run.evaluation else {
        return Ok(metrics);
    };
    let n = rows.len().or(run.config.evaluation.problems).unwrap_or(per_step);
    for first in (0..n).step_by(per_step) {
        let batch = rows.take(first as u64, per_step.min(n - first))?;
        let step = StepContext {
            policy: &run.policy,
            reference: run.reference.as_ref(),
            encoder: run.sampler.encoder(),
            micro_tokens: adapters::micro_tokens(&run.config, &run.policy),
            step: (first / per_step) as u64 + 1,
            steps: n.div_ceil(per_step) as u64,
            seed: 0,
            revision: run.sampler.host().engine.revision(),
        };
        metrics.pool(&offline_batch(&run.config.method, &step, &batch, None)?.metrics);
    }
    Ok(metrics)
}

/// `greedy` and `pass@k` over the evaluation's problems.
fn problems(run: &mut TrainingRun) -> Result<Metrics> {
    let (Some(policy_gradient), Some(evaluation)) = (&run.policy_gradient, &mut run.evaluation)
    else {
        return Ok(Metrics::default());
    };
    let n = evaluation.len().or(run.config.evaluation.problems);
    let rows = evaluation.take(0, n.unwrap_or(0))?;
    let items = rows.iter().map(|row| {
        row.problem().ok_or_else(|| {
            TrainError::Invalid("an evaluation of a policy needs problem rows".to_owned())
        })
    });
    let items: Vec<&TrainingItem> = items.collect::<Result<_>>()?;
    let MethodConfig::PolicyGradient(method) = &run.config.method else {
        return Err(TrainError::Invalid("only policies are sampled".to_owned()));
    };
    let max_tokens = run.config.evaluation.max_tokens.unwrap_or(method.max_tokens);
    let params = |draws| RolloutParams {
        // The same random draws at every evaluation, so that only the weights differ.
        seed: run.config.run.seed,
        max_tokens,
        draws,
    };
    let mut metrics = Metrics::default();
    let greedy = answers(policy_gradient, &items, 1, params(DrawParams::GREEDY))?;
    let rewarded: Vec<f64> = greedy.iter().filter_map(|answer| answer.reward.ok()).collect();
    set_mean(&mut metrics, "greedy/reward", &rewarded);
    metrics.set("without_reward", (greedy.len() - rewarded.len()) as f64);
    let verdicts: Vec<bool> = greedy.iter().filter_map(|answer| answer.right).collect();
    let right: Vec<f64> = verdicts.iter().map(|right| f64::from(u8::from(*right))).collect();
    set_mean(&mut metrics, "greedy", &right);
    metrics.set("without_verdict", (greedy.len() - right.len()) as f64);
    if let (Some(spark), 1..) = (&method.spark, run.config.evaluation.reflections) {
        let reflection = Reflection::new(spark, run.config.evaluation.reflections)?;
        let params = params(DrawParams::GREEDY);
        metrics.extend("", &reflection.measure(policy_gradient, &items, greedy, params)?);
    }
    let samples = run.config.evaluation.samples;
    if samples > 0 {
        let sampled = answers(policy_gradient, &items, samples, params(DrawParams::FULL))?;
        let verdicts = sampled.chunks(samples).filter_map(|answers| {
            // An answer without a verdict is not a wrong one.
            answers.iter().map(|answer| answer.right).collect::<Option<Vec<bool>>>()
        });
        let right: Vec<usize> =
            verdicts.map(|all| all.into_iter().filter(|right| *right).count()).collect();
        for k in [1, 2, 4, 8, 16, 32, 64].into_iter().filter(|k| *k <= samples) {
            let passes: Vec<f64> =
                right.iter().filter_map(|right| pass_at_k(samples, *right, k)).collect();
            set_mean(&mut metrics, &format!("pass@{k}"), &passes);
        }
    }
    Ok(metrics)
}
