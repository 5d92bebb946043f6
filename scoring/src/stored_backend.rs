//! Verdicts that are in a store already, with a backend for the inputs that are not.

use openapi::{ScoreInput, ScoreResult};

use crate::backend::{Backend, RowResults};
use crate::error::RunError;
use crate::header::ScorerIdentity;
use crate::verdict_store::{self, StoreSnapshot, VerdictStore};

/// Answers from a verdict store; inputs without a stored verdict go to another backend.
pub(crate) struct StoredBackend<'b> {
    backend: &'b dyn Backend,
    stored: StoreSnapshot,
}

impl<'b> StoredBackend<'b> {
    /// Takes the verdicts that `store` has now, and the backend for all other inputs.
    pub(crate) fn new(backend: &'b dyn Backend, store: &VerdictStore) -> Self {
        Self { backend, stored: store.snapshot() }
    }

    fn stored(&self, input: &ScoreInput) -> Result<Option<Vec<ScoreResult>>, RunError> {
        let key = verdict_store::input_key(&verdict_store::input_json(input));
        let payload = self.stored.get(&key)?;
        Ok(payload.and_then(|payload| serde_json::from_slice(&payload).ok()))
    }
}

impl Backend for StoredBackend<'_> {
    fn scorers(&self) -> Vec<ScorerIdentity> {
        self.backend.scorers()
    }

    fn uses_models(&self) -> bool {
        self.backend.uses_models()
    }

    fn score(&self, inputs: Vec<ScoreInput>) -> Result<Vec<RowResults>, RunError> {
        let mut results: Vec<Option<RowResults>> = Vec::with_capacity(inputs.len());
        let mut missing = Vec::new();
        for input in inputs {
            let stored = self.stored(&input)?;
            if stored.is_none() {
                missing.push(input);
            }
            results.push(stored.map(Ok));
        }
        let mut rest = if missing.is_empty() {
            Vec::new().into_iter()
        } else {
            self.backend.score(missing)?.into_iter()
        };
        let all = results.into_iter().map(|stored| {
            stored.unwrap_or_else(|| rest.next().expect("one entry for each missing input"))
        });
        Ok(all.collect())
    }
}
