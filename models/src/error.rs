//! Everything that can be wrong with a model folder, an adapter, a prompt or a batch.

use std::fmt;
use std::path::{Path, PathBuf};

use chat::ChatError;

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
    #[error("gradients: {}", list_faults(.0))]
    Gradients(Vec<(String, GradientFault)>),
    /// The tensor library failed.
    #[error(transparent)]
    Tensors(#[from] candle_core::Error),
}

/// What is wrong with a variable's gradient.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GradientFault {
    /// There is none: no path of the graph leads from the loss to the variable.
    Missing,
    /// A number of it is infinite or NaN.
    NotFinite,
    /// It is zero everywhere. That is right for the factor `A` of a low-rank update whose `B` is
    /// still zero, and for a weight that no row of the batch has used.
    Zero,
}

impl fmt::Display for GradientFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            GradientFault::Missing => "has no gradient",
            GradientFault::NotFinite => "has a gradient that is not finite",
            GradientFault::Zero => "has a gradient of zeros",
        })
    }
}

impl ModelError {
    /// An error about a tensor of the file or folder `path`.
    pub(crate) fn tensor(path: &Path, name: &str, what: impl Into<String>) -> ModelError {
        ModelError::Tensor { path: path.to_path_buf(), name: name.to_owned(), what: what.into() }
    }
}

impl From<ChatError> for ModelError {
    fn from(error: ChatError) -> ModelError {
        match error {
            ChatError::Io { path, source } => ModelError::Io { path, source },
            ChatError::File { path, what } => ModelError::File { path, what },
            ChatError::Config { path, field, what } => ModelError::Config { path, field, what },
            ChatError::Template(what) => ModelError::Template(what),
        }
    }
}

fn list_faults(faults: &[(String, GradientFault)]) -> String {
    let named = |(name, fault): &(String, GradientFault)| format!("`{name}` {fault}");
    faults.iter().map(named).collect::<Vec<_>>().join(", ")
}

/// The result type of this crate.
pub type Result<T, E = ModelError> = std::result::Result<T, E>;
