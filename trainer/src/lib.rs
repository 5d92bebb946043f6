//! The trainer: a policy and its judge, which may be one model, trained through the kernels that
//! serve them. The training loop is [`methods::policy_gradient::train_step`].
//!
//! Rollouts come from the engine on the live weights ([`rollout`]), rewards from
//! [`rubrics::score()`], and gradients from the same decoder with its weights as variables
//! ([`policy`]). Losses ([`losses`]) and advantages ([`advantages`]) are pure functions over
//! numbers: a loss returns its value and its gradient with respect to log-probabilities or scores,
//! and the decoder's backward propagates that gradient. Judge data is made of rollouts in
//! [`judge_data`]. This crate must not depend on HTTP or on the kinds of scorers.

#![expect(
    clippy::cast_precision_loss,
    reason = "counts of tokens and steps enter formulas as floats; none is near 2^53"
)]

pub mod advantages;
pub mod auxiliary;
pub mod curriculum;
pub mod data;
pub mod encode;
pub mod error;
pub mod figures;
mod float_bits;
pub mod item;
pub mod judge_data;
pub mod log;
pub mod losses;
pub mod methods;
pub mod metrics;
pub mod optimiser;
pub mod policy;
pub mod rollout;
pub mod run;
pub mod staleness;

pub use error::{Result, TrainError};
pub use item::{Group, ItemRole, Rollout, Token, TrainingItem};
