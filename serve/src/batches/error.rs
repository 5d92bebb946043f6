//! Errors of the batch store.

use std::io::{self, ErrorKind};

use crate::error::{ApiError, Code};

/// An error of the batch store.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StorageError {
    /// The disk or the quota is full.
    #[error("no room in batches.folder: {0}")]
    Full(io::Error),
    /// The disk failed or denied access.
    #[error("batches.folder: {0}")]
    Disk(io::Error),
    /// The database failed.
    #[error("the database in batches.folder: {0}")]
    Database(String),
}

impl From<io::Error> for StorageError {
    fn from(error: io::Error) -> Self {
        let full = [ErrorKind::StorageFull, ErrorKind::QuotaExceeded, ErrorKind::FileTooLarge];
        if full.contains(&error.kind()) { Self::Full(error) } else { Self::Disk(error) }
    }
}

impl From<redb::Error> for StorageError {
    fn from(error: redb::Error) -> Self {
        if let redb::Error::Io(error) = error {
            error.into()
        } else {
            Self::Database(error.to_string())
        }
    }
}

impl From<StorageError> for ApiError {
    fn from(error: StorageError) -> Self {
        match &error {
            StorageError::Full(_) => {
                let message = "there is no room left in the folder that batches.folder names";
                ApiError::new(Code::StorageFull, message).because(&error)
            }
            StorageError::Disk(_) | StorageError::Database(_) => {
                let message = "what was to be kept could not be; the server's log has the cause";
                ApiError::new(Code::StorageFailed, message).because(&error)
            }
        }
    }
}
