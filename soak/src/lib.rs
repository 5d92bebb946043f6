//! A soak of the server program: every documented route, hostile clients, adapters and keys that
//! come and go, SIGTERM and SIGKILL on the way, and a judgement at the end.
//!
//! The crate knows the server through its program, its network interface, `/metrics` and `/proc`
//! alone. The load runs on threads of this process with plain blocking sockets; the main thread
//! starts and ends the server, samples it each second, and judges.

mod adapters;
mod args;
mod batches;
mod hostile;
mod judge;
mod mixed;
mod report;
mod routes;
mod run;
mod sample;
mod server;
mod setup;
mod world;

pub use args::SoakOptions;
pub use judge::{SoakCheck, Standing};
pub use report::SoakReport;
pub use run::run;
pub use sample::SoakSample;

/// Why a soak could not be run to its end.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct SoakError(pub(crate) String);

impl SoakError {
    /// What was being done, and what went wrong.
    pub(crate) fn at(doing: impl std::fmt::Display, error: impl std::fmt::Display) -> Self {
        Self(format!("{doing}: {error}"))
    }
}
