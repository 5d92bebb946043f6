//! A toy task with exact answers: chains of arithmetic modulo 100, and countdown.
//!
//! It provides everything to train a policy and its judge on two processor cores: problems and
//! solutions in readable text ([`make`]), a checker of solutions ([`check`]), questions about
//! solutions with known answers ([`principles`]), the tokenizer of a model for this task
//! ([`symbols`]) and untrained models ([`model_folder`]), training rows ([`mixture`], [`example`]),
//! and evaluation sets ([`sets`]). It must not depend on training.
//!
//! A solution has one line per step and a last line with the result:
//!
//! ```text
//! (17+58)*4-91 mod 100        17+58=75
//!                             75*4=0
//!                             0-91=9
//!                             Answer: 9
//! ```
//!
//! [`check`] parses texts and is independent of [`make`]: both are written separately, and property
//! tests compare them.

#![expect(
    clippy::cast_precision_loss,
    reason = "counts of numbers and draws enter formulas as floats; none is near 2^53"
)]

pub mod check;
pub mod error;
pub mod example;
pub mod format;
pub mod holdout;
pub mod make;
pub mod mixture;
pub mod model_folder;
pub mod principles;
mod rng;
pub mod sets;
pub mod symbols;
#[cfg(test)]
mod tests;

pub use error::{Result, ToyTaskError};
pub use example::{Aim, Encoder, Example};
pub use format::Format;
pub use mixture::{Mixture, TaskRow, TrainingTarget};
pub use model_folder::{ModelSize, write_model_folder};

/// The name under which the model of this task is served, and the scorers of a server without
/// configuration, which query it.
pub use rubrics::{DEFAULT_MODEL as MODEL, DEFAULT_SCORERS as SCORERS};

/// The chat template: conversations, and the questions of the scorers in their short form.
pub const CHAT_TEMPLATE: &str = include_str!("chat_template.jinja");
