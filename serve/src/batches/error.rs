//! Errors of the batch store.

use std::io::{self, ErrorKind};
use std::time::Duration;

use crate::error::{ApiError, Code};

/// The system has as many open files as it may.
const ENFILE: i32 = 23;
/// The process has as many open files as it may.
const EMFILE: i32 = 24;

/// An error of the batch store.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StorageError {
    /// The disk or the quota is full.
    #[error("no room in batches.folder: {0}")]
    Full(io::Error),
    /// No descriptor is free for another file.
    #[error("batches.folder: {0}")]
    Descriptors(io::Error),
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
        if full.contains(&error.kind()) {
            Self::Full(error)
        } else if matches!(error.raw_os_error(), Some(ENFILE | EMFILE)) {
            Self::Descriptors(error)
        } else {
            Self::Disk(error)
        }
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
            StorageError::Descriptors(_) => {
                ApiError::overloaded(Duration::from_secs(1)).because(&error)
            }
            StorageError::Disk(_) | StorageError::Database(_) => {
                let message = "what was to be kept could not be; the server's log has the cause";
                ApiError::new(Code::StorageFailed, message).because(&error)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_descriptors_are_an_overload() {
        for number in [ENFILE, EMFILE] {
            let error = StorageError::from(io::Error::from_raw_os_error(number));
            assert_eq!(ApiError::from(error).code(), Code::Overloaded);
        }
        let error = StorageError::from(io::Error::from(ErrorKind::PermissionDenied));
        assert_eq!(ApiError::from(error).code(), Code::StorageFailed);
    }
}
