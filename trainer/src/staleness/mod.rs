//! Rollouts and training steps that overlap: how old an answer may become ([`Capacity`], the rule of
//! `AReaL`), and answers that are interrupted and resumed ([`Partials`], APRIL).
//!
//! Both are bookkeeping over counts and ids. Tokens, log-probabilities and the revision of each token
//! are kept by the caller; the loss for off-policy tokens is in
//! [`crate::losses`].

mod capacity;
mod partials;

pub use capacity::{Capacity, CapacityConfig};
pub use partials::{Launch, Partials, PartialsConfig};
