//! Problems, solutions, and solutions with a known mistake.
//!
//! Only [`super::check`], which parses the text, decides whether something is right.

pub mod chain;
pub mod countdown;
pub mod slips;

pub use chain::{Chain, Difficulty, Link, Op};
pub use countdown::Countdown;
pub use slips::{Slip, Slipped};
