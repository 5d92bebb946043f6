//! Every tensor operation of the forward that could lose a gradient, each with its own backward.
//!
//! An operation is a candle custom op around a kernel of [`crate::kernels`]. The same kernel runs
//! whether a weight is a variable or not; candle records the graph when an input is tracked. All
//! activations are f32 and contiguous.

mod attention;
mod embedding;
mod gated;
mod guard;
mod linear;
mod linear_adapted;
mod linear_served;
mod lora;
mod norm;
mod operands;
mod readout;
mod rotary;
mod softmax;
mod storage;
#[cfg(test)]
mod test_tensors;

pub use attention::{attend, attend_paged, copy_blocks, write_kv};
pub use embedding::embedding;
pub use gated::gated;
pub use guard::{check_gradients, gradient_faults};
pub use linear::linear;
pub use linear_adapted::linear_adapted;
pub use linear_served::{RoundedLora, ServedMatrix, linear_served};
pub use lora::{LoraSegment, lora, lora_embedding};
pub use norm::rms_norm;
pub use readout::{label_logits, softcap, tempered_logprobs, token_logprobs};
pub use rotary::rotary;
pub use softmax::softmax;
