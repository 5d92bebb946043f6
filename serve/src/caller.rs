//! The sender of a request as engines need it: identity for fair shares, priority and deadline.

use std::time::{Duration, Instant};

use actix_web::HttpRequest;
use engine::Priority;
use sha2::{Digest as _, Sha256};

use crate::clients;
use crate::error::{ApiError, Code};
use crate::extensions::BatchLine;

/// The sender of a request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Caller {
    /// Identifies the API key (the address where there are no keys), or the owner of a batch.
    pub(crate) client: u64,
    /// When the reply is due.
    pub(crate) deadline: Instant,
    is_batch_line: bool,
}

impl Caller {
    /// Derives the sender of `request`, whose reply is due at `deadline`.
    pub(crate) fn new(request: &HttpRequest, deadline: Instant) -> Caller {
        let line = BatchLine::of(request);
        Caller {
            client: line.map_or_else(|| clients::client(request), |line| line.client),
            deadline,
            is_batch_line: line.is_some(),
        }
    }

    /// Returns the priority of the work: `requested`, or `Batch` for a batch line.
    pub(crate) fn priority(&self, requested: Priority) -> Priority {
        if self.is_batch_line { Priority::Batch } else { requested }
    }

    /// Runs `work` until the deadline.
    ///
    /// # Errors
    /// Those of `work`; 504 at the deadline, since a partial text is no reply.
    pub(crate) async fn in_time<T>(
        self,
        work: impl Future<Output = Result<T, ApiError>>,
    ) -> Result<T, ApiError> {
        let done = tokio::time::timeout(self.time_left(), work).await;
        done.unwrap_or_else(|_| {
            let message = "the deadline passed before the text was done";
            Err(ApiError::new(Code::DeadlinePassed, message))
        })
    }

    /// Returns the time until the reply is due.
    pub(crate) fn time_left(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }
}

/// Returns the first 64 bits of a SHA-256 digest, little-endian.
pub(crate) fn digest_u64(bytes: &[u8]) -> u64 {
    let digest = Sha256::digest(bytes);
    let first = digest.first_chunk().expect("a digest has 32 bytes");
    u64::from_le_bytes(*first)
}
