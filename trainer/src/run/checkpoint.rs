//! Checkpoints: the model as a folder that can be served, and the state with which a resumed run
//! continues to the same bytes.

use std::path::{Path, PathBuf};

use models::save::{self, Stage};
use models::weights::FloatType;
use safetensors::SafeTensors;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::config::RunConfig;
use crate::auxiliary::AuxiliaryModel;
use crate::error::{Result, TrainError};
use crate::methods::policy_gradient::PolicyGradientState;
use crate::optimiser::{AdamW, Moments};
use crate::policy::{Parameter, Policy};

const STATE: &str = "training_state.json";
const MOMENTS: &str = "optimiser.safetensors";
const PREFIX: &str = "step-";
/// The number of a parameter's steps, among its moments.
const STEPS: &str = "steps";

/// The folder of the models beside the policy, in a checkpoint and in a run.
pub(super) const AUXILIARY: &str = "auxiliary";

/// The state beside the weights.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Checkpoint {
    /// Number of completed steps.
    pub done: u64,
    /// Steps of the optimiser.
    pub optimiser_steps: u64,
    /// The run file.
    pub config: Value,
    /// State of the training loop, for policy gradients.
    pub rollouts: Option<PolicyGradientState>,
    #[serde(skip)]
    path: PathBuf,
}

/// State of a checkpoint beside the policy.
#[derive(Debug)]
pub(super) struct CheckpointState<'a> {
    pub(super) optimiser: &'a AdamW,
    pub(super) done: u64,
    pub(super) config: &'a Value,
    pub(super) rollouts: Option<PolicyGradientState>,
    pub(super) auxiliary: Vec<&'a AuxiliaryModel>,
}

/// Finds the newest checkpoint of a run's folder.
///
/// # Errors
/// A folder that cannot be listed.
pub fn latest(folder: &Path) -> Result<Option<PathBuf>> {
    Ok(all(folder)?.pop().map(|(_, path)| path))
}

/// Lists checkpoints by step, oldest first. An unfinished one has another name.
fn all(folder: &Path) -> Result<Vec<(u64, PathBuf)>> {
    let failed = |source| TrainError::File { path: folder.display().to_string(), source };
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name();
        let step = name.to_str().and_then(|name| name.strip_prefix(PREFIX));
        if let Some(step) = step.and_then(|step| step.parse().ok()) {
            found.push((step, entry.path()));
        }
    }
    found.sort();
    Ok(found)
}

/// Writes a checkpoint and deletes the oldest beyond `keep`.
pub(super) fn write(
    folder: &Path,
    policy: &Policy,
    state: &CheckpointState<'_>,
    keep: usize,
) -> Result<PathBuf> {
    let target = folder.join(format!("{PREFIX}{:06}", state.done));
    let stage = Stage::begin(&target)?;
    if policy.served_adapters().is_empty() {
        policy.save(&stage)?;
    }
    for (name, _) in policy.served_adapters() {
        let inner = Stage::begin(&stage.path(&format!("adapters/{name}")))?;
        policy.save_adapter(&name, &inner)?;
        inner.finish()?;
    }
    write_moments(&stage, policy, state.optimiser)?;
    for model in &state.auxiliary {
        let inner = Stage::begin(&stage.path(&format!("{}/{}", AUXILIARY, model.name())))?;
        model.policy().save(&inner)?;
        write_moments(&inner, model.policy(), model.optimiser())?;
        inner.finish()?;
    }
    let checkpoint = Checkpoint {
        done: state.done,
        optimiser_steps: state.optimiser.steps,
        config: state.config.clone(),
        rollouts: state.rollouts.clone(),
        path: PathBuf::new(),
    };
    let json = serde_json::to_value(&checkpoint).expect("a state of plain data");
    stage.json(STATE, &json)?;
    stage.finish()?;
    if keep > 0 {
        let all = all(folder)?;
        for (_, path) in &all[..all.len().saturating_sub(keep)] {
            std::fs::remove_dir_all(path)
                .map_err(|source| TrainError::File { path: path.display().to_string(), source })?;
        }
    }
    Ok(target)
}

/// Writes the moments of an optimiser into a staged folder.
fn write_moments(stage: &Stage, policy: &Policy, optimiser: &AdamW) -> Result<()> {
    // Exact below 2^24, as PyTorch's are.
    let steps: Vec<f32> = optimiser.moments.iter().map(|moments| moments.steps as f32).collect();
    let parts = policy.parameters().iter().zip(&optimiser.moments).zip(steps.chunks_exact(1));
    let tensors = parts.flat_map(|((parameter, moments), steps)| {
        let name = |what: &str| format!("{}.{what}", parameter.name);
        let n = moments.mean.len();
        [
            (name("mean"), vec![n], &moments.mean[..]),
            (name("square"), vec![n], &moments.square[..]),
            (name(STEPS), vec![1], steps),
        ]
    });
    save::tensors(stage, MOMENTS, FloatType::F32, tensors)?;
    Ok(())
}

/// Restores the moments of an optimiser from the folder of a model.
pub(super) fn restore_moments(folder: &Path, optimiser: &mut AdamW, policy: &Policy) -> Result<()> {
    let file = folder.join(MOMENTS);
    let bytes = std::fs::read(&file)
        .map_err(|source| TrainError::File { path: file.display().to_string(), source })?;
    let wrong = |what: String| TrainError::Invalid(format!("{}: {what}", file.display()));
    let tensors = SafeTensors::deserialize(&bytes).map_err(|error| wrong(error.to_string()))?;
    for (parameter, moments) in policy.parameters().iter().zip(&mut optimiser.moments) {
        let n = parameter.var.elem_count();
        let read = |what: &str, n| read_moments(&tensors, parameter, what, n).map_err(&wrong);
        *moments = Moments {
            mean: read("mean", n)?,
            square: read("square", n)?,
            steps: count(read(STEPS, 1)?[0]),
        };
    }
    Ok(())
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a number of steps, which was written as a float"
)]
fn count(steps: f32) -> u64 {
    steps as u64
}

impl Checkpoint {
    /// Reads the state of a checkpoint.
    ///
    /// # Errors
    /// A file that is missing or malformed.
    pub fn read(path: &Path) -> Result<Checkpoint> {
        let file = path.join(STATE);
        let text = std::fs::read_to_string(&file)
            .map_err(|source| TrainError::File { path: file.display().to_string(), source })?;
        let checkpoint: Checkpoint = serde_json::from_str(&text)
            .map_err(|error| TrainError::Invalid(format!("{}: {error}", file.display())))?;
        Ok(Checkpoint { path: path.to_owned(), ..checkpoint })
    }

    /// Compares the run file with that of the checkpoint. The number of steps may grow, and places
    /// and intervals of output may change.
    ///
    /// # Errors
    /// [`TrainError::Invalid`] with every difference, unless changes are allowed.
    pub fn compare(&self, config: &RunConfig, allow_changes: bool) -> Result<()> {
        let mut differences = Vec::new();
        differ("", &self.config, &config.json, &mut differences);
        differences.retain(|difference| !FREE.iter().any(|key| difference.starts_with(key)));
        if differences.is_empty() || allow_changes {
            return Ok(());
        }
        Err(TrainError::Invalid(format!(
            "the run file differs from the one that {} was made with, so the run would not go on \
             as it began; allow it with --allow-changes:\n{}",
            self.path.display(),
            differences.join("\n")
        )))
    }

    /// Refuses a run file that ends before the checkpoint: the run would go on without a step, and a
    /// reader would take the checkpoint for one of fewer steps.
    ///
    /// # Errors
    /// [`TrainError::Invalid`] with both numbers.
    pub fn refuse_fewer_steps(&self, steps: u64) -> Result<()> {
        if self.done <= steps {
            return Ok(());
        }
        Err(TrainError::Invalid(format!(
            "{} has {} steps behind it, and run.steps is {steps}: raise it, or begin in another \
             folder",
            self.path.display(),
            self.done
        )))
    }

    /// Restores the optimiser's state and returns the number of completed steps.
    pub(super) fn restore(&self, optimiser: &mut AdamW, policy: &Policy) -> Result<u64> {
        restore_moments(&self.path, optimiser, policy)?;
        optimiser.steps = self.optimiser_steps;
        Ok(self.done)
    }
}

/// Keys that may change between a run and its resumption.
const FREE: [&str; 6] =
    ["run.steps", "run.folder", "run.checkpoint_every", "run.keep", "policy.workers", "evaluation"];

fn read_moments(
    tensors: &SafeTensors<'_>,
    parameter: &Parameter,
    what: &str,
    want: usize,
) -> Result<Vec<f32>, String> {
    let name = format!("{}.{what}", parameter.name);
    let tensor = tensors.tensor(&name).map_err(|error| match what {
        STEPS => format!("`{name}` is missing: a version before this one made the checkpoint"),
        _ => format!("`{name}`: {error}"),
    })?;
    let numbers: Vec<f32> = tensor
        .data()
        .chunks_exact(4)
        .map(|bytes| f32::from_le_bytes(bytes.try_into().expect("four bytes")))
        .collect();
    if numbers.len() == want {
        return Ok(numbers);
    }
    Err(format!("`{name}` has {} numbers, not {want}", numbers.len()))
}

/// Collects the leaves in which two values differ, each as `key: then -> now`.
fn differ(path: &str, then: &Value, now: &Value, differences: &mut Vec<String>) {
    let join = |key: &str| {
        if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
    };
    match (then, now) {
        (Value::Object(a), Value::Object(b)) => {
            for (key, then) in a {
                differ(&join(key), then, b.get(key).unwrap_or(&Value::Null), differences);
            }
            for (key, now) in b {
                if !a.contains_key(key) {
                    differ(&join(key), &Value::Null, now, differences);
                }
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (index, (then, now)) in a.iter().zip(b).enumerate() {
                differ(&format!("{path}[{index}]"), then, now, differences);
            }
        }
        (then, now) if then != now => differences.push(format!("{path}: {then} -> {now}")),
        _ => {}
    }
}
