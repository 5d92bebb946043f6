//! Scorers that rows are given to: in this process ([`LocalBackend`]) or on a server
//! ([`RemoteBackend`]).

pub mod http_retry;
mod local;
mod remote;
pub mod wire;

use std::path::Path;

use engine::DeviceName;
use openapi::{ScoreInput, ScoreResult};

pub use self::local::{LocalBackend, block_on};
pub use self::remote::{RemoteBackend, RemoteOptions};
use crate::error::RunError;
use crate::header::ScorerIdentity;

/// Scorers of a run and where they run.
#[derive(Debug, Clone, Copy)]
pub struct BackendOptions<'o> {
    /// Names of the scorers.
    pub scorers: &'o [String],
    /// Configuration file with more scorers.
    pub config: Option<&'o Path>,
    /// Where models compute; as configured if not set.
    pub device: Option<DeviceName>,
    /// Verifier threads; the number of cores if not set.
    pub threads: Option<usize>,
    /// Whether verdicts have `reason.detail`.
    pub explain: bool,
    /// The server that scores, if its URL is set.
    pub remote: &'o RemoteOptions,
}

impl BackendOptions<'_> {
    /// Connects to the server, or loads the scorers into this process.
    ///
    /// # Errors
    /// An unknown scorer, a wrong configuration file, a model that cannot be loaded, a server that does not
    /// answer.
    pub fn open(self) -> Result<Box<dyn Backend>, RunError> {
        if let Some(url) = &self.remote.url {
            let remote = RemoteBackend::connect(self.remote, url, self.scorers, self.explain)?;
            return Ok(Box::new(remote));
        }
        let threads = self.threads.unwrap_or_else(cores);
        let source = (self.config, self.device);
        Ok(Box::new(LocalBackend::new(self.scorers, source, threads, self.explain)?))
    }
}

/// Number of cores that this process may use; 1 if it is unknown.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// One result for each scorer, or the reason why the row cannot be scored at all.
pub type RowResults = Result<Vec<ScoreResult>, String>;

/// Scores batches of inputs with a fixed list of scorers.
pub trait Backend: Sync {
    /// The scorers in order.
    fn scorers(&self) -> Vec<ScorerIdentity>;

    /// Whether scorers run models of this process, so that the order of inputs matters and repeated
    /// inputs cost.
    fn uses_models(&self) -> bool;

    /// Scores inputs: one entry for each, in order. May be called from several threads at once.
    ///
    /// # Errors
    /// When the run cannot go on.
    fn score(&self, inputs: Vec<ScoreInput>) -> Result<Vec<RowResults>, RunError>;
}
