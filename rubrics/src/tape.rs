//! What engines were asked for, kept so that a measurement can ask them for the same again.

use std::sync::{Arc, Mutex, PoisonError};

use engine::{Read, Request, Task};

/// Works of scorers, in the order in which they were answered.
#[derive(Debug, Default)]
pub struct Tape(Mutex<Vec<Taped>>);

/// One work.
#[derive(Debug, Clone)]
pub struct Taped {
    /// The sequence.
    pub token_ids: Arc<[u32]>,
    /// The adapter that it ran under.
    pub adapter: Option<Arc<str>>,
    /// What was read of it; empty where it was continued.
    pub rows: Vec<(usize, Read)>,
    /// Tokens that were generated.
    pub output_tokens: usize,
    /// Tokens that were run through the model.
    pub computed_tokens: usize,
}

impl Tape {
    /// Takes what is on it, and leaves it empty.
    pub fn take(&self) -> Vec<Taped> {
        std::mem::take(&mut *self.lock())
    }

    pub(crate) fn add(&self, taped: Vec<Taped>) {
        self.lock().extend(taped);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Taped>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Taped {
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
