//! The end of a submission from outside.

use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::{Mutex, PoisonError};

use crate::worker::{SandboxError, Worker};

/// Cancels a submission from another thread.
#[derive(Debug, Default)]
pub(crate) struct Cancel {
    state: Mutex<CancelState>,
}

#[derive(Debug, Default)]
struct CancelState {
    is_cancelled: bool,
    /// Of the worker that runs the submission.
    socket: Option<UnixStream>,
}

impl Cancel {
    /// Ends the submission and its processes.
    pub(crate) fn cancel(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.is_cancelled = true;
        if let Some(socket) = state.socket.take() {
            // The worker ends, and with it what its thread waits for. It fails only for one that is gone.
            let _ = socket.shutdown(Shutdown::Write);
        }
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).is_cancelled
    }

    /// Attaches the worker that runs the submission now.
    pub(crate) fn attach(&self, worker: &Worker) -> Result<(), SandboxError> {
        let socket =
            worker.socket().map_err(|error| SandboxError::WorkerLost(error.to_string()))?;
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.is_cancelled {
            return Err(SandboxError::Cancelled);
        }
        state.socket = Some(socket);
        Ok(())
    }

    /// Detaches it, so that cancelling late does not end another submission.
    pub(crate) fn detach(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).socket = None;
    }
}
