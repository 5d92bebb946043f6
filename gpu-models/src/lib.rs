//! The decoder on CUDA cards: the same configurations, batches and outputs as [`models::Runner`], by the kernels of [`gpu`].
//!
//! Weights, keys and values are bf16, sums and the residual stream f32. A row's bits depend on its own tokens, weights and
//! adapter, as on a processor, and differ from those of a processor. The walk over a layer is this crate's own, because its
//! operations are coarser: queries, keys and values are one product, a gate and its factor another, and what follows a
//! product happens in it.
//!
//! Dimensions that are no multiples of 8 (heads of 12 numbers) are padded with zeros when weights are loaded.

#![expect(
    clippy::cast_precision_loss,
    reason = "dimensions enter formulas as floats; none is near 2^24"
)]

mod adapters;
mod axis;
mod error;
mod experts;
mod head;
mod kv;
mod layer;
mod model;
mod output_plan;
mod outputs;
mod pass;
mod projection;
mod rooms;
mod runner;
mod step;
mod step_bytes;
mod weights;

pub use kv::block_bytes;
pub use model::GpuModel;
pub use runner::GpuRunner;
pub use step_bytes::step_bytes;
