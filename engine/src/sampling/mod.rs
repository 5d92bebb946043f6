//! Sampling: the next token from logits, and whether it is the last.
//!
//! A generation depends on its sequence alone: tokens, parameters and logits. The random number at
//! a position is a function of (seed, stream, position), so that a generation is the same in any
//! batch and can be replayed.

pub mod constraint;
mod draw;
mod edit;
mod error;
mod params;
mod random;
mod sampler;
mod scan;
mod stop;
pub mod text;
mod token;
mod weights;

pub use constraint::{Constraint, ConstraintError, Grammar, Mask, Vocabulary};
pub use error::{SampleError, TextError};
pub use params::SamplingParams;
pub use sampler::Sampler;
pub use stop::StopStrings;
pub use text::TextStream;
pub use token::{FinishReason, Next, SampledToken};

#[cfg(test)]
mod measure;
#[cfg(test)]
mod tests;
