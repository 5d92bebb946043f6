//! Memory of a card that is kept for steps.

use gpu::kernels::Attention;
use models::ModelConfig;

use crate::head::head_sizes;
use crate::model::{attention, widths};
use crate::output_plan::MAX_ROWS;
use crate::outputs;
use crate::rooms::Sizes;

/// A room of the staging for small steps; larger ones enlarge it.
pub(crate) const STAGING_BYTES: usize = 1 << 20;

/// Bytes that a runner without adapters keeps for steps of up to `tokens` tokens, beside weights and KV blocks.
pub fn step_bytes(config: &ModelConfig, tokens: usize) -> usize {
    largest_step(config, tokens, head_sizes(config)).bytes()
        + 2 * staging_room_bytes(config, tokens)
}

/// What the largest step of `tokens` tokens has without adapters. The widest head beside the vocabulary has `labels` outputs
/// and `inner` numbers between its layers.
pub(crate) fn largest_step(
    config: &ModelConfig,
    tokens: usize,
    (labels, inner): (usize, usize),
) -> Sizes {
    Sizes {
        widths: widths(config),
        rows: tokens,
        kept: tokens,
        // Windows do not change their number.
        parts: Attention::most_parts(&attention(config, None), config.max_positions),
        between: 0,
        expert_groups: None,
        blocks: 0,
        outputs: outputs::most(config, (labels, inner)),
    }
}

/// Bytes of each of the staging's two rooms. Masks of the vocabulary are the largest part of what is staged.
pub(crate) fn staging_room_bytes(config: &ModelConfig, tokens: usize) -> usize {
    let mask = config.vocab_size.div_ceil(32) * size_of::<u32>();
    (STAGING_BYTES + tokens.min(MAX_ROWS) * mask).next_power_of_two()
}
