//! Problems, solutions, and solutions with a known mistake.
//!
//! What is written here is never asked whether it is right: that is for [`super::check`], which
//! reads the text alone.

pub mod chain;
pub mod countdown;
pub mod slips;

pub use chain::{Chain, Difficulty, Link, Op};
pub use countdown::Countdown;
pub use slips::{Slip, Slipped};
