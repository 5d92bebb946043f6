//! The engine and its scheduler over a forward that knows which tokens its blocks stand for.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

mod forward;
mod random;
mod steps;
mod submission;
mod weight_update;
