//! Records engine requests, so that a benchmark can replay them.

use std::sync::{Arc, Mutex, PoisonError};

use engine::{OutputSpec, Request, Task};

/// Requests of scorers, in the order of their completion.
#[derive(Debug, Default)]
pub struct RequestRecorder(Mutex<Vec<RecordedRequest>>);

/// One completed request.
#[derive(Debug, Clone)]
pub struct RecordedRequest {
    /// The sequence.
    pub token_ids: Arc<[u32]>,
    /// The adapter; `None` for the model itself.
    pub adapter: Option<Arc<str>>,
    /// Rows read; empty for a generation.
    pub rows: Vec<(usize, OutputSpec)>,
    /// Generated tokens.
    pub output_tokens: usize,
    /// Tokens computed by the model, cached ones excluded.
    pub computed_tokens: usize,
}

impl RequestRecorder {
    /// Takes all recorded requests.
    pub fn take(&self) -> Vec<RecordedRequest> {
        std::mem::take(&mut *self.lock())
    }

    pub(crate) fn add(&self, recorded: Vec<RecordedRequest>) {
        self.lock().extend(recorded);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<RecordedRequest>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RecordedRequest {
    /// A request before its completion.
    pub(crate) fn of(work: &Request) -> Self {
        Self {
            token_ids: work.token_ids.clone(),
            adapter: work.adapter.clone(),
            rows: match &work.task {
                Task::Rows(rows) => rows.clone(),
                Task::Generate(_) => Vec::new(),
            },
            output_tokens: 0,
            computed_tokens: 0,
        }
    }
}
