//! What every crate needs and no other owns.
//!
//! Small pure functions and plain data: [`Priority`] and [`ScoreOptions`], statistics of a few
//! numbers, digests as text, files that appear whole or not at all, numbers for people, and the memory
//! of the process. Knows
//! no scorer, model, row or request.

pub mod digest;
pub mod file;
pub mod human;
pub mod memory;
mod options;
pub mod stats;
mod suggest;

pub use options::{Priority, ScoreOptions};
pub use suggest::nearest;
