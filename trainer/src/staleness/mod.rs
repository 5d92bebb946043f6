//! Rollouts and training steps that overlap: how old an answer may become ([`Capacity`], the rule of
//! `AReaL`), and answers that are interrupted and resumed ([`Partials`], APRIL).
//!
//! Both are bookkeeping over counts and ids. Tokens, log-probabilities and the revision of each token
//! are kept by whoever runs the engine; the loss that is right for old tokens is in
//! [`crate::losses`].

mod capacity;
mod partials;

pub use capacity::{Capacity, CapacityConfig};
pub use partials::{Launch, Partials, PartialsConfig};
