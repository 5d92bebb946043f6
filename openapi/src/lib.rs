//! Wire types: the JSON that clients send and receive, and nothing else.
//!
//! Only this crate is serialised to clients, and it knows neither scorers nor HTTP statuses. Field
//! names are binding: a change here is a change of the public interface, and the committed
//! `openapi.json` shows it.

mod body;
mod content;
mod error;
mod map_only;
mod meta;
mod request;
mod result;
mod whole;

pub use body::{BodyError, parse_body};
pub use content::{Content, Message, Reference};
pub use error::{ErrorBody, ErrorDetail};
pub use meta::{Health, ModelInfo, ModelLimits, ModelList, Readiness};
pub use request::{CacheMode, MAX_INPUTS, Options, Priority, ScoreInput, ScoreRequest};
pub use result::{
    Candidate, CandidateScore, CheckedEquality, Digests, Part, Reason, ScoreResponse, ScoreResult,
    Status, StepScore, Timing, Usage,
};
