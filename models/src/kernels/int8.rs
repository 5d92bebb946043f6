//! The 8-bit path: weights quantised by output channel, activations by row.

/// A matrix `[n, k]` of 8-bit integers in panels, with one scale an output channel.
#[derive(Clone, Debug)]
pub struct Int8Matrix {
    panels: Vec<i8>,
    scales: Vec<f32>,
    n: usize,
    k: usize,
}

impl Int8Matrix {
    /// Output columns.
    pub fn n(&self) -> usize {
        self.n
    }

    /// Input columns.
    pub fn k(&self) -> usize {
        self.k
    }
}
