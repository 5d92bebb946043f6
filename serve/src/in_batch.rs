//! Requests that the server sends itself: the lines of batches.
//!
//! Such a request carries an [`InBatch`] that no client can send. With it, it passes the guard,
//! which its batch has passed already, and goes behind what somebody waits for.

use std::time::Instant;

use actix_web::{HttpMessage as _, HttpRequest};

/// What a line of a batch is answered under.
#[derive(Debug, Clone, Copy)]
pub(crate) struct InBatch {
    /// Stands for the batch's owner.
    pub(crate) client: u64,
    /// When the batch is given up.
    pub(crate) deadline: Instant,
}

impl InBatch {
    /// Of a request that is a line of a batch.
    pub(crate) fn of(request: &HttpRequest) -> Option<InBatch> {
        request.extensions().get::<InBatch>().copied()
    }
}
