//! Errors of a run.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// Why a run could not be done, or its results could not be written.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// A flag is invalid, or two flags contradict each other.
    #[error("{flag}: {message}")]
    Usage {
        /// The flag, with its dashes.
        flag: &'static str,
        /// The fault.
        message: String,
    },
    /// A file of a flag cannot be read.
    #[error("{}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Rows of the input file that cannot be sent.
    #[error("{0}")]
    Rows(WrongRows),
    /// No connection to the server.
    #[error("cannot connect to {url}: {source}")]
    Unreachable {
        /// Where.
        url: String,
        /// Why.
        source: io::Error,
    },
    /// The server connects, but its reply to the first request is not a score.
    #[error("{url} does not score: {detail}")]
    NotScoring {
        /// Where.
        url: String,
        /// What came instead.
        detail: String,
    },
    /// The closed loop of a sweep got no successful reply, so that there is no peak to sweep to.
    #[error("no request succeeded in the closed loop, so there is no peak to sweep to: {detail}")]
    NoPeak {
        /// The classes in which its requests ended.
        detail: String,
    },
    /// A report could not be written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A plot could not be drawn.
    #[error("cannot draw the plot `{plot}`: {detail}")]
    Plot {
        /// Its title.
        plot: String,
        /// Why.
        detail: String,
    },
    /// A thread or an event loop could not be started.
    #[error("cannot start the run: {0}")]
    Start(io::Error),
}

impl LoadError {
    /// The exit status: 2 for wrong use, 1 otherwise.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Usage { .. } | Self::Read { .. } | Self::Rows(_) => 2,
            Self::Unreachable { .. }
            | Self::NotScoring { .. }
            | Self::NoPeak { .. }
            | Self::Write { .. }
            | Self::Plot { .. }
            | Self::Start(_) => 1,
        }
    }

    pub(crate) fn usage(flag: &'static str, message: impl Into<String>) -> Self {
        Self::Usage { flag, message: message.into() }
    }
}

/// Rows that cannot be sent: the first few with their lines, and their number.
#[derive(Debug)]
pub struct WrongRows {
    /// The input file.
    pub path: PathBuf,
    /// Line (from 1) and message of the first wrong rows.
    pub first: Vec<(usize, String)>,
    /// Number of wrong rows in the file.
    pub total: usize,
}

impl fmt::Display for WrongRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (line, complaint)) in self.first.iter().enumerate() {
            let separator = if at == 0 { "" } else { "\n" };
            write!(f, "{separator}{}:{line}: {complaint}", self.path.display())?;
        }
        let more = self.total - self.first.len();
        if more > 0 {
            write!(f, "\nand {more} more wrong rows")?;
        }
        Ok(())
    }
}
