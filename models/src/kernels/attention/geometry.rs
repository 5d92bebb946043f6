//! The shape of one layer's attention.

/// The parameters common to every call of one layer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Geometry {
    /// Query heads.
    pub num_heads: usize,
    /// Key and value heads; divides `num_heads`.
    pub num_kv_heads: usize,
    /// Width of a head.
    pub head_dim: usize,
    /// Factor on query · key.
    pub scale: f32,
    /// `cap · tanh(x / cap)` on the scores.
    pub softcap: Option<f32>,
    /// Keys that a query sees, itself included; at least 1.
    pub window: Option<usize>,
}

impl Geometry {
    /// Query heads that share a key head.
    pub(super) fn group(self) -> usize {
        self.num_heads / self.num_kv_heads
    }

    /// The first key that a query at this position sees.
    pub(super) fn first_key(self, position: usize) -> usize {
        self.window.map_or(0, |window| (position + 1).saturating_sub(window))
    }
}
