//! Waits for the end of the server.

use tokio::sync::watch;

/// Waits for the signal to stop.
pub(super) async fn stopped(stop: &mut watch::Receiver<bool>) {
    // The sender lives as long as the process.
    let _ = stop.wait_for(|stop| *stop).await;
}
