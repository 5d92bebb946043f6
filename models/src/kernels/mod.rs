//! The kernels: plain functions over slices, without tensors and without state.
//!
//! Every reduction has an order that the row itself fixes: along `k` for a product, along absolute
//! key positions for attention. Threads split work by output, never by reduction. So a row's bits
//! do not depend on the number of rows, nor on its place in the batch.

pub mod agreement;
pub mod attention;
pub mod backward;
pub mod bf16_dot;
pub mod bf16_pairs;
pub mod ceiling;
pub mod embedding;
pub mod exp;
pub mod gated;
pub mod gemm;
pub mod int8;
pub mod kv_block;
pub mod lora;
pub mod norm;
pub mod panels;
pub mod readout;
pub mod rotary;
pub mod simd;
mod split;
mod threads;
