//! The memory that a configuration needs, beside the memory that it may have.

use std::fmt::Write as _;
use std::path::Path;

use base::memory;
use engine::{Device, DeviceModel, Folder, LoadError};
use hub::WantedFiles;
use models::model::Model;
use serde::Serialize;
use serve::config::{AdapterSpec, Catalogue, Config, Given, Loaded, ModelSpec};
use serve::memory_plan::{MemoryPart, ModelMemory, memory_parts, model_parts};

use crate::error::{CliError, CommandOutcome};

/// What is found.
#[derive(Debug, Serialize)]
struct MemoryFindings {
    ok: bool,
    parts: Vec<PartFinding>,
    total_bytes: u64,
    /// `limits.memory`, or what the system gives; `None` where it tells none.
    limit_bytes: Option<u64>,
    /// The memory of the card that has the models.
    #[serde(skip_serializing_if = "Option::is_none")]
    card: Option<CardFindings>,
}

/// What the models hold on a card.
#[derive(Debug, Serialize)]
struct CardFindings {
    device: String,
    ok: bool,
    parts: Vec<PartFinding>,
    total_bytes: u64,
    /// What is free on the card.
    limit_bytes: u64,
}

#[derive(Debug, Serialize)]
struct PartFinding {
    name: String,
    bytes: u64,
    setting: Option<&'static str>,
}

/// Prints the memory that a configuration needs. More than the limit is a warning: most servers
/// never fill all their queues at once, and shed work before the limit.
pub(super) fn check_memory(file: &Path, json: bool) -> Result<CommandOutcome, CliError> {
    let loaded = serve::config::load(Some(file), &Given::default()).map_err(|problems| {
        let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
        CliError::Usage(lines.join("\n"))
    })?;
    let Loaded { config, catalogue, .. } = loaded;
    let device = config.device.open(config.kernel_cache.clone());
    let device = device.map_err(|error| CliError::Failed(error.to_string()))?;
    let models: Result<Vec<ModelMemory>, CliError> = match device {
        Device::Cpu => catalogue.models.iter().map(|m| measured(m, &catalogue, &config)).collect(),
        // All that they hold is on the card.
        Device::Gpu(_) => {
            let elsewhere = |model: &ModelSpec| ModelMemory {
                name: model.name.clone(),
                ..ModelMemory::default()
            };
            Ok(catalogue.models.iter().map(elsewhere).collect())
        }
    };
    let (parts, total_bytes) = findings(memory_parts(&config, &models?));
    let limit_bytes = config.memory.or_else(memory::limit_bytes);
    let findings = MemoryFindings {
        ok: limit_bytes.is_none_or(|limit| total_bytes <= limit),
        parts,
        total_bytes,
        limit_bytes,
        card: on_card(&device, &catalogue, &config)?,
    };
    crate::print(&findings.table(file))?;
    if json {
        let line = serde_json::to_string(&findings).expect("texts and numbers serialise");
        crate::print(&(line + "\n"))?;
    }
    Ok(CommandOutcome::Done)
}

/// The parts, and their sum.
fn findings(parts: Vec<MemoryPart>) -> (Vec<PartFinding>, u64) {
    let total = parts.iter().map(|part| part.bytes).sum();
    (parts.into_iter().map(PartFinding::from).collect(), total)
}

fn cannot(model: &ModelSpec) -> impl Fn(&dyn std::fmt::Display) -> CliError {
    move |error| CliError::Failed(format!("model '{}' cannot be loaded: {error}", model.name))
}

fn folder(spec: &ModelSpec) -> Result<Folder, CliError> {
    let Some(location) = &spec.path else {
        return Ok(models::embedded::folder());
    };
    let local = serve::local_folder(location, WantedFiles::Model);
    Ok(Folder::directory(&local.map_err(|error| cannot(spec)(&error))?.path))
}

/// Reads a model as a server does, without a KV cache.
fn measured(
    spec: &ModelSpec,
    catalogue: &Catalogue,
    config: &Config,
) -> Result<ModelMemory, CliError> {
    let cannot = cannot(spec);
    let model = Model::of_folder(&folder(spec)?, &spec.options);
    let model = model.map_err(|error| cannot(&error))?;
    let kv_type = model.numerics.numerics.kv_type();
    let kv_bytes = engine::kv_bytes(config.kv_memory as u64, &model.config, kv_type);
    Ok(ModelMemory {
        name: spec.name.clone(),
        weight_bytes: model.memory.total_bytes(),
        step_bytes: 0,
        kv_bytes: kv_bytes.map_err(|error| cannot(&error))?,
        adapter_bytes: adapter_bytes(spec, catalogue)?,
    })
}

/// Reads all models to the card, if the device is one, as a server does. What they leave is divided
/// between their KV caches.
fn on_card(
    device: &Device,
    catalogue: &Catalogue,
    config: &Config,
) -> Result<Option<CardFindings>, CliError> {
    let failed = |error: LoadError| CliError::Failed(error.to_string());
    let Some(free) = device.free_memory().map_err(failed)? else {
        return Ok(None);
    };
    let mut loaded = Vec::new();
    for spec in &catalogue.models {
        let cannot = cannot(spec);
        let model = DeviceModel::load(&folder(spec)?, &spec.options, device);
        let model = model.map_err(|error| cannot(&error))?;
        let steps = model.step_bytes(config.batch_tokens).map_err(|error| cannot(&error))?;
        let adapters = adapter_bytes(spec, catalogue)?;
        loaded.push((spec, (model.weight_bytes, steps.unwrap_or_default(), adapters), model));
    }
    let held: u64 = loaded.iter().map(|(_, (weights, steps, _), _)| weights + steps).sum();
    let share = engine::shared_out(free.saturating_sub(held)) / loaded.len().max(1) as u64;
    let parts = loaded.iter().flat_map(|(spec, (weight_bytes, step_bytes, adapter_bytes), _)| {
        model_parts(&ModelMemory {
            name: spec.name.clone(),
            weight_bytes: *weight_bytes,
            step_bytes: *step_bytes,
            kv_bytes: share.min(config.kv_memory as u64),
            adapter_bytes: *adapter_bytes,
        })
    });
    let (parts, total_bytes) = findings(parts.collect());
    Ok(Some(CardFindings {
        device: device.to_string(),
        ok: total_bytes <= free,
        parts,
        total_bytes,
        limit_bytes: free,
    }))
}

fn adapter_bytes(spec: &ModelSpec, catalogue: &Catalogue) -> Result<u64, CliError> {
    let adapters = catalogue.adapters.iter().filter(|adapter| adapter.model == spec.name);
    adapters.map(file_bytes).sum()
}

/// Bytes of an adapter's tensors, which are held as they are stored, or rounded in fewer.
fn file_bytes(adapter: &AdapterSpec) -> Result<u64, CliError> {
    let local = serve::local_folder(&adapter.path, WantedFiles::Adapter);
    let local = local.map_err(|error| {
        CliError::Failed(format!("adapter '{}' cannot be fetched: {error}", adapter.name))
    })?;
    let file = local.path.join("adapter_model.safetensors");
    // A folder without the file is refused when the server loads it.
    Ok(std::fs::metadata(file).map_or(0, |metadata| metadata.len()))
}

impl From<MemoryPart> for PartFinding {
    fn from(part: MemoryPart) -> Self {
        Self { name: part.name, bytes: part.bytes, setting: part.setting }
    }
}

impl MemoryFindings {
    fn table(&self, file: &Path) -> String {
        let title = format!("memory of {}", file.display());
        let mut text = table(&title, &self.parts, (self.total_bytes, self.limit_bytes));
        if let Some(card) = &self.card {
            let title = format!("\nmemory of {}", card.device);
            text += &table(&title, &card.parts, (card.total_bytes, Some(card.limit_bytes)));
        }
        text
    }
}

fn table(title: &str, parts: &[PartFinding], (total, limit): (u64, Option<u64>)) -> String {
    let width = parts.iter().map(|part| part.name.chars().count()).max().unwrap_or(0);
    let mut text = format!("{title}\n");
    let mut line = |name: &str, bytes: u64, note: &str| {
        let row = format!("{name:width$}  {:>10}  {note}", memory::mib(bytes));
        writeln!(text, "{}", row.trim_end()).expect("writing to memory does not fail");
    };
    for part in parts {
        line(&part.name, part.bytes, part.setting.unwrap_or_default());
    }
    line("in all", total, "");
    if let Some(limit) = limit {
        let note = if total <= limit { "" } else { "WARNING: less than the parts may take in all" };
        line("limit", limit, note);
    }
    text
}
