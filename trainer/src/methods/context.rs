//! Input and output of every method.

use models::Output;
use rubrics::Registry;

use super::outputs::logprobs;
use crate::data::TrainingRow;
use crate::encode::Encoder;
use crate::error::{Result, TrainError};
use crate::losses::{Loss, Stats};
use crate::metrics::Metrics;
use crate::policy::{Grad, Gradients, Packing, Policy, PolicySequence};
use crate::rollout::no_scorer;

/// The input of a method for one step.
#[derive(Clone, Copy, Debug)]
pub struct StepContext<'a> {
    /// The model in training.
    pub policy: &'a Policy,
    /// The reference model: the model at the start of the run, with the adapters that it started
    /// from. `None` if no loss reads it.
    pub reference: Option<&'a Policy>,
    /// Encodes conversations.
    pub encoder: &'a Encoder,
    /// Maximum tokens of a micro-batch.
    pub micro_tokens: usize,
    /// The step, from 1.
    pub step: u64,
    /// Steps of the run.
    pub steps: u64,
    /// The run's seed.
    pub seed: u64,
    /// Revision of the weights at the beginning of the step, or of the update that a hook takes after
    /// the policy's.
    pub revision: u64,
}

impl StepContext<'_> {
    /// Computes the gradients of a loss over a batch, whose sequences stay together in groups of
    /// `together`, and reports the loss, a mean of `total` values, with its statistics. `loss` takes
    /// the sequences of a micro-batch, by index, and the outputs read of each; it adds to the meter
    /// and returns its gradient with respect to each output.
    ///
    /// # Errors
    /// Sequences that cannot be run or read, and errors of `loss`.
    pub(crate) fn loss_gradients(
        &self,
        sequences: &[PolicySequence],
        together: usize,
        total: usize,
        mut loss: impl FnMut(&[usize], &[Vec<Output>], &mut LossMeter) -> Result<Vec<Vec<Grad>>>,
    ) -> Result<MethodOutput> {
        let mut meter = LossMeter::new(total);
        let mut gradients = Gradients::new(self.policy);
        let packing = Packing { tokens: self.micro_tokens, together };
        let metered =
            |members: &[usize], outputs: &[Vec<Output>]| loss(members, outputs, &mut meter);
        self.policy.gradients(sequences, packing, &mut gradients, metered)?;
        let mut metrics = Metrics::default();
        meter.report("", &mut metrics);
        metrics.set("tokens_forward", count_tokens(sequences));
        Ok(MethodOutput { gradients: Some(gradients), metrics })
    }

    /// Computes the log-probabilities of all read tokens of each sequence under the reference. A
    /// sequence of an adapter is read under the weights that this adapter started from: those of its
    /// folder, or the model's own for a new one, which starts without effect.
    ///
    /// # Errors
    /// No reference, and sequences that cannot be run.
    pub(crate) fn reference_logprobs(&self, sequences: &[PolicySequence]) -> Result<Vec<Vec<f64>>> {
        let reference = self.reference.ok_or_else(|| {
            TrainError::Invalid("the loss compares with a reference, and there is none".to_owned())
        })?;
        let at_start = |at: usize| reference.adapter(self.policy.adapter_name(at));
        let sequences: Vec<PolicySequence> = sequences
            .iter()
            .map(|sequence| PolicySequence {
                adapter: sequence.adapter.and_then(at_start),
                ..sequence.clone()
            })
            .collect();
        let read = reference.read(&sequences, self.micro_tokens)?;
        read.iter().map(|outputs| logprobs(outputs)).collect()
    }

    /// Looks up the adapter that a method names; `None` trains the model itself.
    ///
    /// # Errors
    /// No adapter of this name.
    pub(crate) fn adapter(&self, name: Option<&str>) -> Result<Option<usize>> {
        let Some(name) = name else { return Ok(None) };
        let found = self.policy.adapter(name);
        found.map(Some).ok_or_else(|| {
            TrainError::Invalid(format!("the method trains the adapter '{name}', which is none"))
        })
    }
}

/// Gradients and metrics of one step.
#[derive(Debug)]
pub struct MethodOutput {
    /// Gradients of the batch; `None` without a learning signal.
    pub gradients: Option<Gradients>,
    /// Numbers to report.
    pub metrics: Metrics,
}

/// The names that a method's options may use in their run file.
#[derive(Clone, Debug)]
pub struct RunNames<'a> {
    /// The scorers.
    pub scorers: &'a Registry,
    /// The names of the file's scorers, those with faults included.
    pub declared: Vec<&'a str>,
    /// The scorers of a server.
    pub remote: &'a [String],
    /// Names of the adapters.
    pub adapters: Vec<&'a str>,
}

impl RunNames<'_> {
    /// Describes the problem if there is no scorer of this name. One with faults has problems of its
    /// own.
    pub(crate) fn missing_scorer(&self, name: &str) -> Option<String> {
        let is_known = self.scorers.get(name).is_some()
            || self.declared.contains(&name)
            || self.remote.iter().any(|known| known == name);
        (!is_known).then(|| no_scorer(self.scorers, name))
    }
}

/// Counts the tokens of all sequences.
pub(crate) fn count_tokens<'a>(sequences: impl IntoIterator<Item = &'a PolicySequence>) -> f64 {
    sequences.into_iter().map(|sequence| sequence.token_ids.len()).sum::<usize>() as f64
}

/// The loss of a batch, summed over micro-batches.
#[derive(Debug)]
pub(crate) struct LossMeter {
    value: f64,
    /// The number of values that the loss is a mean of.
    total: usize,
    stats: Stats,
}

impl LossMeter {
    /// An empty meter of a loss that is a mean of `total` values.
    pub(crate) fn new(total: usize) -> LossMeter {
        LossMeter { value: 0.0, total, stats: Stats::default() }
    }

    /// Adds the loss of a micro-batch, or of a part of it.
    pub(crate) fn add(&mut self, loss: &Loss) {
        self.value += loss.value;
        self.stats.merge(&loss.stats);
    }

    /// Reports the loss, its name behind a prefix, and the means of its statistics.
    pub(crate) fn report(&self, prefix: &str, metrics: &mut Metrics) {
        metrics.set_mean(format!("{prefix}loss"), self.value, self.total as f64);
        report(metrics, &self.stats);
    }
}

/// Reports the means of a loss's statistics.
pub(crate) fn report(metrics: &mut Metrics, stats: &Stats) {
    for (name, tally) in stats.iter() {
        if let Some(mean) = tally.mean() {
            metrics.set_mean(name, mean, tally.count as f64);
        }
    }
}

/// The error for a row that a method cannot train on.
pub(crate) fn wrong_kind(row: &TrainingRow, wanted: &str) -> TrainError {
    TrainError::Invalid(format!(
        "the method needs {wanted} rows, and the data has a row of the kind {}",
        row.kind()
    ))
}

/// Checks the number of rows of a step.
pub(crate) fn check_rows(rows: usize) -> Vec<String> {
    if rows == 0 { vec!["`rows` is at least 1".to_owned()] } else { Vec::new() }
}
