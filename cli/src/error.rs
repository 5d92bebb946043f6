//! How a command ends.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Why a command stopped.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CliError {
    /// The command cannot work as it was written: exit code 2.
    #[error("{0}")]
    Usage(String),
    /// Something failed on the way: exit code 1.
    #[error("{0}")]
    Failed(String),
    /// A file could not be worked with: exit code 1.
    #[error("cannot {action} {path}: {source}", path = path.display())]
    File {
        /// What was tried, as a verb.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

/// What a command that ran to its end has to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Everything was done: exit code 0.
    Done,
    /// Something failed, and the summary says what: exit code 1.
    SomeFailed,
}

impl From<datasets::DatasetError> for CliError {
    fn from(error: datasets::DatasetError) -> Self {
        use datasets::DatasetError;
        match error {
            DatasetError::Usage(_)
            | DatasetError::Query { .. }
            | DatasetError::Exists { .. }
            | DatasetError::Column { .. } => Self::Usage(error.to_string()),
            DatasetError::Io { action: "read", path, source }
                if source.kind() == io::ErrorKind::NotFound =>
            {
                Self::named(&path)(source)
            }
            DatasetError::Io { .. }
            | DatasetError::File { .. }
            | DatasetError::Row { .. }
            | DatasetError::Locked { .. } => Self::Failed(error.to_string()),
        }
    }
}

impl CliError {
    /// For `map_err` on work with a file.
    pub(crate) fn file(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::File { action, path, source }
    }

    /// A file that the command line names cannot be opened: another must be named.
    pub(crate) fn named(path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Usage(format!("cannot read {}: {source}", path.display()))
    }

    pub(crate) fn exit_code(&self) -> ExitCode {
        match self {
            Self::Usage(_) => ExitCode::from(2),
            Self::Failed(_) | Self::File { .. } => ExitCode::FAILURE,
        }
    }
}

impl Outcome {
    /// `SomeFailed` if `failed`.
    pub(crate) fn failed_if(failed: bool) -> Self {
        if failed { Self::SomeFailed } else { Self::Done }
    }

    pub(crate) fn exit_code(self) -> ExitCode {
        match self {
            Self::Done => ExitCode::SUCCESS,
            Self::SomeFailed => ExitCode::FAILURE,
        }
    }
}
