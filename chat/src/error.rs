//! Errors of model folders, tokenizers and chat templates.

use std::path::PathBuf;

/// Why a folder, a tokenizer or a chat template cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ChatError {
    /// A file or folder cannot be read.
    #[error("{path}: {source}")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// A file exists, but its content cannot be used.
    #[error("{path}: {what}")]
    File {
        /// The file.
        path: PathBuf,
        /// The fault and its place in the file.
        what: String,
    },
    /// A field of a JSON file is missing or malformed.
    #[error("{path}: field `{field}`: {what}")]
    Config {
        /// The file.
        path: PathBuf,
        /// The field, with dots for nesting.
        field: String,
        /// The fault of its value.
        what: String,
    },
    /// A chat template cannot be rendered, or a text cannot be encoded.
    #[error("template: {0}")]
    Template(String),
}

/// The result type of this crate.
pub type Result<T, E = ChatError> = std::result::Result<T, E>;
