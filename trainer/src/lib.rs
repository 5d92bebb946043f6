//! The companion trainer: one model is player and referee, and both evolve through the kernels that
//! serve them.
//!
//! Rollouts come from the engine on the live weights, rewards from [`rubrics::score()`], and
//! gradients from the same decoder with its weights as variables ([`policy`]). Losses
//! ([`losses`]) and advantages ([`advantages`]) are pure functions over numbers: a loss gives its
//! value and its gradient with respect to log-probabilities or scores, and the decoder's backward
//! carries that gradient on. Judge items are made of rollouts in [`recycle`].

#![expect(
    clippy::cast_precision_loss,
    reason = "counts of tokens and steps enter formulas as floats; none is near 2^53"
)]

pub mod advantages;
pub mod curriculum;
pub mod data;
pub mod encode;
pub mod error;
mod exact;
pub mod figures;
pub mod item;
pub mod log;
pub mod losses;
pub mod methods;
pub mod metrics;
pub mod optimiser;
pub mod policy;
pub mod random;
pub mod recycle;
pub mod rollout;
pub mod run;
pub mod staleness;

pub use error::{Result, TrainError};
pub use item::{Group, Item, Role, Rollout, Token};
