//! Results of another backend, signed.

use std::sync::Arc;
use std::time::SystemTime;

use openapi::ScoreInput;
use serve::signing::{Signer, input_digest};

use crate::backend::{Backend, RowResults};
use crate::error::RunError;
use crate::header::ScorerIdentity;

/// Signs the results of a backend. It is the outermost one: what a verdict store keeps is not
/// signed, because a number may come back from it changed in its last bit.
pub(crate) struct SignedBackend<'b> {
    backend: &'b dyn Backend,
    signer: Option<Arc<Signer>>,
}

impl<'b> SignedBackend<'b> {
    /// Signs with `signer`, or passes results on where there is none.
    pub(crate) fn new(backend: &'b dyn Backend, signer: Option<&Arc<Signer>>) -> Self {
        Self { backend, signer: signer.cloned() }
    }
}

impl Backend for SignedBackend<'_> {
    fn scorers(&self) -> Vec<ScorerIdentity> {
        self.backend.scorers()
    }

    fn uses_models(&self) -> bool {
        self.backend.uses_models()
    }

    fn score(&self, inputs: Vec<ScoreInput>) -> Result<Vec<RowResults>, RunError> {
        let Some(signer) = &self.signer else {
            return self.backend.score(inputs);
        };
        let digests: Vec<String> = inputs.iter().map(input_digest).collect();
        let mut rows = self.backend.score(inputs)?;
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let created = since.map_or(0, |since| since.as_secs());
        for (row, input) in rows.iter_mut().zip(digests) {
            for result in row.iter_mut().flatten() {
                signer.sign(result, input.clone(), created);
            }
        }
        Ok(rows)
    }
}
