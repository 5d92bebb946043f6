//! Request extensions: values that one layer attaches for another.

use std::time::Instant;

use actix_web::{HttpMessage as _, HttpRequest};

/// The request id; the client's own where it sent a usable one.
#[derive(Debug, Clone)]
pub(crate) struct RequestId(pub(crate) String);

/// When the request head was read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arrived(pub(crate) Instant);

/// Finished stages of a request, as a `server-timing` header value.
#[derive(Debug, Clone)]
pub(crate) struct StageTimes(pub(crate) String);

/// Marks a batch line, a request that the server sends itself. Clients cannot attach it. The guard
/// accepts the line, because its batch passed the guard, and its work has batch priority.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BatchLine {
    /// Identifies the owner of the batch, for fair shares of an engine.
    pub(crate) client: u64,
    /// When the batch expires.
    pub(crate) deadline: Instant,
}

impl BatchLine {
    /// Returns the mark of a request; `None` if it came from a client.
    pub(crate) fn of(request: &HttpRequest) -> Option<BatchLine> {
        request.extensions().get::<BatchLine>().copied()
    }
}
