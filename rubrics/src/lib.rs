//! Every scorer and pipeline, and the one [`score`] entry that server, command line and trainer
//! call.
//!
//! This crate knows what a verdict is and how one is reached; it does not know HTTP or wire formats,
//! and no files but a model's calibration and the rubrics that a configuration names.

mod answer;
pub mod calibration;
pub mod canary;
pub mod combine;
pub mod config;
pub mod decide;
pub mod embedding;
pub mod feedback;
pub mod formula;
mod group;
mod hex;
mod input;
mod kinds;
mod labels;
mod method;
pub mod models;
mod outcome;
mod pipeline;
mod pool;
pub mod prompt;
mod quote;
mod registry;
pub mod rubric;
mod score;
mod scorer;
mod session;
mod split;
mod steps;
mod tape;
#[cfg(test)]
mod testing;
mod walk;

pub use hex::sha256_text;
pub use input::{Input, Passage, Reference, Responses, Turn};
pub use models::{Models, NoModels, Served, ServedAdapter};
pub use outcome::{
    EqualityReport, Evidence, Failure, FailureKind, Found, Member, ModelText, Outcome, PartReport,
    Reward, SpanNote, StepReward, Trace,
};
pub use pipeline::{Adjust, Combine, Measured, OnError, PartSpec, Pipeline, Role};
pub use pool::{Pool, Priority};
pub use registry::{DEFAULT_MODEL, DEFAULT_SCORERS, Registry};
pub use score::{Ask, Scored, Tools, score};
pub use scorer::Scorer;
pub use tape::{Tape, Taped};
