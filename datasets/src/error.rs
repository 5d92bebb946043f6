//! What can go wrong with a dataset, each with its place.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why a dataset could not be read, written or queried.
#[derive(Debug, thiserror::Error)]
pub enum DatasetError {
    /// The request cannot be met as it was made: another argument or option is needed.
    #[error("{0}")]
    Usage(String),
    /// The system refuses to work with a file.
    #[error("cannot {action} {path}: {source}", path = path.display())]
    Io {
        /// What was tried, as a verb.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The content of a file is not what it should be.
    #[error("{file}: {problem}")]
    File {
        /// The file as it was named.
        file: String,
        /// What is wrong, and what to do.
        problem: String,
    },
    /// A row cannot be gone past.
    #[error("{file}:{row}: {problem}")]
    Row {
        /// The file as it was named.
        file: String,
        /// The row, as [`crate::source::RowNumbers`] counts.
        row: u64,
        /// What is wrong, and what to do.
        problem: String,
    },
    /// A column of one file does not go with those of the others.
    #[error("{file}: column '{column}' {problem}")]
    Column {
        /// The file as it was named.
        file: String,
        /// The column, with dots between the names of nested ones.
        column: String,
        /// What is wrong, and what to do.
        problem: String,
    },
    /// The output is there already.
    #[error("{path} exists already; --overwrite replaces it", path = path.display())]
    Exists {
        /// The output.
        path: PathBuf,
    },
    /// Another process writes the same output.
    #[error("another run is writing {path}: wait for it, or name another output", path = path.display())]
    Locked {
        /// The output.
        path: PathBuf,
    },
    /// A query that cannot be run as it was written.
    #[error("{place}: {problem}")]
    Query {
        /// The option that the text came with, such as `--where`.
        place: String,
        /// What is wrong, with the position and near names where they are known.
        problem: String,
    },
}

impl DatasetError {
    /// For `map_err` on work with a file.
    pub fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { action, path, source }
    }

    /// A file whose content is wrong.
    pub(crate) fn file(file: &str, problem: impl fmt::Display) -> Self {
        Self::File { file: file.to_owned(), problem: problem.to_string() }
    }

    /// A column that does not go with the others.
    pub(crate) fn column(file: &str, column: &str, problem: impl fmt::Display) -> Self {
        Self::Column {
            file: file.to_owned(),
            column: column.to_owned(),
            problem: problem.to_string(),
        }
    }
}
