//! The largest sizes that a configuration may have.

/// Most layers.
pub const MAX_LAYERS: usize = 4096;
/// Most positions.
pub const MAX_POSITIONS: usize = 1 << 24;
/// Widest residual stream, and most numbers in all heads of a token together.
pub const MAX_HIDDEN: usize = 1 << 17;
/// Widest MLP.
pub const MAX_INTERMEDIATE: usize = 1 << 20;
/// Most rows of the embedding.
pub const MAX_VOCAB: usize = 1 << 24;
/// Most heads.
pub const MAX_HEADS: usize = 4096;
/// Widest head.
pub const MAX_HEAD_DIM: usize = 4096;
/// Most experts of a layer.
pub const MAX_EXPERTS: usize = 1 << 16;
/// Most labels of a head.
pub const MAX_LABELS: usize = 1 << 16;
/// Most parameters in all.
pub const MAX_PARAMETERS: u64 = 1 << 41;
