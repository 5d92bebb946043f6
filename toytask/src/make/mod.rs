//! Problems, solutions, and solutions with a known mistake.
//!
//! Whether something is right is decided by [`super::check`] alone, which reads the text.

pub mod chain;
pub mod countdown;
pub mod slips;

pub use chain::{Chain, Difficulty, Link, Op};
pub use countdown::Countdown;
pub use slips::{Slip, Slipped};
