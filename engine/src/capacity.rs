//! A model behind its engine, on whatever device, and the resources that it was given.

use std::sync::Arc;

use models::ModelConfig;
use models::weights::NumericsChoice;

use crate::config::EngineConfig;
use crate::engine::Engine;

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

/// A model behind its engine, and facts about it.
pub(crate) struct StartedModel {
    pub(crate) engine: Engine,
    pub(crate) config: Arc<ModelConfig>,
    /// Digest of configuration and weights, without the arithmetic.
    pub(crate) files_digest: String,
    pub(crate) numerics: NumericsChoice,
    pub(crate) weight_bytes: u64,
    pub(crate) parameters: u64,
}

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
