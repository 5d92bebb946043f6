//! Extensions of a request: values that one layer attaches for another.

use std::time::Instant;

use actix_web::{HttpMessage as _, HttpRequest};

/// The id of a request: the client's own where it sent a usable one.
#[derive(Debug, Clone)]
pub(crate) struct RequestId(pub(crate) String);

/// When the request's head had been read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arrived(pub(crate) Instant);

/// Finished stages of a request, as the value of a `server-timing` header.
#[derive(Debug, Clone)]
pub(crate) struct StageTimes(pub(crate) String);

/// Marks a line of a batch, a request that the server sends itself. No client can attach it. The
/// guard lets such a request pass, because its batch has passed, and its work has batch priority.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BatchLine {
    /// Identifies the owner of the batch, for fair shares of an engine.
    pub(crate) client: u64,
    /// When the batch expires.
    pub(crate) deadline: Instant,
}

impl BatchLine {
    /// The mark of a request; `None` if it came from a client.
    pub(crate) fn of(request: &HttpRequest) -> Option<BatchLine> {
        request.extensions().get::<BatchLine>().copied()
    }
}
