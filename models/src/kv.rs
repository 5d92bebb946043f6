//! Keys and values kept between forwards, in blocks of [`BLOCK`] positions.
//!
//! The engine assigns blocks to sequences; here a block is only a place. Keys are stored as panels
//! (`[block, kv_head, head_dim, BLOCK]`), so that the product with a query reads them from front to
//! back; values as rows (`[block, kv_head, BLOCK, head_dim]`). A block starts at a multiple of
//! [`BLOCK`] positions of its sequence, so the kernel's tiles are the same whether keys come from
//! here or from the batch itself.

use candle_core::{DType, Device, Tensor};

use crate::config::ModelConfig;
use crate::error::Result;
use crate::kernels::kv_block::BLOCK;

/// The keys and values of every layer.
#[derive(Debug)]
pub struct KvCache {
    layers: Vec<LayerKv>,
    n_blocks: usize,
}

/// The blocks of one layer.
#[derive(Clone, Debug)]
pub struct LayerKv {
    /// `[n_blocks, kv_heads, head_dim, BLOCK]` f32.
    pub keys: Tensor,
    /// `[n_blocks, kv_heads, BLOCK, head_dim]` f32.
    pub values: Tensor,
}

impl KvCache {
    /// Allocates `n_blocks * BLOCK` positions.
    pub fn new(config: &ModelConfig, n_blocks: usize) -> Result<KvCache> {
        let (heads, dim) = (config.num_kv_heads, config.head_dim);
        let layers = (0..config.layers.len())
            .map(|_| {
                Ok(LayerKv {
                    keys: Tensor::zeros((n_blocks, heads, dim, BLOCK), DType::F32, &Device::Cpu)?,
                    values: Tensor::zeros((n_blocks, heads, BLOCK, dim), DType::F32, &Device::Cpu)?,
                })
            })
            .collect::<Result<_>>()?;
        Ok(KvCache { layers, n_blocks })
    }

    /// Number of blocks.
    pub fn n_blocks(&self) -> usize {
        self.n_blocks
    }

    /// The blocks of every layer, in order.
    pub(crate) fn layers(&self) -> &[LayerKv] {
        &self.layers
    }

    /// The blocks of one layer.
    pub fn layer(&self, index: usize) -> &LayerKv {
        &self.layers[index]
    }

    /// Bytes per position, over all layers.
    pub fn bytes_per_token(config: &ModelConfig) -> usize {
        2 * config.layers.len() * config.num_kv_heads * config.head_dim * size_of::<f32>()
    }
}
