//! Configuration of an engine, and the limits of requests that follow from it.

use models::BLOCK;

/// Configuration of an engine: its model's shape and its resources.
#[derive(Clone, Copy, Debug)]
pub struct EngineConfig {
    /// KV blocks of the forward.
    pub n_blocks: usize,
    /// The most tokens in one step.
    pub batch_tokens: usize,
    /// The most sequences that run at a time.
    pub max_sequences: usize,
    /// The most input tokens of all unfinished requests.
    pub queue_tokens: usize,
    /// Positions of the model.
    pub max_positions: usize,
    /// Logits of the model.
    pub vocab_size: usize,
    /// Whether the model has a vocabulary head.
    pub has_vocabulary: bool,
    /// Outputs of the model's own score head; `None` if it has none.
    pub head_labels: Option<usize>,
}

/// Limits that requests are checked against before they are queued.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestLimits {
    /// Positions of the model.
    pub max_positions: usize,
    /// Tokens that fit into the KV memory.
    pub kv_tokens: usize,
    /// The most input tokens of all unfinished requests.
    pub queue_tokens: usize,
    /// Logits of the model.
    pub vocab_size: usize,
    /// Whether the model has a vocabulary head.
    pub has_vocabulary: bool,
    /// Outputs of the model's own score head; `None` if it has none.
    pub head_labels: Option<usize>,
}

impl RequestLimits {
    /// The limits of an engine with this configuration.
    pub(crate) fn of(config: &EngineConfig) -> RequestLimits {
        RequestLimits {
            max_positions: config.max_positions,
            kv_tokens: config.n_blocks * BLOCK,
            queue_tokens: config.queue_tokens,
            vocab_size: config.vocab_size,
            has_vocabulary: config.has_vocabulary,
            head_labels: config.head_labels,
        }
    }

    /// The longest sequence in tokens, generated ones included.
    pub fn context(&self) -> usize {
        self.max_positions.min(self.kv_tokens)
    }
}
