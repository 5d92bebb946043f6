//! Loads the configured models, adapters and calibrations, once, before the first request is answered.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use engine::{Capacity, Device, Folder, Host, HostSpec, LoadError};
use hub::{Hub, HubError, ModelLocation, WantedFiles};
use rubrics::decide::{CalibrationError, Calibrations};

use crate::config::{AdapterSpec, Catalogue, Config, ModelSpec, hub_settings};
use crate::hosts::{Hosts, Sources};
use crate::state::State;

/// A configured device that cannot be used, or a model or adapter that cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum CannotLoad {
    /// The device.
    #[error(transparent)]
    Device(#[from] LoadError),
    /// A model or an adapter.
    #[error("{what} cannot be loaded from {path}: {source}", path = path.display())]
    Files {
        /// Its name.
        what: String,
        /// Its folder.
        path: PathBuf,
        /// Why.
        source: LoadError,
    },
    /// A repository of the Hub.
    #[error("{what} cannot be fetched: {source}")]
    Hub {
        /// The name of its model or adapter.
        what: String,
        /// Why, with the repository.
        source: HubError,
    },
}

/// A folder of this machine, and the repository and commit that it was fetched from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalFolder {
    /// The folder.
    pub path: PathBuf,
    /// `hf:org/name@commit`; `None` for a folder that was there.
    pub source: Option<String>,
}

/// Brings a model or an adapter to this machine: a folder stays where it is, and a repository of the
/// Hub is fetched into the cache as far as it is not there.
///
/// # Errors
/// [`HubError`].
pub fn local_folder(
    location: &ModelLocation,
    wanted: WantedFiles,
) -> Result<LocalFolder, HubError> {
    match location {
        ModelLocation::Folder(path) => Ok(LocalFolder { path: path.clone(), source: None }),
        ModelLocation::Hub(repo) => {
            let found = Hub::new(hub_settings()).fetch(repo, wanted)?;
            Ok(LocalFolder { path: found.folder, source: Some(found.repo.to_string()) })
        }
    }
}

/// Fetches what is in the Hub, opens the device and loads all models and adapters in order, with a
/// log line for each. Takes as long as reading their files does.
///
/// # Errors
/// The first that cannot be fetched or loaded.
pub fn load_models(config: &Config, catalogue: &Catalogue) -> Result<Hosts, CannotLoad> {
    let folders = catalogue.models.iter().map(model_folder).collect::<Result<Vec<_>, _>>()?;
    let adapters = catalogue.adapters.iter().map(adapter_folder).collect::<Result<Vec<_>, _>>()?;
    let device = config.device.open(config.kernel_cache.clone())?;
    let of_models: Vec<Folder> = folders.iter().map(|(folder, _)| folder.clone()).collect();
    let share = device.kv_share(&of_models, config.batch_tokens)?;
    let mut hosts = Vec::new();
    let mut sources = Sources::default();
    for (model, (folder, source)) in catalogue.models.iter().zip(folders) {
        let path = folder.path().to_owned();
        let kv_memory = kv_memory(config, model).min(share);
        let loaded = load_model(config, model, (folder, &device, kv_memory));
        let loaded =
            loaded.map_err(|source| CannotLoad::Files { what: model_text(model), path, source })?;
        log_source(&model.name, source.as_deref());
        sources.insert(&loaded.digest, source);
        hosts.push(Arc::new(loaded));
    }
    for (adapter, folder) in catalogue.adapters.iter().zip(adapters) {
        let host = hosts.iter().find(|host| *host.name == *adapter.model);
        let host = host.expect("the catalogue was checked when it was read");
        let digest = load_adapter(host, adapter, &folder.path).map_err(|source| {
            CannotLoad::Files { what: adapter_text(adapter), path: folder.path.clone(), source }
        })?;
        log_source(&adapter.name, folder.source.as_deref());
        sources.insert(&digest, folder.source);
    }
    let replaceable = catalogue.adapters.iter().filter(|adapter| adapter.replaceable);
    let replaceable = replaceable.map(|adapter| adapter.name.clone()).collect();
    Ok(Hosts::new(hosts).with_sources(sources).with_replaceable(replaceable))
}

/// The folder of a model, and its repository and commit.
fn model_folder(model: &ModelSpec) -> Result<(Folder, Option<String>), CannotLoad> {
    let Some(location) = &model.path else {
        return Ok((models::embedded::folder(), None));
    };
    let found =
        local_folder(location, WantedFiles::Model).map_err(not_fetched(model_text(model)))?;
    Ok((Folder::directory(&found.path), found.source))
}

fn adapter_folder(adapter: &AdapterSpec) -> Result<LocalFolder, CannotLoad> {
    local_folder(&adapter.path, WantedFiles::Adapter).map_err(not_fetched(adapter_text(adapter)))
}

fn model_text(model: &ModelSpec) -> String {
    format!("model '{}'", model.name)
}

fn adapter_text(adapter: &AdapterSpec) -> String {
    format!("adapter '{}' of model '{}'", adapter.name, adapter.model)
}

fn not_fetched(what: String) -> impl FnOnce(HubError) -> CannotLoad {
    move |source| CannotLoad::Hub { what, source }
}

/// Logs the commit that a model or an adapter is pinned to by its digest.
fn log_source(name: &str, source: Option<&str>) {
    if let Some(source) = source {
        tracing::info!(name, source, "fetched from the Hub");
    }
}

/// Reads the calibrations of the configured models.
///
/// # Errors
/// The first that cannot be used, with its file and field.
pub fn calibrated(mut state: State, catalogue: &Catalogue) -> Result<State, CalibrationError> {
    for model in &catalogue.models {
        if let Some(path) = &model.calibration {
            let calibrations = Calibrations::from_file(path)?;
            state = state.with_calibration(&model.name, calibrations);
        }
    }
    Ok(state)
}

/// KV cache bytes of the embedded model, about 25,000 tokens. It is served by default, so it stays
/// small where it is not used.
const DEFAULT_KV_MEMORY: u64 = 64 << 20;

/// Bytes of a model's KV cache at most.
fn kv_memory(config: &Config, model: &ModelSpec) -> u64 {
    let configured = config.kv_memory as u64;
    if model.path.is_some() { configured } else { configured.min(DEFAULT_KV_MEMORY) }
}

fn load_model(
    config: &Config,
    model: &ModelSpec,
    (folder, device, kv_memory): (Folder, &Device, u64),
) -> Result<Host, LoadError> {
    let start = Instant::now();
    let host = Host::load(&HostSpec {
        name: model.name.clone(),
        folder,
        options: model.options,
        device: device.clone(),
        capacity: Capacity {
            kv_memory,
            batch_tokens: config.batch_tokens,
            max_sequences: config.max_sequences,
            queue_tokens: config.queue_tokens,
        },
    })?;
    tracing::info!(
        model = model.name,
        digest = &*host.digest,
        device = %device,
        numerics = &*host.numerics.numerics.name(),
        numerics_reason = host.numerics.reason,
        parameters = host.parameters,
        weight_bytes = host.weight_bytes,
        kv_tokens = host.engine.limits().kv_tokens,
        context_tokens = host.engine.limits().context(),
        seconds = start.elapsed().as_secs_f64(),
        "loaded"
    );
    Ok(host)
}

/// Loads an adapter; returns its digest.
fn load_adapter(host: &Host, spec: &AdapterSpec, path: &Path) -> Result<String, LoadError> {
    let start = Instant::now();
    // The engine answers from its own thread, so any runtime will do.
    let runtime =
        tokio::runtime::Builder::new_current_thread().build().map_err(LoadError::Thread)?;
    let adapter = runtime.block_on(host.load_adapter(&spec.name, path))?;
    tracing::info!(
        adapter = spec.name,
        model = spec.model,
        digest = adapter.digest,
        seconds = start.elapsed().as_secs_f64(),
        "loaded"
    );
    Ok(adapter.digest.clone())
}
