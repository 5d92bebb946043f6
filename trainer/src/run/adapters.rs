//! Loads the policy of a run: all weights, or adapters over a model, new or from a checkpoint.

use std::path::Path;
use std::sync::Arc;

use models::ModelConfig;
use models::adapter::{Adapter, Base, CONFIG_FILE, WEIGHTS_FILE};
use models::config::MlpConfig;
use models::save::{self, Stage};
use models::weights::FloatType;
use models::weights::{LayerPart, Names, Param, Projection};
use rand::RngExt as _;
use serde_json::{Value, json};

use super::config::{AdapterSection, RunConfig};
use super::new_head::{HeadStart, NewHead, remove_folder};
use crate::error::{Result, TrainError};
use crate::methods::MethodConfig;
use crate::policy::{Policy, Workers};
use base::seeded::decision;

/// PEFT's names of the modules of all linear layers.
const ALL_LINEAR: [&str; 7] =
    ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"];

/// The model that a run trains, from its newest checkpoint if there is one.
pub(super) fn policy(
    config: &RunConfig,
    base: &Path,
    folder: &Path,
    newest: Option<&Path>,
) -> Result<Policy> {
    let mut policy = if config.policy.adapter.is_empty() {
        let mut policy = Policy::full(newest.unwrap_or(base))?;
        if let MethodConfig::PolicyGradient(method) = &config.method
            && method.has_shared_values()
        {
            policy.add_value_head(newest)?;
        }
        policy
    } else {
        let shape = Arc::new(ModelConfig::read(base)?);
        let mut adapters = Vec::new();
        for section in &config.policy.adapter {
            let from = match (newest, &section.path) {
                (Some(newest), _) => newest.join("adapters").join(&section.name),
                (None, Some(path)) => config.path(path),
                (None, None) => new_adapter(config, section, folder, &shape)?,
            };
            let named = named(section, &from, &shape)?;
            if is_valued(config, section) && named.1.head.is_none() {
                return Err(TrainError::Invalid(format!(
                    "`value` of [method] reads a head of the adapter `{}`, and {} has none; leave out \
                     its `path`, or give the values a model of their own: `trunk = \"own\"`",
                    section.name,
                    from.display()
                )));
            }
            adapters.push(named);
        }
        Policy::adapted(base, &adapters)?
    };
    policy.checkpointing = config.policy.checkpointing;
    policy.workers = workers(config, &policy)?;
    Ok(policy)
}

/// Loads the adapter of a section from a folder.
fn named(
    section: &AdapterSection,
    from: &Path,
    shape: &Arc<ModelConfig>,
) -> Result<(Arc<str>, Adapter)> {
    Ok((section.name.as_str().into(), Adapter::load(from, &Base::of(shape))?))
}

/// Workers for parallel micro-batches. Memory grows with their number, which is little for the small
/// models whose kernels cannot use all threads.
pub(super) fn workers(config: &RunConfig, policy: &Policy) -> Result<Workers> {
    let fitting = if is_small(policy) { rayon::current_num_threads() } else { 1 };
    let count = config.policy.workers.unwrap_or(fitting);
    match &config.method {
        MethodConfig::PolicyGradient(method) if method.overlaps() => Workers::in_background(count),
        _ => Workers::new(count),
    }
}

/// Maximum tokens of a micro-batch.
pub(super) fn micro_tokens(config: &RunConfig, policy: &Policy) -> usize {
    let fitting = if is_small(policy) { 512 } else { 4096 };
    config.policy.micro_tokens.unwrap_or(fitting)
}

fn is_small(policy: &Policy) -> bool {
    policy.trainable() < 32 << 20 && policy.config().hidden_size <= 1024
}

/// The model at the start of the run, if the method compares with it; otherwise `None`. It has the
/// adapters that the run starts from, also after a checkpoint. A new adapter starts without effect, so
/// that the model stands for it.
pub(super) fn reference_policy(config: &RunConfig) -> Result<Option<Policy>> {
    let needed = match &config.method {
        MethodConfig::Supervised(_) | MethodConfig::Reward(_) | MethodConfig::Process(_) => false,
        MethodConfig::Preference(method) => !method.reference_free,
        MethodConfig::PolicyGradient(method) => method.reads_reference(),
    };
    if !needed {
        return Ok(None);
    }
    let base = config.path(&config.policy.path);
    let shape = Arc::new(ModelConfig::read(&base)?);
    let given = |section: &AdapterSection| {
        let path = section.path.as_ref()?;
        Some(named(section, &config.path(path), &shape))
    };
    let adapters = config.policy.adapter.iter().filter_map(given);
    Policy::adapted(&base, &adapters.collect::<Result<Vec<_>>>()?).map(Some)
}

/// The head of a new adapter: that of `[policy]`, or the value head of the policy's adapter.
fn head_of(config: &RunConfig, section: &AdapterSection) -> Option<(NewHead, HeadStart)> {
    let own = config.policy.head.map(|head| (head, HeadStart::Seed(config.run.seed)));
    own.or_else(|| is_valued(config, section).then_some((NewHead::Sequence, HeadStart::Zeros)))
}

/// Whether the adapter is the policy's and has the value head.
fn is_valued(config: &RunConfig, section: &AdapterSection) -> bool {
    match &config.method {
        MethodConfig::PolicyGradient(method) => {
            method.has_shared_values() && method.adapter.as_deref() == Some(&section.name)
        }
        MethodConfig::Supervised(_)
        | MethodConfig::Reward(_)
        | MethodConfig::Process(_)
        | MethodConfig::Preference(_) => false,
    }
}

/// Writes a new adapter as a PEFT folder inside the run's: `A` uniform in ±1/√in, as PEFT's default
/// (Kaiming with a = √5), and `B` zero, so that it starts without effect.
fn new_adapter(
    config: &RunConfig,
    section: &AdapterSection,
    folder: &Path,
    shape: &Arc<ModelConfig>,
) -> Result<std::path::PathBuf> {
    let target = folder.join("fresh").join(&section.name);
    let parent = folder.join("fresh");
    std::fs::create_dir_all(&parent)
        .map_err(|source| TrainError::File { path: parent.display().to_string(), source })?;
    remove_folder(&target)?;
    let targets: Vec<String> = match &section.targets {
        Some(targets) => targets.clone(),
        None => ALL_LINEAR.map(str::to_owned).to_vec(),
    };
    let modules = modules(shape, &targets)?;
    let mut tensors = Vec::new();
    for (module, n, k) in &modules {
        let mut rng = decision(config.run.seed, &format!("fresh {} {module}", section.name), &[]);
        let bound = 1.0 / (*k as f32).sqrt();
        let a: Vec<f32> = (0..section.r * k).map(|_| rng.random_range(-bound..bound)).collect();
        let name = |factor: &str| format!("base_model.model.{module}.lora_{factor}.weight");
        tensors.push((name("A"), vec![section.r, *k], a));
        tensors.push((name("B"), vec![*n, section.r], vec![0.0; n * section.r]));
    }
    let stage = Stage::begin(&target)?;
    save::tensors(
        &stage,
        WEIGHTS_FILE,
        FloatType::F32,
        tensors.iter().map(|(name, shape, numbers)| (name.clone(), shape.clone(), &numbers[..])),
    )?;
    if let Some((head, start)) = head_of(config, section) {
        head.write_of_adapter(&stage, (&section.name, shape.hidden_size), start)?;
    }
    let fields: Value = json!({
        "peft_type": "LORA", "task_type": "CAUSAL_LM", "r": section.r,
        "lora_alpha": section.alpha, "target_modules": targets, "bias": "none",
        "base_model_name_or_path": config.policy.path.display().to_string(),
    });
    stage.json(CONFIG_FILE, &fields)?;
    stage.finish()?;
    Ok(target)
}

/// The linear layers whose module ends in one of `targets`: path, outputs, inputs.
fn modules(shape: &Arc<ModelConfig>, targets: &[String]) -> Result<Vec<(String, usize, usize)>> {
    let names = Names::new(shape, |_| false);
    let (hidden, dim) = (shape.hidden_size, shape.head_dim);
    let (q, kv) = (shape.num_heads * dim, shape.num_kv_heads * dim);
    let mut modules = Vec::new();
    for (index, layer) in shape.layers.iter().enumerate() {
        let MlpConfig::Dense { intermediate_size } = layer.mlp else {
            return Err(TrainError::Invalid(
                "fresh adapters are made for dense models; bring one (`path`) for experts"
                    .to_owned(),
            ));
        };
        for (projection, n, k) in [
            (Projection::Q, q, hidden),
            (Projection::K, kv, hidden),
            (Projection::V, kv, hidden),
            (Projection::O, hidden, q),
            (Projection::Gate, intermediate_size, hidden),
            (Projection::Up, intermediate_size, hidden),
            (Projection::Down, hidden, intermediate_size),
        ] {
            let place = Param::Layer(index, LayerPart::Weight(projection));
            let name = names.unfused(place);
            let module = name.trim_end_matches(".weight");
            let leaf = module.rsplit('.').next().unwrap_or(module);
            if targets.iter().any(|target| target == leaf) {
                modules.push((module.to_owned(), n, k));
            }
        }
    }
    if modules.is_empty() {
        return Err(TrainError::Invalid(format!(
            "no linear layer of the model is called {}; there are {}",
            targets.join(", "),
            ALL_LINEAR.join(", ")
        )));
    }
    Ok(modules)
}
