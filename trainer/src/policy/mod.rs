//! The model in training: its variables, shared with the engine that serves them.
//!
//! A [`Policy`] computes the outputs that a loss reads of packed sequences ([`Policy::read`]) and
//! propagates the loss's gradients with respect to these outputs back to its variables
//! ([`Policy::gradients`]). Forward pass and operations are those of the server, so that a
//! log-probability has the bits that the engine sampled with.

mod batch;
mod checkpointed;
mod gradients;
mod model;
mod pass;
mod save;
#[cfg(test)]
mod tests;
mod workers;

pub use batch::{Micro, Packing, PolicySequence, micro_batches};
pub use gradients::{Asserted, Gradients};
pub use model::{Parameter, Policy};
pub use pass::Grad;
pub(crate) use save::COMPANIONS;
pub use workers::Workers;
