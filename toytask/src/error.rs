//! Errors of the toy task.

use models::ModelError;

/// Why a model could not be made or a row not be encoded.
#[derive(Debug, thiserror::Error)]
pub enum ToyTaskError {
    /// A model folder, tokenizer or chat template failed.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// Input that cannot be used.
    #[error("{0}")]
    Invalid(String),
}

/// A result of this crate.
pub type Result<T, E = ToyTaskError> = std::result::Result<T, E>;
