//! A new head on a base model: a folder inside the run's with the files of the base, linked where
//! the file system can, and the weights of the head.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use base::seeded::decision;
use models::ModelConfig;
use models::config::HeadConfig;
use models::save::{self, Stage};
use models::weights::{Checkpoint, FloatType};
use rand::RngExt as _;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::error::{Result, TrainError};
use crate::policy::COMPANIONS;

/// The file of the head's weights.
const HEAD_FILE: &str = "head.safetensors";

/// `head` of `[policy]`: what is put on a base model in the place of its vocabulary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NewHead {
    /// A score of the whole response: one output at its last token.
    Sequence,
    /// Two classes of each step, wrong and right, at its separator.
    Token,
    /// A score by two layers, as Qwen2.5-Math-RM has it.
    Reward,
}

impl NewHead {
    /// The end of the architecture's name and the labels of its outputs.
    fn architecture(self) -> (&'static str, &'static [&'static str]) {
        match self {
            NewHead::Sequence => ("ForSequenceClassification", &["SCORE"]),
            NewHead::Token => ("ForTokenClassification", &["WRONG", "RIGHT"]),
            NewHead::Reward => ("ForRewardModel", &["SCORE"]),
        }
    }
}

impl NewHead {
    /// Writes the linear head of a new adapter for hidden states of `width`: `score.weight` and, for
    /// classes of steps, `score.bias` of 0.
    pub(super) fn write_of_adapter(
        self,
        stage: &Stage,
        (name, width): (&str, usize),
        start: HeadStart,
    ) -> Result<()> {
        let n = self.architecture().1.len();
        let weight = start.matrix(&format!("head of {name}"), n, width);
        let bias = vec![0.0; n];
        let mut tensors = vec![("score.weight".to_owned(), vec![n, width], &weight[..])];
        if self == NewHead::Token {
            tensors.push(("score.bias".to_owned(), vec![n], &bias[..]));
        }
        save::tensors(stage, models::adapter::HEAD_FILE, FloatType::F32, tensors)?;
        Ok(())
    }
}

impl HeadStart {
    /// A matrix `[n, k]`; random numbers are uniform in ±1/√k.
    fn matrix(self, what: &str, n: usize, k: usize) -> Vec<f32> {
        match self {
            HeadStart::Zeros => vec![0.0; n * k],
            HeadStart::Seed(seed) => {
                let bound = 1.0 / (k as f32).sqrt();
                let mut rng = decision(seed, what, &[]);
                (0..n * k).map(|_| rng.random_range(-bound..bound)).collect()
            }
        }
    }
}

/// The matrices of a new head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HeadStart {
    /// Random by a seed.
    Seed(u64),
    /// Zeros, so that the first scores are 0.
    Zeros,
}

/// Makes the base model with a new head in a folder, for a run without a checkpoint. What is in the
/// folder was made of an earlier version of the run file, and is replaced.
pub(super) fn make_with_head(
    base: &Path,
    head: NewHead,
    start: HeadStart,
    target: &Path,
) -> Result<()> {
    refuse_within(base, target)?;
    remove_folder(target)?;
    if ModelConfig::read(base)?.head != HeadConfig::Vocab {
        return Err(TrainError::Invalid(format!(
            "{} has a head already; leave `head` of [policy] out",
            base.display()
        )));
    }
    let (suffix, labels) = head.architecture();
    let path = base.join("config.json");
    let file = |source| TrainError::File { path: path.display().to_string(), source };
    let text = fs::read_to_string(&path).map_err(file)?;
    let fields: Value = serde_json::from_str(&text)
        .map_err(|error| TrainError::Invalid(format!("{}: {error}", path.display())))?;
    let fields = with_architecture(fields, suffix, labels)?;
    let stage = Stage::begin(target)?;
    stage.json("config.json", &fields)?;
    for name in COMPANIONS.iter().filter(|name| **name != "config.json") {
        match fs::read(base.join(name)) {
            Ok(bytes) => stage.bytes(name, &bytes)?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(source) => {
                let path = base.join(name).display().to_string();
                return Err(TrainError::File { path, source });
            }
        }
    }
    let checkpoint = Checkpoint::open(base)?;
    let shape = Arc::new(ModelConfig::read(stage.path("config.json").parent().unwrap_or(target))?);
    let mut index = linked(&checkpoint, &stage)?;
    index.extend(head_weights(&checkpoint, &shape, &stage, start)?);
    stage.json("model.safetensors.index.json", &json!({ "weight_map": index }))?;
    Ok(stage.finish()?)
}

/// Refuses a base model in the folder that is replaced.
fn refuse_within(base: &Path, target: &Path) -> Result<()> {
    let resolved = base.canonicalize().ok().zip(target.canonicalize().ok());
    if resolved.is_some_and(|(base, target)| base.starts_with(target)) {
        return Err(TrainError::Invalid(format!(
            "{} is the folder of the run's model with its new head, and not one for the base model: \
             choose another `path` of [policy] or `folder` of [run]",
            base.display()
        )));
    }
    Ok(())
}

/// Removes a folder if there is one.
pub(super) fn remove_folder(folder: &Path) -> Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(TrainError::File { path: folder.display().to_string(), source: error })
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

/// The configuration of the base with another task and its labels.
fn with_architecture(mut fields: Value, suffix: &str, labels: &[&str]) -> Result<Value> {
    let name = fields["architectures"][0].as_str().unwrap_or_default();
    let Some(family) = name.strip_suffix("ForCausalLM") else {
        return Err(TrainError::Invalid(format!(
            "a head is put on a causal language model, and the architecture of this one is '{name}'"
        )));
    };
    fields["architectures"] = json!([format!("{family}{suffix}")]);
    let entries = || labels.iter().enumerate();
    fields["id2label"] = entries().map(|(id, label)| (id.to_string(), json!(label))).collect();
    fields["label2id"] = entries().map(|(id, label)| ((*label).to_owned(), json!(id))).collect();
    if let Some(fields) = fields.as_object_mut() {
        fields.remove("num_labels");
    }
    Ok(fields)
}

/// Links the weight files of the base under names of shards, and returns the shard of each tensor.
fn linked(checkpoint: &Checkpoint, stage: &Stage) -> Result<BTreeMap<String, String>> {
    let mut index = BTreeMap::new();
    for (number, file) in (1..).zip(checkpoint.files()) {
        let shard = format!("base-{number:05}.safetensors");
        let target = stage.path(&shard);
        let linked = fs::hard_link(file.path(), &target);
        if linked.is_err() {
            fs::copy(file.path(), &target).map_err(|source| TrainError::File {
                path: target.display().to_string(),
                source,
            })?;
        }
        for name in Checkpoint::of_file(&target)?.names() {
            index.insert(name.to_owned(), shard.clone());
        }
    }
    Ok(index)
}

/// Writes the tensors that the base lacks: matrices uniform in ±1/√in from the run's seed or of 0,
/// and biases of 0.
fn head_weights(
    checkpoint: &Checkpoint,
    shape: &Arc<ModelConfig>,
    stage: &Stage,
    start: HeadStart,
) -> Result<BTreeMap<String, String>> {
    let mut tensors: Vec<(String, Vec<usize>, Vec<f32>)> = Vec::new();
    for plan in save::plan(shape)? {
        let entry = plan.entry;
        if checkpoint.has(&entry.name) {
            continue;
        }
        let numbers = match entry.shape.as_slice() {
            [n, k] => start.matrix(&format!("head {}", entry.name), *n, *k),
            shape => vec![0.0; shape.iter().product()],
        };
        tensors.push((entry.name, entry.shape, numbers));
    }
    let borrowed = tensors.iter();
    save::tensors(
        stage,
        HEAD_FILE,
        FloatType::F32,
        borrowed.map(|(name, shape, numbers)| (name.clone(), shape.clone(), &numbers[..])),
    )?;
    Ok(tensors.into_iter().map(|(name, _, _)| (name, HEAD_FILE.to_owned())).collect())
}
