//! The engine and its scheduler over a forward that records which tokens its blocks hold.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

mod forward;
mod random;
mod steps;
mod submission;
mod weight_update;
