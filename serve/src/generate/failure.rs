//! What an engine refuses or fails at, as the errors that clients read.

use engine::{RequestError, SubmitError};

use super::Generating;
use crate::error::{ApiError, Code};

/// An error of a submission. `param` is the part of the request that the sequences come from.
pub(crate) fn not_taken(error: &SubmitError, generating: &Generating, param: &str) -> ApiError {
    match error {
        SubmitError::Overloaded { queued, .. } => {
            ApiError::overloaded(generating.pace.retry_after(*queued))
        }
        SubmitError::TooLong { .. } => {
            ApiError::new(Code::ContextLength, format!("{param}: {error}")).at(param)
        }
        SubmitError::Invalid { .. } => {
            ApiError::new(Code::InvalidBody, format!("{param}: {error}")).at(param)
        }
        // It was found a moment ago: somebody took it out of service since.
        SubmitError::UnknownAdapter { .. } => {
            ApiError::new(Code::ScorerNotFound, error.to_string()).at("model")
        }
        SubmitError::ShuttingDown => ApiError::new(Code::Draining, error.to_string()),
    }
}

/// An error of admitted work.
pub(crate) fn failed(failure: &RequestError) -> ApiError {
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
