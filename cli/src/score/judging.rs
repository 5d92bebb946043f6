//! Who judges: scorers of this process, or a server.

use openapi::{ScoreInput, ScoreResult};

use super::journal::Judge;
use crate::error::CliError;

/// One result for each scorer, or why the row cannot be judged at all.
pub(crate) type Judged = Result<Vec<ScoreResult>, String>;

/// Judges batches of inputs with a fixed list of scorers.
pub(crate) trait Judging: Sync {
    /// The scorers in order.
    fn judges(&self) -> Vec<Judge>;

    /// Whether models of this process are asked, so that order and repetition cost.
    fn asks_models(&self) -> bool;

    /// One entry for each input, in order. May be called from several threads at once.
    ///
    /// # Errors
    /// When the run cannot go on.
    fn judge(&self, inputs: Vec<ScoreInput>) -> Result<Vec<Judged>, CliError>;
}
