//! A small world with exact answers: chains of arithmetic modulo 100, and countdown.
//!
//! Everything that a policy and its judge can be taught on two processor cores lives here: problems
//! and solutions that people can read ([`make`]), what is right and wrong in a solution ([`check`]),
//! questions about solutions with known answers ([`principles`]), the characters that a model of
//! this world reads ([`symbols`]) and a folder for it ([`mod@folder`]), rows that teach it
//! ([`mixture`], [`example`]), and what to measure it on ([`sets`], [`measure`]).
//!
//! A solution is a line a step and a last line with the result:
//!
//! ```text
//! (17+58)*4-91 mod 100        17+58=75
//!                             75*4=0
//!                             0-91=9
//!                             Answer: 9
//! ```
//!
//! [`check`] reads texts and knows nothing of [`make`]: both are written apart, and property tests
//! hold them against each other.

pub mod check;
mod dice;
pub mod example;
pub mod folder;
pub mod format;
pub mod holdout;
pub mod make;
pub mod measure;
pub mod mixture;
pub mod principles;
pub mod sets;
pub mod symbols;
#[cfg(test)]
mod tests;

pub use example::{Aim, Encoder, Example};
pub use folder::{Shape, folder};
pub use format::Format;
pub use mixture::{Mixture, Row, Target};

/// The name under which the model of this world is served, and the scorers of a server that has no
/// configuration, which ask it.
pub use rubrics::{DEFAULT_MODEL as MODEL, DEFAULT_SCORERS as SCORERS};

/// The chat template: conversations, and the questions of the scorers in their short form.
pub const CHAT_TEMPLATE: &str = include_str!("chat_template.jinja");
