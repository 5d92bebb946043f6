//! Scorers, pipelines and [`score`], by which server, command line and trainer score inputs.
//!
//! Read in this order: [`score`] hands inputs to workers or to the caller's task, `evaluate` splits
//! an input into samples and a pipeline into parts, `kinds` holds one file or folder for each
//! scorer kind, and `engine_client` submits requests to engines. The crate does not depend on HTTP
//! or wire formats, and reads no files but calibrations and rubrics that a configuration names.

mod bounds;
pub mod cache;
pub mod calibration;
pub mod combine;
pub mod config;
pub mod decide;
mod domain;
pub mod embedding;
mod engine_client;
mod evaluate;
pub mod feedback;
mod group;
mod input;
mod kinds;
mod labels;
mod model_scorer;
pub mod models;
mod outcome;
mod pipeline;
mod pool;
pub mod programs;
pub mod prompt;
mod queries;
mod quote;
mod registry;
pub mod rubric;
mod sample;
mod score;
mod scorer;
mod split;
#[cfg(test)]
mod testing;

pub use base::{Priority, ScoreOptions};
pub use engine_client::{RecordedRequest, RequestRecorder, Tools};
pub use evaluate::evaluate_now;
pub use input::{Input, Message, Passage, Reference, Responses};
pub use kinds::principles::{ROLE as PRINCIPLE, principle_in_words};
pub use kinds::toolbox;
pub use models::{Models, NoModels, Served, ServedAdapter};
pub use outcome::{
    EqualityReport, Evidence, ExtractedAnswer, Failure, FailureKind, Member, ModelText, Outcome,
    PartReport, Score, SpanNote, StepScore, Trace,
};
pub use pipeline::{Adjust, Combine, Measured, OnError, PartSpec, Pipeline, Role};
pub use pool::VerifierPool;
pub use registry::{DEFAULT_MODEL, DEFAULT_SCORERS, Registry};
pub use score::{TimedOutcome, score};
pub use scorer::Scorer;
