//! Keys and values kept between forwards, in blocks of [`BLOCK`] positions.
//!
//! The engine assigns blocks to sequences; here a block is only a place. Keys are stored as panels
//! (`[block, kv_head, head_dim, BLOCK]`), so that the product with a query reads them from front to
//! back; values as rows (`[block, kv_head, BLOCK, head_dim]`). In bf16 two dimensions of a key and two
//! positions of a value share 32 bits ([`KvLane`](crate::kernels::attention::KvLane)). A block starts at a multiple of
//! [`BLOCK`] positions of its sequence, so the kernel's tiles are the same whether keys come from
//! here or from the batch itself.

use candle_core::{DType, Device, Tensor};

use crate::config::ModelConfig;
use crate::error::Result;
use crate::kernels::kv_block::BLOCK;

pub use crate::kernels::attention::KvType;

/// The keys and values of every layer.
#[derive(Debug)]
pub struct KvCache {
    layers: Vec<LayerKv>,
    n_blocks: usize,
}

/// The blocks of one layer.
#[derive(Clone, Debug)]
pub struct LayerKv {
    /// `[n_blocks, kv_heads, lanes]`: panels in f32, or u32 with the bits of pairs.
    pub keys: Tensor,
    /// `[n_blocks, kv_heads, lanes]`: rows in the same type.
    pub values: Tensor,
}

impl KvCache {
    /// Allocates `n_blocks * BLOCK` positions.
    pub fn new(config: &ModelConfig, kv_type: KvType, n_blocks: usize) -> Result<KvCache> {
        let layer = |_| LayerKv::new((n_blocks, config.num_kv_heads, config.head_dim), kv_type);
        let layers = (0..config.layers.len()).map(layer).collect::<Result<_>>()?;
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
    pub fn bytes_per_token(config: &ModelConfig, kv_type: KvType) -> usize {
        let [keys, values] = kv_type.lanes(config.head_dim);
        config.layers.len() * config.num_kv_heads * (keys + values) * size_of::<f32>() / BLOCK
    }
}

impl LayerKv {
    /// Blocks of zeros.
    pub(crate) fn new(
        (n_blocks, kv_heads, head_dim): (usize, usize, usize),
        kv_type: KvType,
    ) -> Result<LayerKv> {
        let dtype = match kv_type {
            KvType::F32 => DType::F32,
            KvType::Bf16 => DType::U32,
        };
        let pool = |lanes| Tensor::zeros((n_blocks, kv_heads, lanes), dtype, &Device::Cpu);
        let [keys, values] = kv_type.lanes(head_dim);
        Ok(LayerKv { keys: pool(keys)?, values: pool(values)? })
    }
}
