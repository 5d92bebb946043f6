//! Engines over models on a card, and how its memory is divided: weights, the largest step, KV blocks.

use std::sync::Arc;

use chat::Folder;
use gpu::Gpu;
use gpu_models::{GpuModel, GpuRunner, block_bytes, step_bytes};
use models::live::LiveWeights;
use models::weights::{Compute, Numerics, NumericsChoice};
use models::{BLOCK, ModelConfig, ModelFiles};

use crate::capacity::{Capacity, LEAST_BLOCKS, engine_config};
use crate::device::Device;
use crate::device_model::{DeviceModel, DeviceWeights};
use crate::device_name::DeviceName;
use crate::engine::Engine;
use crate::error::{CardMemory, LoadError};

/// The most KV blocks that are of use on a card: four million tokens.
const MAX_BLOCKS: usize = 1 << 18;

/// The smallest step that is suggested where memory is short.
const LEAST_STEP: usize = 16;

/// Loads a folder to a card.
pub(crate) fn load(
    folder: &Folder,
    compute: Option<Compute>,
    gpu: &Gpu,
) -> Result<DeviceModel, LoadError> {
    check_compute(compute)?;
    let files = ModelFiles::of_folder(folder)?;
    check_weights(gpu, &files.config)?;
    let (digest, built) = std::thread::scope(|scope| {
        let digest = scope.spawn(|| files.digest());
        let built = GpuModel::of_files(gpu, &files);
        (digest.join().expect("hashing does not panic"), built)
    });
    let (model, loaded) = built?;
    Ok(DeviceModel {
        files: files.paths(),
        config: files.config,
        digest: digest?,
        numerics: NumericsChoice { numerics: model.numerics(), reason: "the arithmetic of cards" },
        weight_bytes: loaded.memory.total_bytes(),
        parameters: loaded.parameters,
        head_labels: model.head_labels(),
        weights: DeviceWeights::Card(gpu.clone(), Arc::new(model)),
    })
}

/// A runner with memory for its steps, and the number of its KV blocks.
pub(crate) fn runner(
    (gpu, model): (&Gpu, &Arc<GpuModel>),
    capacity: Capacity,
    config: &ModelConfig,
) -> Result<(GpuRunner, usize), LoadError> {
    let runner = GpuRunner::new(model.clone())?;
    check_steps(gpu, &runner, capacity.batch_tokens)?;
    let runner = runner.with_steps_of(capacity.batch_tokens)?;
    let n_blocks = blocks_in(gpu, capacity, config)?;
    Ok((runner.with_kv(n_blocks)?, n_blocks))
}

/// Starts the engine of a model whose weights follow variables of the processor.
pub(crate) fn start_live(
    gpu: &Gpu,
    weights: LiveWeights,
    config: &Arc<ModelConfig>,
    capacity: Capacity,
) -> Result<(Engine, Numerics), LoadError> {
    check_weights(gpu, config)?;
    let model = Arc::new(GpuModel::load(gpu, config, &mut weights.source())?);
    let heads = (config.head.has_vocabulary(), model.head_labels());
    let (runner, n_blocks) = runner((gpu, &model), capacity, config)?;
    let runner = runner.following(weights);
    let engine = Engine::start(runner, engine_config(config, capacity, n_blocks, heads))?;
    Ok((engine, model.numerics()))
}

fn check_compute(compute: Option<Compute>) -> Result<(), LoadError> {
    match compute {
        None | Some(Compute::Auto | Compute::Bf16) => Ok(()),
        Some(Compute::F32 | Compute::Int8) => Err(LoadError::Refused(
            "a card computes in bf16: leave `compute` out, or use \"bf16\" or device = \"cpu\""
                .to_owned(),
        )),
    }
}

/// Bytes of a number of the weights.
pub(crate) const WEIGHT_BYTES: u64 = 2;

fn weight_bytes(config: &ModelConfig) -> u64 {
    config.parameters().unwrap_or(u64::MAX).saturating_mul(WEIGHT_BYTES)
}

impl Device {
    /// Bytes of KV memory that each of these models may have at most: on a card, an even share of what
    /// their weights and their steps of up to `batch_tokens` tokens leave free, since each takes all
    /// that it may; no limit on the processor.
    ///
    /// # Errors
    /// [`LoadError`] for a model whose configuration cannot be read, several models that do not fit
    /// together, or a card that is lost.
    pub fn kv_share(&self, folders: &[Folder], batch_tokens: usize) -> Result<u64, LoadError> {
        match self {
            Device::Cpu => Ok(u64::MAX),
            Device::Gpu(gpu) => kv_share(gpu, folders, batch_tokens),
        }
    }
}

/// An even share of what weights and steps of all models leave.
fn kv_share(gpu: &Gpu, folders: &[Folder], batch_tokens: usize) -> Result<u64, LoadError> {
    let (free, n) = (free_bytes(gpu)?, folders.len());
    let mut held: u64 = 0;
    for folder in folders {
        let config = ModelFiles::of_folder(folder)?.config;
        let steps = step_bytes(&config, batch_tokens) as u64;
        held = held.saturating_add(weight_bytes(&config)).saturating_add(steps);
    }
    // Loading a model alone says which of the two does not fit.
    if n > 1 && held > free {
        let what = format!("what {n} models hold beside their KV caches");
        let fits = "a smaller batch_tokens or fewer models".to_owned();
        return Err(short(gpu, what, held, fits)?);
    }
    Ok(shared_out(free.saturating_sub(held)) / n.max(1) as u64)
}

/// Found out before anything is copied.
fn check_weights(gpu: &Gpu, config: &ModelConfig) -> Result<(), LoadError> {
    let needed = weight_bytes(config);
    let free = free_bytes(gpu)?;
    if needed <= free {
        return Ok(());
    }
    let millions = free / WEIGHT_BYTES / 1_000_000;
    let fits = format!("a model of up to {millions} million parameters");
    Err(short(gpu, "the weights in bf16".to_owned(), needed, fits)?)
}

fn check_steps(gpu: &Gpu, runner: &GpuRunner, tokens: usize) -> Result<(), LoadError> {
    let free = shared_out(free_bytes(gpu)?);
    let fits = |tokens: &usize| runner.step_bytes(*tokens) as u64 <= free;
    if fits(&tokens) {
        return Ok(());
    }
    let smaller = std::iter::successors(Some(tokens / 2), |tokens| Some(tokens / 2));
    let remedy = match smaller.take_while(|tokens| *tokens >= LEAST_STEP).find(fits) {
        Some(tokens) => format!("batch_tokens = {tokens}"),
        None => "a smaller model".to_owned(),
    };
    let what = format!("a step of {tokens} tokens");
    Err(short(gpu, what, runner.step_bytes(tokens) as u64, remedy)?)
}

/// KV blocks in the memory that is left, at most those in `kv_memory`.
fn blocks_in(gpu: &Gpu, capacity: Capacity, config: &ModelConfig) -> Result<usize, LoadError> {
    let block = block_bytes(config).max(1) as u64;
    let count =
        |bytes: u64| usize::try_from(bytes / block).map_or(MAX_BLOCKS, |n| n.min(MAX_BLOCKS));
    let given = count(capacity.kv_memory);
    if given < LEAST_BLOCKS {
        return Err(LoadError::KvMemory {
            given_bytes: capacity.kv_memory,
            tokens: given * BLOCK,
            least_tokens: LEAST_BLOCKS * BLOCK,
        });
    }
    let free = count(shared_out(free_bytes(gpu)?));
    if free < LEAST_BLOCKS {
        let what = format!("a KV cache of {} tokens", LEAST_BLOCKS * BLOCK);
        return Err(short(gpu, what, block * LEAST_BLOCKS as u64, "a smaller model".to_owned())?);
    }
    Ok(given.min(free))
}

/// The part of a card's free memory that is given out: the rest is for adapters and for what the driver needs.
pub fn shared_out(free: u64) -> u64 {
    free / 10 * 9
}

fn free_bytes(gpu: &Gpu) -> Result<u64, LoadError> {
    Ok(memory(gpu)?.0)
}

fn memory(gpu: &Gpu) -> Result<(u64, u64), LoadError> {
    let (free, total) = gpu.memory().map_err(|source| LoadError::Device {
        device: DeviceName::Cuda(gpu.card().index),
        source,
    })?;
    Ok((free as u64, total as u64))
}

/// The error that says what is missing, and what would fit.
fn short(gpu: &Gpu, what: String, needed: u64, fits: String) -> Result<LoadError, LoadError> {
    let (free, total) = memory(gpu)?;
    let card = Device::Gpu(gpu.clone()).to_string();
    Ok(LoadError::CardMemory(Box::new(CardMemory { card, what, needed, free, total, fits })))
}
