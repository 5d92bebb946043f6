//! LoRA adapters in PEFT's layout, with random factors from a seed.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::{Made, TinySpec, config};
use base::digest;
use models::random::named_numbers;
use models::save::{NamedShape, Stage, TensorPlan, Writer, io_error, plan};
use models::weights::FloatType;
use models::{ModelConfig, ModelError, Result};

const CONFIG: &str = "adapter_config.json";
const WEIGHTS: &str = "adapter_model.safetensors";
const EMBEDDING: &str = "embed_tokens";

/// A LoRA adapter to make.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AdapterSpec {
    /// The seed of every factor.
    #[serde(default)]
    pub seed: u64,
    /// Rank, unless a pattern overrides it.
    pub r: usize,
    /// α, unless a pattern overrides it.
    pub alpha: usize,
    /// Modules by the last part of their path, such as `q_proj` or `embed_tokens`.
    pub targets: Vec<String>,
    /// Ranks of modules whose path ends in the key.
    #[serde(default)]
    pub rank_pattern: BTreeMap<String, usize>,
    /// α of modules whose path ends in the key.
    #[serde(default)]
    pub alpha_pattern: BTreeMap<String, usize>,
    /// Whether the scale is α / √r (Kalajdzievski, 2023) instead of α / r.
    #[serde(default)]
    pub rslora: bool,
    /// Outputs of its own score head (`modules_to_save`); `None` without one.
    #[serde(default)]
    pub score_labels: Option<usize>,
}

/// A tensor of the adapter and the bound of its uniform numbers.
struct Factor {
    entry: NamedShape,
    spread: f64,
}

/// Writes an adapter folder for the model that `base` makes. The folder appears complete or not at
/// all. Factors are f32, and both are random, so that the adapter has an effect.
///
/// # Errors
/// As [`make`]; and [`ModelError::Config`] names a target or pattern that matches no module of the
/// base, or a rank of 0.
pub fn make_adapter(dir: &Path, base: &TinySpec, spec: &AdapterSpec) -> Result<Made> {
    let stage = Stage::begin(dir)?;
    let json = config::config_json(dir, base)?;
    let model = crate::resolved(dir, &json, base.head)?;
    let factors = factors(dir, &model, spec)?;
    stage.json(CONFIG, &adapter_config_json(spec))?;
    let entries: Vec<_> = factors.iter().map(|factor| factor.entry.clone()).collect();
    let mut hash = Sha256::new();
    let path = stage.path(WEIGHTS);
    let written = Writer::create(&path, FloatType::F32, &entries, &mut hash).and_then(|mut out| {
        for Factor { entry, spread } in &factors {
            let len = entry.shape.iter().product();
            out.numbers(&named_numbers(spec.seed, &entry.name, len, *spread))?;
        }
        out.finish()
    });
    let made = Made {
        architecture: config::architecture(base),
        n_parameters: entries.iter().map(NamedShape::n_numbers).sum(),
        n_bytes: written.map_err(io_error(&path))?,
        files: vec![WEIGHTS.into()],
        digest: digest::finish(hash),
    };
    stage.finish()?;
    Ok(made)
}

fn factors(dir: &Path, model: &Arc<ModelConfig>, spec: &AdapterSpec) -> Result<Vec<Factor>> {
    let plans = plan(model)?;
    let modules: Vec<_> = plans.iter().filter_map(module).collect();
    check_spec(dir, &modules, spec)?;
    let mut factors = Vec::new();
    for (module, n, k) in &modules {
        if spec.targets.iter().any(|target| target == leaf(module)) {
            let r = pattern(&spec.rank_pattern, module).unwrap_or(spec.r);
            factors.extend(factor_pair(module, (*n, *k), r));
        }
    }
    if let Some(n) = spec.score_labels {
        factors.push(factor("score.weight", [n, model.hidden_size], model.hidden_size));
    }
    Ok(factors)
}

/// The path of a linear layer or embedding, its rows and its columns.
fn module(plan: &TensorPlan) -> Option<(&str, usize, usize)> {
    let module = plan.entry.name.strip_suffix(".weight")?;
    match plan.entry.shape[..] {
        [n, k] => Some((module, n, k)),
        _ => None,
    }
}

fn leaf(module: &str) -> &str {
    module.rsplit('.').next().unwrap_or(module)
}

/// The value of the first key that is the end of the module's path after a dot.
fn pattern(patterns: &BTreeMap<String, usize>, module: &str) -> Option<usize> {
    let (_, value) = patterns.iter().find(|(key, _)| answers(module, key))?;
    Some(*value)
}

fn answers(module: &str, key: &str) -> bool {
    match module.strip_suffix(key) {
        Some(before) => before.is_empty() || before.ends_with('.'),
        None => false,
    }
}

fn check_spec(dir: &Path, modules: &[(&str, usize, usize)], spec: &AdapterSpec) -> Result<()> {
    let refuse = |field: &str, what: String| {
        Err(ModelError::Config { path: dir.join(CONFIG), field: field.into(), what })
    };
    let none = |key: &str| format!("no module of the base answers to `{key}`");
    if let Some(target) = spec
        .targets
        .iter()
        .find(|target| !modules.iter().any(|(module, ..)| leaf(module) == *target))
    {
        return refuse("target_modules", none(target));
    }
    for (field, patterns) in
        [("rank_pattern", &spec.rank_pattern), ("alpha_pattern", &spec.alpha_pattern)]
    {
        if let Some(key) =
            patterns.keys().find(|key| !modules.iter().any(|(module, ..)| answers(module, key)))
        {
            return refuse(field, none(key));
        }
    }
    if spec.r == 0 || spec.rank_pattern.values().any(|r| *r == 0) {
        return refuse("r", "a rank of 0".into());
    }
    if spec.score_labels == Some(0) {
        return refuse("modules_to_save", "a score head of 0 outputs".into());
    }
    Ok(())
}

/// The two factors of a module `[n, k]`; an embedding's are transposed and have no `.weight`.
fn factor_pair(module: &str, (n, k): (usize, usize), r: usize) -> [Factor; 2] {
    if leaf(module) == EMBEDDING {
        let (vocab, hidden) = (n, k);
        return [
            factor(&format!("{module}.lora_embedding_A"), [r, vocab], 1),
            factor(&format!("{module}.lora_embedding_B"), [hidden, r], r),
        ];
    }
    [
        factor(&format!("{module}.lora_A.weight"), [r, k], k),
        factor(&format!("{module}.lora_B.weight"), [n, r], r),
    ]
}

/// Numbers of variance `1 / inputs` under PEFT's name.
fn factor(path: &str, shape: [usize; 2], inputs: usize) -> Factor {
    Factor {
        entry: NamedShape { name: format!("base_model.model.{path}"), shape: shape.to_vec() },
        spread: (3.0 / inputs as f64).sqrt(),
    }
}

fn adapter_config_json(spec: &AdapterSpec) -> Value {
    let (task, saved) = match spec.score_labels {
        None => ("CAUSAL_LM", Value::Null),
        Some(_) => ("SEQ_CLS", json!(["classifier", "score"])),
    };
    json!({
        "alpha_pattern": spec.alpha_pattern,
        "auto_mapping": null,
        "base_model_name_or_path": null,
        "bias": "none",
        "fan_in_fan_out": false,
        "inference_mode": true,
        "init_lora_weights": true,
        "layers_pattern": null,
        "layers_to_transform": null,
        "lora_alpha": spec.alpha,
        "lora_dropout": 0.0,
        "modules_to_save": saved,
        "peft_type": "LORA",
        "r": spec.r,
        "rank_pattern": spec.rank_pattern,
        "revision": null,
        "target_modules": spec.targets,
        "task_type": task,
        "use_dora": false,
        "use_rslora": spec.rslora,
    })
}
