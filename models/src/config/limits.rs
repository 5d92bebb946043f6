//! Maximum sizes of a configuration.

/// Maximum number of layers.
pub const MAX_LAYERS: usize = 4096;
/// Maximum number of positions.
pub const MAX_POSITIONS: usize = 1 << 24;
/// Maximum width of the residual stream, and of all heads of a token together.
pub const MAX_HIDDEN: usize = 1 << 17;
/// Maximum width of the MLP.
pub const MAX_INTERMEDIATE: usize = 1 << 20;
/// Maximum rows of the embedding.
pub const MAX_VOCAB: usize = 1 << 24;
/// Maximum number of heads.
pub const MAX_HEADS: usize = 4096;
/// Maximum width of a head.
pub const MAX_HEAD_DIM: usize = 4096;
/// Maximum experts of a layer.
pub const MAX_EXPERTS: usize = 1 << 16;
/// Experts of all layers together: the largest published models have some 25,000.
pub const MAX_ALL_EXPERTS: usize = 1 << 16;
/// Maximum labels of a head.
pub const MAX_LABELS: usize = 1 << 16;
/// Maximum number of parameters.
pub const MAX_PARAMETERS: u64 = 1 << 41;
