//! Errors of datasets, with file, row, column or option.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why a dataset could not be read, written or queried.
#[derive(Debug, thiserror::Error)]
pub enum DatasetError {
    /// Invalid arguments or options.
    #[error("{0}")]
    Usage(String),
    /// A file operation failed.
    #[error("cannot {action} {path}: {source}", path = path.display())]
    Io {
        /// The attempted action, as a verb.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The system error.
        source: io::Error,
    },
    /// Invalid content of a file.
    #[error("{file}: {problem}")]
    File {
        /// The file as it was named.
        file: String,
        /// The error in words, and its remedy.
        problem: String,
    },
    /// A row that reading cannot continue after.
    #[error("{file}:{row}: {problem}")]
    Row {
        /// The file as it was named.
        file: String,
        /// The row, as [`crate::source::RowNumbers`] counts.
        row: u64,
        /// The error in words, and its remedy.
        problem: String,
    },
    /// A column that is incompatible with those of the other files.
    #[error("{file}: column '{column}' {problem}")]
    Column {
        /// The file as it was named.
        file: String,
        /// The column, with dots between the names of nested ones.
        column: String,
        /// The error in words, and its remedy.
        problem: String,
    },
    /// The output exists already.
    #[error("{path} exists already; --overwrite replaces it", path = path.display())]
    Exists {
        /// The output.
        path: PathBuf,
    },
    /// Another process is writing the same output.
    #[error("another run is writing {path}: wait for it, or name another output", path = path.display())]
    Locked {
        /// The output.
        path: PathBuf,
    },
    /// Invalid SQL or an unknown column.
    #[error("{place}: {problem}")]
    Query {
        /// The command-line option of the text, such as `--where`.
        place: String,
        /// The error in words, with the position and similar names where they are known.
        problem: String,
    },
}

impl DatasetError {
    /// Returns a mapping of I/O errors for `map_err`.
    pub fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { action, path, source }
    }

    /// Makes a [`DatasetError::File`].
    pub(crate) fn file(file: &str, problem: impl fmt::Display) -> Self {
        Self::File { file: file.to_owned(), problem: problem.to_string() }
    }

    /// Makes a [`DatasetError::Column`].
    pub(crate) fn column(file: &str, column: &str, problem: impl fmt::Display) -> Self {
        Self::Column {
            file: file.to_owned(),
            column: column.to_owned(),
            problem: problem.to_string(),
        }
    }
}
