//! Errors of the toy task.

use chat::ChatError;
use models::ModelError;

/// Why a model could not be made or a row could not be encoded.
#[derive(Debug, thiserror::Error)]
pub enum ToyTaskError {
    /// A model folder, tokenizer or chat template failed.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// Input that cannot be used.
    #[error("{0}")]
    Invalid(String),
}

impl From<ChatError> for ToyTaskError {
    fn from(error: ChatError) -> ToyTaskError {
        ToyTaskError::Model(error.into())
    }
}

/// A result of this crate.
pub type Result<T, E = ToyTaskError> = std::result::Result<T, E>;
