//! Keys and values on a card.

use gpu::kernels::{BlockPairs, HeadShape, KvLayer, copy_blocks};
use gpu::{Arena, DeviceSlice, Gpu};
use half::bf16;
use models::{BLOCK, ModelConfig, Result};

use crate::error::device;

/// `[layer][block][kv_head][16][dim]` keys and as many values, bf16.
#[derive(Debug)]
pub(crate) struct KvPool {
    keys: DeviceSlice<bf16>,
    values: DeviceSlice<bf16>,
    n_blocks: usize,
    /// Layers, and numbers of a block.
    shape: (usize, usize),
}

impl KvPool {
    /// Allocates `n_blocks` blocks.
    ///
    /// # Errors
    /// [`models::ModelError::Device`] where memory is full.
    pub(crate) fn new(gpu: &Gpu, config: &ModelConfig, n_blocks: usize) -> Result<KvPool> {
        let each = block_len(head_shape(config));
        let len = config.layers.len() * n_blocks * each;
        let zeros = || -> gpu::Result<DeviceSlice<bf16>> {
            let numbers = gpu.allocate(len)?;
            numbers.clear()?;
            Ok(numbers)
        };
        Ok(KvPool {
            keys: zeros().map_err(device)?,
            values: zeros().map_err(device)?,
            n_blocks,
            shape: (config.layers.len(), each),
        })
    }

    /// Number of blocks.
    pub(crate) fn n_blocks(&self) -> usize {
        self.n_blocks
    }

    /// The blocks of a layer.
    pub(crate) fn layer(&self, index: usize) -> KvLayer {
        let numbers = self.n_blocks * self.shape.1;
        let range = index * numbers..(index + 1) * numbers;
        KvLayer { keys: self.keys.part(range.clone()), values: self.values.part(range) }
    }

    /// Copies blocks of all layers.
    pub(crate) fn copy(&self, gpu: &Gpu, pairs: &BlockPairs) -> gpu::Result<()> {
        copy_blocks(gpu, &self.keys, self.shape, pairs)?;
        copy_blocks(gpu, &self.values, self.shape, pairs)
    }
}

/// Blocks of one layer for a step without a pool: its layers take turns.
pub(crate) fn blocks_of_step(
    shape: HeadShape,
    n_blocks: usize,
    arena: &mut Arena,
) -> gpu::Result<KvLayer> {
    let numbers = n_blocks * block_len(shape);
    Ok(KvLayer { keys: arena.take(numbers)?, values: arena.take(numbers)? })
}

/// The heads of a model, padded.
pub(crate) fn head_shape(config: &ModelConfig) -> HeadShape {
    HeadShape {
        heads: config.num_heads,
        kv_heads: config.num_kv_heads,
        dim: config.head_dim.next_multiple_of(8),
    }
}

/// Bytes of a block of [`BLOCK`] positions: keys and values of all layers.
pub fn block_bytes(config: &ModelConfig) -> usize {
    2 * config.layers.len() * block_len(head_shape(config)) * size_of::<bf16>()
}

/// Numbers of a block's keys.
pub(crate) fn block_len(shape: HeadShape) -> usize {
    shape.kv_heads * BLOCK * shape.dim
}
