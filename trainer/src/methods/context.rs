//! Input and output of every method.

use rubrics::Registry;

use crate::data::TrainingRow;
use crate::encode::Encoder;
use crate::error::{Result, TrainError};
use crate::losses::Stats;
use crate::metrics::Metrics;
use crate::policy::{Gradients, Policy, PolicySequence};

/// The input of a method for one step.
#[derive(Clone, Copy, Debug)]
pub struct StepContext<'a> {
    /// The model in training.
    pub policy: &'a Policy,
    /// The reference model: the model at the start of the run. `None` if no loss reads it.
    pub reference: Option<&'a Policy>,
    /// Encodes conversations.
    pub encoder: &'a Encoder,
    /// Maximum tokens of a micro-batch.
    pub micro_tokens: usize,
    /// The step, from 1.
    pub step: u64,
    /// The run's seed.
    pub seed: u64,
    /// Revision of the weights at the beginning of the step.
    pub revision: u64,
}

impl StepContext<'_> {
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
    /// Names of the adapters.
    pub adapters: Vec<&'a str>,
}

impl RunNames<'_> {
    /// Describes the problem if there is no scorer of this name.
    pub(crate) fn missing_scorer(&self, name: &str) -> Option<String> {
        if self.scorers.get(name).is_some() {
            return None;
        }
        let near = self.scorers.near(name).join("', '");
        Some(format!("there is no scorer '{name}'; near are '{near}'"))
    }
}

/// Counts the tokens of all sequences.
pub(crate) fn count_tokens<'a>(sequences: impl IntoIterator<Item = &'a PolicySequence>) -> f64 {
    sequences.into_iter().map(|sequence| sequence.token_ids.len()).sum::<usize>() as f64
}

/// Reports the means of a loss's statistics.
pub(crate) fn report(metrics: &mut Metrics, stats: &Stats) {
    for (name, tally) in stats.iter() {
        if let Some(mean) = tally.mean() {
            metrics.set(name, mean);
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
