//! The trait through which a decoder loads its weights.

use candle_core::Tensor;

use super::param::Param;
use crate::error::Result;
use crate::packed::{Matrix, Weight};

/// A source of a decoder's weights.
pub trait WeightSource {
    /// A linear layer's weight `[n, k]`, in the source's storage type.
    fn weight(&mut self, place: Param, n: usize, k: usize) -> Result<Weight>;
    /// A weight `[n, k]` that must stay floating point: embeddings and heads.
    fn matrix(&mut self, place: Param, n: usize, k: usize) -> Result<Matrix>;
    /// A vector `[n]` f32: a bias or a norm.
    fn vector(&mut self, place: Param, n: usize) -> Result<Tensor>;
}
