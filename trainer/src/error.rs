//! Errors of a run.

use chat::ChatError;
use models::ModelError;
use toytask::ToyTaskError;

use crate::losses::FormulaError;

/// Why a step, a file or a run failed. Every variant names the place.
#[derive(Debug, thiserror::Error)]
pub enum TrainError {
    /// The model reported an error.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// A tensor operation failed.
    #[error("a tensor operation failed: {0}")]
    Tensor(#[from] candle_core::Error),
    /// A file could not be read or written.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: String,
        /// The system's error.
        source: std::io::Error,
    },
    /// A loss or an advantage is undefined for its inputs.
    #[error(transparent)]
    Formula(#[from] FormulaError),
    /// Input that cannot be used: a run file, a row of data, a checkpoint. It names file and place.
    #[error("{0}")]
    Invalid(String),
    /// A number of a step is not finite; nothing was changed.
    #[error(
        "step {step}: {what} is not finite; the step was refused and the weights are as before"
    )]
    NotFinite {
        /// The step, from 1.
        step: u64,
        /// The number.
        what: String,
    },
    /// The engine refused or failed.
    #[error("the engine failed: {0}")]
    Engine(String),
    /// The server whose scorers the run uses refused a request or did not answer.
    #[error("the server of [remote]: {0}")]
    Remote(String),
    /// Something failed in a step; its weights are those of the last step that succeeded.
    #[error("step {step}: {source}")]
    AtStep {
        /// The step, from 1.
        step: u64,
        /// The failure.
        source: Box<TrainError>,
    },
    /// The run has no learning signal any more.
    #[error("{0}")]
    NoProgress(String),
}

impl From<ChatError> for TrainError {
    fn from(error: ChatError) -> TrainError {
        TrainError::Model(error.into())
    }
}

impl TrainError {
    /// Adds the step.
    pub(crate) fn at_step(self, step: u64) -> TrainError {
        match self {
            named @ (TrainError::NotFinite { .. }
            | TrainError::AtStep { .. }
            | TrainError::NoProgress(_)) => named,
            TrainError::Invalid(what) => TrainError::Invalid(format!("step {step}: {what}")),
            source @ (TrainError::Model(_)
            | TrainError::Tensor(_)
            | TrainError::File { .. }
            | TrainError::Formula(_)
            | TrainError::Engine(_)
            | TrainError::Remote(_)) => TrainError::AtStep { step, source: Box::new(source) },
        }
    }
}

impl From<ToyTaskError> for TrainError {
    fn from(error: ToyTaskError) -> TrainError {
        match error {
            ToyTaskError::Model(error) => TrainError::Model(error),
            ToyTaskError::Invalid(what) => TrainError::Invalid(what),
        }
    }
}

/// A result of this crate.
pub type Result<T, E = TrainError> = std::result::Result<T, E>;
