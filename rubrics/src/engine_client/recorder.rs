//! What engines were asked for, kept so that a measurement can ask them for the same again.

use std::sync::{Arc, Mutex, PoisonError};

use engine::{OutputSpec, Request, Task};

/// Works of scorers, in the order in which they were answered.
#[derive(Debug, Default)]
pub struct RequestRecorder(Mutex<Vec<RecordedRequest>>);

/// One work.
#[derive(Debug, Clone)]
pub struct RecordedRequest {
    /// The sequence.
    pub token_ids: Arc<[u32]>,
    /// The adapter that it ran under.
    pub adapter: Option<Arc<str>>,
    /// What was read of it; empty where it was continued.
    pub rows: Vec<(usize, OutputSpec)>,
    /// Tokens that were generated.
    pub output_tokens: usize,
    /// Tokens that were run through the model.
    pub computed_tokens: usize,
}

impl RequestRecorder {
    /// Takes what is on it, and leaves it empty.
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
    /// A work before it is answered.
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
