//! The status of an engine.

use std::sync::Arc;

/// State and counters of an engine as of its last step.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EngineStatus {
    /// Sequences that hold no blocks: new, preempted, or waiting for a prefix.
    pub queued: usize,
    /// Sequences that hold blocks.
    pub running: usize,
    /// KV blocks that hold nothing.
    pub free_blocks: usize,
    /// KV blocks in use by running sequences.
    pub held_blocks: usize,
    /// KV blocks that hold cached prefixes only.
    pub cached_blocks: usize,
    /// Steps since the start.
    pub steps: u64,
    /// Steps that failed.
    pub failed_steps: u64,
    /// Tokens run through the model since the start.
    pub computed_tokens: u64,
    /// Input tokens that came from the prefix cache.
    pub cached_tokens: u64,
    /// Tokens generated.
    pub output_tokens: u64,
    /// Preemptions.
    pub preemptions: u64,
    /// Number of weight updates: see [`crate::Engine::update_weights`].
    pub revision: u64,
    /// The adapters in service, by name.
    pub adapters: Vec<AdapterStatus>,
}

/// An adapter in service.
#[derive(Clone, Debug, PartialEq)]
pub struct AdapterStatus {
    /// The name that requests use.
    pub name: Arc<str>,
    /// Digest of its content.
    pub digest: Arc<str>,
    /// Outputs of its own score head; `None` if it has none.
    pub head_labels: Option<usize>,
}
