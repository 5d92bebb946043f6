//! Loads the configured models, adapters and calibrations, once, before the first request is answered.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use engine::{Capacity, Device, Folder, Host, HostSpec, LoadError};
use rubrics::decide::{CalibrationError, Calibrations};

use crate::config::{AdapterSpec, Catalogue, Config, ModelSpec};
use crate::hosts::Hosts;
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
}

/// Opens the device and loads all models and adapters in order, with a log line for each. Takes as long as reading their
/// files does.
///
/// # Errors
/// The first that cannot be loaded.
pub fn load_models(config: &Config, catalogue: &Catalogue) -> Result<Hosts, CannotLoad> {
    let device = config.device.open(config.kernel_cache.clone())?;
    let folder = |model: &ModelSpec| match &model.path {
        Some(path) => Folder::directory(path),
        None => models::embedded::folder(),
    };
    let folders: Vec<Folder> = catalogue.models.iter().map(folder).collect();
    let share = device.kv_share(&folders)?;
    let mut hosts = Vec::new();
    for (model, folder) in catalogue.models.iter().zip(folders) {
        let path = folder.path().to_owned();
        let kv_memory = kv_memory(config, model).min(share);
        let loaded = load_model(config, model, (folder, &device, kv_memory));
        let loaded = loaded.map_err(|source| CannotLoad::Files {
            what: format!("model '{}'", model.name),
            path,
            source,
        })?;
        hosts.push(Arc::new(loaded));
    }
    for adapter in &catalogue.adapters {
        let host = hosts.iter().find(|host| *host.name == *adapter.model);
        let host = host.expect("the catalogue was checked when it was read");
        load_adapter(host, adapter).map_err(|source| CannotLoad::Files {
            what: format!("adapter '{}' of model '{}'", adapter.name, adapter.model),
            path: adapter.path.clone(),
            source,
        })?;
    }
    Ok(Hosts::new(hosts))
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

fn load_adapter(host: &Host, spec: &AdapterSpec) -> Result<(), LoadError> {
    let start = Instant::now();
    // The engine answers from its own thread, so any runtime will do.
    let runtime =
        tokio::runtime::Builder::new_current_thread().build().map_err(LoadError::Thread)?;
    let adapter = runtime.block_on(host.load_adapter(&spec.name, &spec.path))?;
    tracing::info!(
        adapter = spec.name,
        model = spec.model,
        digest = adapter.digest,
        seconds = start.elapsed().as_secs_f64(),
        "loaded"
    );
    Ok(())
}
