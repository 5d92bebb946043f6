//! Training methods, one file each: from the rows of a step to gradients.
//!
//! A method encodes rows, computes by the policy the outputs that its loss reads, and returns
//! gradients. It must not depend on the run around it: run files, logs, checkpoints and
//! evaluations.

pub(crate) mod context;
mod outputs;
pub mod policy_gradient;
mod preference;
mod process;
mod reward;
mod supervised;

use serde::{Deserialize, Serialize};

pub use context::{MethodOutput, RunNames, StepContext};
pub use policy_gradient::{PolicyGradient, PolicyGradientConfig};
pub use preference::{PairWeights, PreferenceConfig};
pub use process::ProcessConfig;
pub use reward::{Margins, MetaSection, RewardConfig};
pub use supervised::SupervisedConfig;

use crate::data::{RowsSource, TrainingRow, TrainingRows};
use crate::error::{Result, TrainError};
use crate::rollout::ToolSection;

/// `[method]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum MethodConfig {
    /// Cross-entropy of completions.
    Supervised(SupervisedConfig),
    /// A reward model, by pairs of responses (Bradley and Terry, 1952).
    Reward(RewardConfig),
    /// A process reward model, by labels of steps.
    Process(ProcessConfig),
    /// DPO and related losses: pairs of responses without a reward model.
    Preference(PreferenceConfig),
    /// GRPO and related methods: rollouts and their rewards.
    PolicyGradient(Box<PolicyGradientConfig>),
}

impl MethodConfig {
    /// Lists the options that cannot work, in sentences.
    pub fn check(&self, run: &RunNames<'_>) -> Vec<String> {
        match self {
            MethodConfig::Supervised(config) => config.check(),
            MethodConfig::Reward(config) => config.check(),
            MethodConfig::Process(config) => config.check(),
            MethodConfig::Preference(config) => config.check(),
            MethodConfig::PolicyGradient(config) => config.check(run),
        }
    }

    /// Lists what cannot work with or without the tools of a run, each with the section at fault.
    pub fn check_tools(&self, tools: Option<&ToolSection>) -> Vec<(&'static str, String)> {
        match (self, tools) {
            (MethodConfig::PolicyGradient(config), tools) => config.check_tools(tools),
            (_, None) => Vec::new(),
            (_, Some(_)) => vec![(
                "tools",
                "tools are for rollouts, which the method `policy_gradient` has alone".to_owned(),
            )],
        }
    }

    /// Whether it trains a head in the place of the vocabulary.
    pub fn reads_head(&self) -> bool {
        match self {
            MethodConfig::Reward(_) => true,
            MethodConfig::Process(config) => config.labels.is_none(),
            MethodConfig::Supervised(_)
            | MethodConfig::Preference(_)
            | MethodConfig::PolicyGradient(_) => false,
        }
    }

    /// The responses of another distribution that a reward model is trained with; `None` without.
    pub fn shifted(&self) -> Option<&RowsSource> {
        match self {
            MethodConfig::Reward(config) => config.meta.as_ref().map(|meta| &meta.data),
            MethodConfig::Supervised(_)
            | MethodConfig::Process(_)
            | MethodConfig::Preference(_)
            | MethodConfig::PolicyGradient(_) => None,
        }
    }

    /// The adapter that it trains, of a policy gradient the one that solves; `None` for the model
    /// itself.
    pub fn adapter(&self) -> Option<&str> {
        match self {
            MethodConfig::Supervised(config) => config.adapter.as_deref(),
            MethodConfig::Reward(config) => config.adapter.as_deref(),
            MethodConfig::Process(config) => config.adapter.as_deref(),
            MethodConfig::Preference(config) => config.adapter.as_deref(),
            MethodConfig::PolicyGradient(config) => config.adapter.as_deref(),
        }
    }

    /// Whether it names an adapter to train.
    pub fn names_adapter(&self) -> bool {
        let judges = match self {
            MethodConfig::PolicyGradient(config) => config.judge_adapter.is_some(),
            MethodConfig::Supervised(_)
            | MethodConfig::Reward(_)
            | MethodConfig::Process(_)
            | MethodConfig::Preference(_) => false,
        };
        judges || self.adapter().is_some()
    }

    /// Whether rollouts become judging and reflection items (SPARK).
    pub fn has_spark(&self) -> bool {
        match self {
            MethodConfig::PolicyGradient(config) => config.spark.is_some(),
            MethodConfig::Supervised(_)
            | MethodConfig::Reward(_)
            | MethodConfig::Process(_)
            | MethodConfig::Preference(_) => false,
        }
    }

    /// Number of rows of a step.
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

/// Computes the gradients of one step of a method that trains on data, without rollouts; `shifted` are
/// the responses of [`MetaSection`], with which the weights are moved for the time of this call.
///
/// # Errors
/// Rows of another kind, and errors of the policy.
pub fn offline_step(
    config: &MethodConfig,
    step: &StepContext<'_>,
    rows: &mut TrainingRows,
    shifted: Option<&mut TrainingRows>,
) -> Result<MethodOutput> {
    let take = |rows: &mut TrainingRows, n: usize| rows.take((step.step - 1) * n as u64, n);
    let n_shifted = match config {
        MethodConfig::Reward(config) => config.shifted_rows(),
        MethodConfig::Supervised(_)
        | MethodConfig::Process(_)
        | MethodConfig::Preference(_)
        | MethodConfig::PolicyGradient(_) => None,
    };
    let rows = take(rows, config.rows())?;
    let shifted = n_shifted.zip(shifted).map(|(n, shifted)| take(shifted, n)).transpose()?;
    offline_batch(config, step, &rows, shifted.as_deref())
}

/// The same on these rows, which may be fewer than those of a step.
///
/// # Errors
/// As for [`offline_step`].
pub fn offline_batch(
    config: &MethodConfig,
    step: &StepContext<'_>,
    rows: &[TrainingRow],
    shifted: Option<&[TrainingRow]>,
) -> Result<MethodOutput> {
    match config {
        MethodConfig::Supervised(config) => supervised::step(config, step, rows),
        MethodConfig::Reward(config) => reward::step(config, step, rows, shifted),
        MethodConfig::Process(config) => process::step(config, step, rows),
        MethodConfig::Preference(config) => preference::step(config, step, rows),
        MethodConfig::PolicyGradient(_) => {
            Err(TrainError::Invalid("a policy gradient needs an engine".to_owned()))
        }
    }
}
