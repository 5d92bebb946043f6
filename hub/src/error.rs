//! What can go wrong between here and a repository.

use std::io;
use std::path::{Path, PathBuf};

use base::human;

use crate::repo::Repo;

/// A failed fetch: repository and revision, the file where it is about one, and the fault.
#[derive(Debug, thiserror::Error)]
#[error("{repo}: {}{fault}", file_prefix(file.as_deref()))]
pub struct HubError {
    /// The repository, with the revision as it was asked for.
    pub repo: Repo,
    /// The file's path in the repository.
    pub file: Option<String>,
    /// What happened.
    pub fault: HubFault,
}

fn file_prefix(file: Option<&str>) -> String {
    file.map(|file| format!("{file}: ")).unwrap_or_default()
}

/// What happened.
#[derive(Debug, thiserror::Error)]
pub enum HubFault {
    /// The server replied with a status of failure.
    #[error("HTTP status {status} from {server}: {advice}")]
    Status {
        /// The status.
        status: u16,
        /// The server's address.
        server: String,
        /// What to do.
        advice: String,
    },
    /// No reply, or a reply that broke off, as often as it was tried.
    #[error("{server} cannot be reached: {what}")]
    Unreachable {
        /// The server's address.
        server: String,
        /// The last error.
        what: String,
    },
    /// The server's list of files, or a reply, says something that cannot be used.
    #[error("refused: {0}")]
    Refused(String),
    /// The content is not the listed one.
    #[error(
        "the content does not have the listed hash and is not used: expected {expected}, got {found}; \
         try again, and report it to the repository's owner if it persists"
    )]
    Hash {
        /// The listed hash.
        expected: String,
        /// The hash of what arrived.
        found: String,
    },
    /// The repository has no files of the wanted kind.
    #[error("{0}")]
    Lacks(String),
    /// Without a network, and the cache lacks something.
    #[error(
        "HF_HUB_OFFLINE is set, and the cache {} lacks {missing}; fetch it once without HF_HUB_OFFLINE",
        cache.display()
    )]
    Offline {
        /// The cache of the repository.
        cache: PathBuf,
        /// What is missing.
        missing: String,
    },
    /// The disk is too small.
    #[error(
        "{} are needed and {} are free in {} (HF_HOME names another folder)",
        human::bytes(*needed), human::bytes(*free), path.display()
    )]
    NoRoom {
        /// Bytes that are still to be downloaded.
        needed: u64,
        /// Free bytes.
        free: u64,
        /// The cache.
        path: PathBuf,
    },
    /// A file of the cache cannot be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

impl HubFault {
    /// An error of the file system at this path.
    pub(crate) fn io(path: &Path) -> impl FnOnce(io::Error) -> HubFault {
        move |source| HubFault::Io { path: path.to_owned(), source }
    }

    /// Whether another attempt may help: no reply, or one that says that the server is busy or ill.
    pub(crate) fn may_pass(&self) -> bool {
        match self {
            HubFault::Unreachable { .. } => true,
            HubFault::Status { status, .. } => matches!(status, 408 | 429 | 500..600),
            HubFault::Refused(_)
            | HubFault::Hash { .. }
            | HubFault::Lacks(_)
            | HubFault::Offline { .. }
            | HubFault::NoRoom { .. }
            | HubFault::Io { .. } => false,
        }
    }

    /// Adds repository and file.
    pub(crate) fn at(self, repo: &Repo, file: Option<&str>) -> HubError {
        HubError { repo: repo.clone(), file: file.map(str::to_owned), fault: self }
    }
}
