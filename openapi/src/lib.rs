//! The native wire types: the JSON of `POST /v1/score` and of the server's own routes, and the
//! parsing of request types.
//!
//! This crate does not depend on scorers, the HTTP server framework or foreign interfaces, whose
//! types are in `serve`. Field names are binding: a change here is a change of the public
//! interface, and shows in the committed `openapi.json`.

mod body;
mod content;
mod error;
pub mod integer;
pub mod map_only;
mod meta;
mod request;
mod result;
mod signature;
pub mod unused;

pub use base::Priority;
pub use body::{BodyError, malformed, parse_body, without_position};
pub use content::{Content, Message, Reference};
pub use error::{ErrorBody, ErrorDetail};
pub use meta::{Health, Liveness, ModelDigests, ModelInfo, ModelLimits, ModelList, Readiness};
pub use request::{CacheMode, MAX_INPUTS, Options, ScoreInput, ScoreRequest};
pub use result::{
    Candidate, CandidateScore, CheckedEquality, Digests, ModelText, Part, Reason, ScoreResponse,
    ScoreResult, SpanNote, Status, StepScore, Timing, Usage,
};
pub use signature::{Jwk, JwkSet, Signature};
