//! Rollouts and training steps that overlap: the maximum age of an answer ([`Capacity`], the rule
//! of `AReaL`), and answers that are interrupted and resumed ([`Partials`], APRIL).
//!
//! Both are bookkeeping over counts and ids. The caller keeps tokens, log-probabilities and the
//! revision of each token; the loss for off-policy tokens is in [`crate::losses`].

mod capacity;
mod partials;

pub use capacity::{Capacity, CapacityConfig};
pub use partials::{Launch, Partials, PartialsConfig};
