//! How a step's gradients come about: one file a method.
//!
//! A method takes the rows of a step, has the policy read what its loss needs, and leaves gradients.
//! Clipping, the optimiser and everything around a step are the run's.

pub mod policy_gradient;
mod preference;
mod process;
mod reward;
mod supervised;

use serde::{Deserialize, Serialize};

pub use policy_gradient::{PolicyGradient, PolicyGradientConfig};
pub use preference::PreferenceConfig;
pub use process::ProcessConfig;
pub use reward::RewardConfig;
pub use supervised::SupervisedConfig;

use crate::data::{Row, Rows};
use crate::encode::Encoder;
use crate::error::{Result, TrainError};
use crate::losses::Stats;
use crate::metrics::Metrics;
use crate::policy::{Gradients, Policy, Sequence};
use crate::run::RunConfig;

/// `[method]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum MethodConfig {
    /// Texts that the model is to write.
    Supervised(SupervisedConfig),
    /// A score head, by pairs of answers (Bradley and Terry, 1952).
    Reward(RewardConfig),
    /// Labels of steps.
    Process(ProcessConfig),
    /// Pairs of answers, without a reward model (DPO and its kin).
    Preference(PreferenceConfig),
    /// Rollouts and their rewards.
    PolicyGradient(Box<PolicyGradientConfig>),
}

impl MethodConfig {
    /// What cannot work, in sentences.
    pub fn check(&self, run: &RunConfig) -> Vec<String> {
        match self {
            MethodConfig::Supervised(config) => config.check(),
            MethodConfig::Reward(config) => config.check(),
            MethodConfig::Process(config) => config.check(),
            MethodConfig::Preference(config) => config.check(),
            MethodConfig::PolicyGradient(config) => config.check(run),
        }
    }

    /// Rows of a step.
    pub fn rows(&self) -> usize {
        match self {
            MethodConfig::Supervised(config) => config.rows,
            MethodConfig::Reward(config) => config.rows,
            MethodConfig::Process(config) => config.rows,
            MethodConfig::Preference(config) => config.rows,
            MethodConfig::PolicyGradient(config) => config.prompts,
        }
    }
}

/// What every method is given.
#[derive(Clone, Copy, Debug)]
pub struct Step<'a> {
    /// The model.
    pub policy: &'a Policy,
    /// The model as it was when the run began, for methods that compare with it.
    pub reference: Option<&'a Policy>,
    /// Its tokenizer.
    pub encoder: &'a Encoder,
    /// Tokens of a micro-batch at most.
    pub micro_tokens: usize,
    /// The step, from 1.
    pub step: u64,
    /// The run's seed.
    pub seed: u64,
    /// Revision of the weights at the beginning of the step.
    pub revision: u64,
}

impl Step<'_> {
    /// The index of an adapter that a method names.
    pub(crate) fn adapter(&self, name: Option<&str>) -> Result<Option<usize>> {
        let Some(name) = name else { return Ok(None) };
        let found = self.policy.adapter(name);
        found.map(Some).ok_or_else(|| {
            TrainError::Invalid(format!("the method trains the adapter '{name}', which is none"))
        })
    }
}

/// Tokens of all sequences.
pub(crate) fn tokens<'a>(sequences: impl IntoIterator<Item = &'a Sequence>) -> f64 {
    let lengths = sequences.into_iter().map(|one| one.token_ids.len());
    lengths.sum::<usize>() as f64
}

/// The means of a loss's tallies.
pub(crate) fn report(metrics: &mut Metrics, stats: &Stats) {
    for (name, tally) in stats.iter() {
        if let Some(mean) = tally.mean() {
            metrics.set(name, mean);
        }
    }
}

/// A row that a method has no use for.
pub(crate) fn wrong_kind(row: &Row, wanted: &str) -> TrainError {
    TrainError::Invalid(format!(
        "the method needs {wanted} rows, and the data has a row of the kind {}",
        row.kind()
    ))
}

/// What a step left.
#[derive(Debug)]
pub struct Stepped {
    /// Gradients of the whole batch; none where there was nothing to learn from.
    pub gradients: Option<Gradients>,
    /// What there is to report.
    pub metrics: Metrics,
}

/// The methods whose rows are data: everything but rollouts.
///
/// # Errors
/// Rows of another kind, and what the policy refuses.
pub fn offline(config: &MethodConfig, step: &Step<'_>, rows: &mut Rows) -> Result<Stepped> {
    let n = config.rows();
    let rows = rows.take((step.step - 1) * n as u64, n)?;
    match config {
        MethodConfig::Supervised(config) => supervised::step(config, step, &rows),
        MethodConfig::Reward(config) => reward::step(config, step, &rows),
        MethodConfig::Process(config) => process::step(config, step, &rows),
        MethodConfig::Preference(config) => preference::step(config, step, &rows),
        MethodConfig::PolicyGradient(_) => {
            Err(TrainError::Invalid("a policy gradient needs an engine".to_owned()))
        }
    }
}

/// That a step has rows.
pub(crate) fn check_rows(rows: usize) -> Vec<String> {
    if rows == 0 { vec!["`rows` is at least 1".to_owned()] } else { Vec::new() }
}
