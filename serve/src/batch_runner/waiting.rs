//! Waits for the disk and for the end of the server.

use actix_web::web;
use tokio::sync::watch;

use crate::batches::StorageError;

/// Waits for the signal to stop.
pub(super) async fn stopped(stop: &mut watch::Receiver<bool>) {
    // The sender lives as long as the process.
    let _ = stop.wait_for(|stop| *stop).await;
}

/// Runs disk work on a blocking thread.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StorageError> + Send + 'static,
) -> Result<T, StorageError> {
    let done = web::block(work).await;
    done.map_err(|error| StorageError::Database(error.to_string()))?
}
