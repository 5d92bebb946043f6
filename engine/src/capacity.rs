//! The resources of an engine, on whatever device.

use models::ModelConfig;

use crate::config::EngineConfig;

/// Resources of an engine.
#[derive(Clone, Copy, Debug)]
pub struct Capacity {
    /// Bytes of KV memory at most. On a card it is also bounded by nine tenths of the memory that is
    /// free beside weights and the largest step.
    pub kv_memory: u64,
    /// The most tokens in one step.
    pub batch_tokens: usize,
    /// The most sequences that run at a time.
    pub max_sequences: usize,
    /// The most input tokens of all unfinished requests.
    pub queue_tokens: usize,
}

/// The fewest KV blocks that an engine works with.
pub(crate) const LEAST_BLOCKS: usize = 2;

/// The engine of a model with or without a vocabulary, and with a head of so many outputs.
pub(crate) fn engine_config(
    config: &ModelConfig,
    capacity: Capacity,
    n_blocks: usize,
    (has_vocabulary, head_labels): (bool, Option<usize>),
) -> EngineConfig {
    EngineConfig {
        n_blocks,
        batch_tokens: capacity.batch_tokens,
        max_sequences: capacity.max_sequences,
        queue_tokens: capacity.queue_tokens,
        max_positions: config.max_positions,
        vocab_size: config.vocab_size,
        has_vocabulary,
        head_labels,
    }
}
