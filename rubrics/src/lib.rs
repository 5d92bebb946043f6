//! Every scorer and pipeline, and the one [`score`] entry that server, command line and trainer
//! call.
//!
//! This crate knows what a verdict is and how one is reached; it does not know HTTP or wire formats,
//! and no file but a model's calibration.

mod answer;
pub mod calibration;
pub mod combine;
pub mod config;
pub mod decide;
mod input;
mod outcome;
mod pipeline;
mod pool;
mod registry;
mod score;
mod scorer;
mod steps;

pub use input::{Input, Passage, Reference, Responses, Turn};
pub use outcome::{
    EqualityReport, Evidence, Failure, FailureKind, Found, Member, Outcome, PartReport, Reward,
    StepReward,
};
pub use pipeline::{Adjust, Combine, Measured, OnError, PartSpec, Pipeline, Role};
pub use pool::{Pool, Priority};
pub use registry::Registry;
pub use score::{Ask, Scored, Tools, score};
pub use scorer::Scorer;
