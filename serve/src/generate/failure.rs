//! What an engine refuses or fails at, as the errors that clients read.

use engine::{Failure, SubmitError};

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
pub(crate) fn failed(failure: &Failure) -> ApiError {
    match failure {
        Failure::Deadline => {
            ApiError::new(Code::DeadlinePassed, "the deadline passed before the text was done")
        }
        Failure::Constraint(_) => ApiError::new(Code::InvalidBody, failure.to_string()),
        Failure::AdapterGone(_) => {
            ApiError::new(Code::ScorerNotFound, failure.to_string()).at("model")
        }
        Failure::ShuttingDown => ApiError::new(Code::Draining, failure.to_string()),
        Failure::Model(_) | Failure::NotFinite { .. } => ApiError::internal(failure),
    }
}
