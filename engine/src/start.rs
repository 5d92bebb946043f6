//! Reads models to devices, and starts engines over them.

use chat::Folder;
use models::head::Head;
use models::kv::{KvCache, KvType};
use models::live::View;
use models::{BLOCK, LoadOptions, Model, ModelConfig, Runner};

use crate::capacity::{Capacity, LEAST_BLOCKS, engine_config};
use crate::card;
use crate::device::Device;
use crate::device_model::{DeviceModel, DeviceWeights};
use crate::engine::Engine;
use crate::error::LoadError;

/// The most KV blocks that are of use: a million tokens.
const MAX_BLOCKS: usize = 1 << 16;

impl DeviceModel {
    /// Reads a folder to a device.
    ///
    /// # Errors
    /// [`LoadError`], with the file and the field or tensor, or the memory that is too small.
    pub fn load(
        folder: &Folder,
        options: &LoadOptions,
        device: &Device,
    ) -> Result<DeviceModel, LoadError> {
        let Device::Gpu(gpu) = device else {
            let model = Model::of_folder(folder, options)?;
            return Ok(DeviceModel {
                config: model.config,
                digest: model.digest,
                files: model.files,
                numerics: model.numerics,
                weight_bytes: model.memory.total_bytes(),
                parameters: model.parameters,
                head_labels: model.head.as_ref().map(Head::n_labels),
                weights: DeviceWeights::Processor(View {
                    decoder: model.decoder,
                    head: model.head,
                }),
            });
        };
        card::load(folder, options.compute, gpu)
    }

    /// Starts its engine.
    ///
    /// # Errors
    /// [`LoadError`] where the memory is too small.
    pub(crate) fn start(&self, capacity: Capacity) -> Result<Engine, LoadError> {
        match &self.weights {
            DeviceWeights::Processor(view) => start(view.clone(), &self.config, capacity),
            DeviceWeights::Card(gpu, model) => {
                let (runner, n_blocks) = card::runner((gpu, model), capacity, &self.config)?;
                let heads = (self.has_vocabulary(), self.head_labels);
                Engine::start(runner, engine_config(&self.config, capacity, n_blocks, heads))
            }
        }
    }
}

/// Starts the engine of a model on the processor.
pub(crate) fn start(
    view: View,
    config: &ModelConfig,
    capacity: Capacity,
) -> Result<Engine, LoadError> {
    let n_blocks = blocks_in(capacity.kv_memory, config, view.decoder.kv_type())?;
    let head_labels = view.head.as_ref().map(Head::n_labels);
    let heads = (view.decoder.vocabulary().is_some(), head_labels);
    let engine = engine_config(config, capacity, n_blocks, heads);
    let runner = Runner::new(view.decoder, view.head).with_kv(n_blocks)?;
    Engine::start(runner, engine)
}

/// Bytes of the KV cache that `kv_memory` gives a model on the processor: whole blocks, at most a million tokens.
///
/// # Errors
/// [`LoadError::KvMemory`] where it is too small.
pub fn kv_bytes(kv_memory: u64, config: &ModelConfig, kv_type: KvType) -> Result<u64, LoadError> {
    let n_blocks = blocks_in(kv_memory, config, kv_type)?;
    Ok((n_blocks * BLOCK * KvCache::bytes_per_token(config, kv_type)) as u64)
}

/// Number of blocks that fit into the memory, at most [`MAX_BLOCKS`].
fn blocks_in(kv_memory: u64, config: &ModelConfig, kv_type: KvType) -> Result<usize, LoadError> {
    let block = (KvCache::bytes_per_token(config, kv_type) * BLOCK) as u64;
    let n_blocks = usize::try_from(kv_memory / block.max(1)).unwrap_or(MAX_BLOCKS);
    if n_blocks < LEAST_BLOCKS {
        return Err(LoadError::KvMemory {
            given_bytes: kv_memory,
            tokens: n_blocks * BLOCK,
            least_tokens: LEAST_BLOCKS * BLOCK,
        });
    }
    Ok(n_blocks.min(MAX_BLOCKS))
}
