//! Request extensions: values that one layer attaches for another.

use std::sync::Arc;
use std::time::Instant;

use actix_web::{HttpMessage as _, HttpRequest};

use crate::keys::Key;

/// The request id; the client's own where it sent a usable one.
#[derive(Debug, Clone)]
pub(crate) struct RequestId(pub(crate) String);

/// When the request head was read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arrived(pub(crate) Instant);

/// The sender of a request that the guard let pass.
#[derive(Debug, Clone)]
pub(crate) struct Sender {
    /// Identifies the API key, or the address where there are no keys.
    pub(crate) client: u64,
    /// `None` where there are no keys.
    pub(crate) key: Option<Arc<Key>>,
}

impl Sender {
    /// The sender of a request; `None` for the server's own requests.
    pub(crate) fn of(request: &HttpRequest) -> Option<Sender> {
        request.extensions().get::<Sender>().cloned()
    }
}

/// The name that an action of an administrator is about, for the audit log.
#[derive(Debug, Clone)]
pub(crate) struct AuditSubject(pub(crate) String);

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
