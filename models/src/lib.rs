//! The decoder: configuration, weights, kernels with their own backward, heads and adapters.
//!
//! [`config`] (the family's fields) and [`weights`] (the content of the files) turn a folder in the
//! Hugging Face layout into a [`Decoder`]. A forward runs over a [`RaggedBatch`]: packed tokens
//! without padding, so that a row's bits depend on its own tokens and on the weights, never on its
//! neighbours. Gradients are recorded exactly where weights are variables; there is no training
//! flag. This crate does not depend on requests, clocks or HTTP, nor on text, except for the
//! tokenizer that it inspects.

#![expect(
    clippy::cast_precision_loss,
    reason = "counts and dimensions enter formulas as floats; none is near 2^24"
)]
#![expect(clippy::many_single_char_names, reason = "q, k, v, n, d are the field's own names")]

pub mod adapter;
pub mod batch;
pub mod config;
pub mod decoder;
pub mod digest;
pub mod draw;
pub mod embedded;
pub mod error;
#[cfg(test)]
mod gradcheck;
pub mod head;
pub mod inspect;
pub mod kernels;
pub mod kv;
pub mod live;
pub mod model;
pub mod ops;
pub mod packed;
pub mod random;
pub mod runner;
pub mod save;
pub mod shared;
pub mod weights;

pub use batch::{Output, OutputRow, OutputSpec, Outputs, PackItem, RaggedBatch, Sharing, pack};
pub use config::ModelConfig;
pub use decoder::Decoder;
pub use draw::{DrawnToken, RandomDraw, RowOutput, TokenDraw};
pub use error::{ModelError, Result};
pub use kernels::kv_block::{BLOCK, BlockCopy, BlockId};
pub use live::{LiveAdapter, LiveModel};
pub use model::{LoadOptions, Model, ModelFiles};
pub use packed::Matrix;
pub use runner::{Forward, Runner};
pub use shared::pack_shared;

/// Threads that the kernels share.
pub fn threads() -> usize {
    rayon::current_num_threads()
}
