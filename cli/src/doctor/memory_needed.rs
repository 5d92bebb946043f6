//! The memory that a configuration needs, beside the memory that it may have.

use std::fmt::Write as _;
use std::path::Path;

use base::memory;
use engine::Folder;
use models::model::Model;
use serde::Serialize;
use serve::config::{AdapterSpec, Catalogue, Config, Given, Loaded, ModelSpec};
use serve::memory_plan::{MemoryPart, ModelMemory, memory_parts};

use crate::error::{CliError, CommandOutcome};

/// What is found.
#[derive(Debug, Serialize)]
struct MemoryFindings {
    ok: bool,
    parts: Vec<PartFinding>,
    total_bytes: u64,
    /// `limits.memory`, or what the system gives; `None` where it tells none.
    limit_bytes: Option<u64>,
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
    let models: Result<Vec<ModelMemory>, CliError> =
        catalogue.models.iter().map(|model| measured(model, &catalogue, &config)).collect();
    let parts = memory_parts(&config, &models?);
    let total_bytes = parts.iter().map(|part| part.bytes).sum();
    let limit_bytes = config.memory.or_else(memory::limit_bytes);
    let findings = MemoryFindings {
        ok: limit_bytes.is_none_or(|limit| total_bytes <= limit),
        parts: parts.into_iter().map(PartFinding::from).collect(),
        total_bytes,
        limit_bytes,
    };
    crate::print(&findings.table(file))?;
    if json {
        let line = serde_json::to_string(&findings).expect("texts and numbers serialise");
        crate::print(&(line + "\n"))?;
    }
    Ok(CommandOutcome::Done)
}

/// Reads a model as a server does, without a KV cache.
fn measured(
    spec: &ModelSpec,
    catalogue: &Catalogue,
    config: &Config,
) -> Result<ModelMemory, CliError> {
    let cannot = |error: &dyn std::fmt::Display| {
        CliError::Failed(format!("model '{}' cannot be loaded: {error}", spec.name))
    };
    let folder = match &spec.path {
        Some(path) => Folder::directory(path),
        None => models::embedded::folder(),
    };
    let model = Model::of_folder(&folder, &spec.options);
    let model = model.map_err(|error| cannot(&error))?;
    let kv_type = model.numerics.numerics.kv_type();
    let kv_bytes = engine::kv_bytes(config.kv_memory as u64, &model.config, kv_type);
    let adapters = catalogue.adapters.iter().filter(|adapter| adapter.model == spec.name);
    Ok(ModelMemory {
        name: spec.name.clone(),
        weight_bytes: model.memory.total_bytes(),
        kv_bytes: kv_bytes.map_err(|error| cannot(&error))?,
        adapter_bytes: adapters.map(file_bytes).sum(),
    })
}

/// Bytes of an adapter's tensors, which are held as they are stored.
fn file_bytes(adapter: &AdapterSpec) -> u64 {
    let file = adapter.path.join("adapter_model.safetensors");
    // A folder without the file is refused when the server loads it.
    std::fs::metadata(file).map_or(0, |metadata| metadata.len())
}

impl From<MemoryPart> for PartFinding {
    fn from(part: MemoryPart) -> Self {
        Self { name: part.name, bytes: part.bytes, setting: part.setting }
    }
}

impl MemoryFindings {
    fn table(&self, file: &Path) -> String {
        let width = self.parts.iter().map(|part| part.name.chars().count()).max().unwrap_or(0);
        let mut text = format!("memory of {}\n", file.display());
        let mut line = |name: &str, bytes: u64, note: &str| {
            let row = format!("{name:width$}  {:>10}  {note}", memory::mib(bytes));
            writeln!(text, "{}", row.trim_end()).expect("writing to memory does not fail");
        };
        for part in &self.parts {
            line(&part.name, part.bytes, part.setting.unwrap_or_default());
        }
        line("in all", self.total_bytes, "");
        if let Some(limit) = self.limit_bytes {
            let note = if self.ok { "" } else { "WARNING: less than the parts may take in all" };
            line("limit", limit, note);
        }
        text
    }
}
