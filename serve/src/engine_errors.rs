//! Converts errors of an engine to errors of the API.

use engine::{RequestError, SubmitError};

use crate::error::{ApiError, Code};
use crate::pace::Pace;

/// Converts an error of a submission; `param` is the JSON path of the sequences.
pub(crate) fn submit_error(error: &SubmitError, pace: &Pace, param: &str) -> ApiError {
    match error {
        SubmitError::Overloaded { queued, .. } => ApiError::overloaded(pace.retry_after(*queued)),
        SubmitError::TooLong { .. } => {
            ApiError::new(Code::ContextLength, format!("{param}: {error}")).at(param)
        }
        SubmitError::Invalid { .. } => {
            ApiError::new(Code::InvalidBody, format!("{param}: {error}")).at(param)
        }
        // The adapter was unloaded after the name was resolved.
        SubmitError::UnknownAdapter { .. } => {
            ApiError::new(Code::ScorerNotFound, error.to_string()).at("model")
        }
        SubmitError::ShuttingDown => ApiError::new(Code::Draining, error.to_string()),
    }
}

/// Converts an error of admitted work.
pub(crate) fn engine_failure(failure: &RequestError) -> ApiError {
    match failure {
        RequestError::Deadline => {
            ApiError::new(Code::DeadlinePassed, "the deadline passed before the text was done")
        }
        RequestError::Constraint(_) => ApiError::new(Code::InvalidBody, failure.to_string()),
        RequestError::AdapterGone(_) => {
            ApiError::new(Code::ScorerNotFound, failure.to_string()).at("model")
        }
        RequestError::ShuttingDown => ApiError::new(Code::Draining, failure.to_string()),
        RequestError::Model(_) | RequestError::NotFinite { .. } => ApiError::internal(failure),
    }
}
