//! Scorers that rows are given to: in this process ([`LocalBackend`]) or on a server
//! ([`RemoteBackend`]).

pub mod http_retry;
mod local;
mod remote;

use openapi::{ScoreInput, ScoreResult};

pub use self::local::{LocalBackend, block_on};
pub use self::remote::{RemoteBackend, RemoteOptions};
use crate::error::RunError;
use crate::header::ScorerIdentity;

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
