//! Everything that can be wrong with a model folder, an adapter, a prompt or a batch.

use std::path::PathBuf;

use crate::ops::GradientFault;

/// Why a model, adapter, tokenizer or batch cannot be used. Every variant names the place.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// A file or folder cannot be read.
    #[error("{path}: {source}")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A file is there, and what it says cannot be used.
    #[error("{path}: {what}")]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it, and where in it.
        what: String,
    },
    /// A configuration field is missing, malformed, absurd or not supported.
    #[error("{path}: field `{field}`: {what}")]
    Config {
        /// The configuration file.
        path: PathBuf,
        /// The field, with dots for nesting.
        field: String,
        /// What is wrong with its value.
        what: String,
    },
    /// A tensor is missing, left over, misshapen, of a wrong type or not finite.
    #[error("{path}: tensor `{name}`: {what}")]
    Tensor {
        /// The file (or the folder, for a tensor that no file has).
        path: PathBuf,
        /// The tensor's name in the file.
        name: String,
        /// What is wrong with it.
        what: String,
    },
    /// The model was asked for what it cannot give.
    #[error("the model has no {asked}; it can give {available}")]
    Unavailable {
        /// What was asked for.
        asked: String,
        /// What it can give.
        available: String,
    },
    /// A batch that no forward can run.
    #[error("batch: {0}")]
    Batch(String),
    /// A chat template or a text that cannot be rendered or encoded.
    #[error("template: {0}")]
    Template(String),
    /// A backward that did not reach every variable, or that overflowed.
    #[error("gradients: {}", list(.0))]
    Gradients(Vec<(String, GradientFault)>),
    /// The tensor library failed.
    #[error(transparent)]
    Tensors(#[from] candle_core::Error),
}

fn list(faults: &[(String, GradientFault)]) -> String {
    let named = |(name, fault): &(String, GradientFault)| format!("`{name}` {fault}");
    faults.iter().map(named).collect::<Vec<_>>().join(", ")
}

/// The result type of this crate.
pub type Result<T, E = ModelError> = std::result::Result<T, E>;
