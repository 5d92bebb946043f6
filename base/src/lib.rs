//! Helpers and plain data that every crate needs and no other owns.
//!
//! [`Priority`] and [`ScoreOptions`], statistics of a few numbers, digests as text, seeded hashes and random
//! generators, atomic writes of files, the calendar, numbers for people, the memory of the process, and control groups.
//! Knows no scorer, model, row or request.

pub mod cgroup;
pub mod digest;
pub mod file;
pub mod human;
pub mod memory;
mod options;
pub mod seeded;
pub mod stats;
mod suggest;
pub mod time;

pub use options::{Priority, ScoreOptions};
pub use suggest::nearest;
