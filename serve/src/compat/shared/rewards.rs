//! Rewards for interfaces whose replies are bare numbers.

use rubrics::{Failure, FailureKind, Outcome, Score};

use crate::cached_score::CachedOutcome;
use crate::convert;
use crate::error::{ApiError, Code};
use crate::state::State;

/// Returns the reward of each outcome, in order.
///
/// # Errors
/// The first outcome without a score. These interfaces have no status beside a number, and a failed
/// measurement is never a number: the request fails and names the sample.
pub(crate) fn rewards<'a>(
    state: &State,
    answers: &'a [CachedOutcome],
    path: impl Fn(usize) -> String,
) -> Result<Vec<&'a Score>, ApiError> {
    let answers = answers.iter().enumerate();
    let reward = |(at, answer): (usize, &'a CachedOutcome)| {
        let outcome: &'a Outcome = &answer.outcome;
        outcome.as_ref().map_err(|failure| unmeasured(state, &path(at), failure))
    };
    answers.map(reward).collect()
}

/// Converts a failed measurement to an error, whose status says whether to retry.
pub(crate) fn unmeasured(state: &State, path: &str, failure: &Failure) -> ApiError {
    let text = text(failure);
    match failure.kind {
        FailureKind::Overloaded => ApiError::overloaded(state.admission.expected_wait()),
        FailureKind::Timeout => ApiError::new(Code::DeadlinePassed, format!("{path}: {text}")),
        FailureKind::ToolError => ApiError::new(Code::ToolFailed, format!("{path}: {text}")),
        FailureKind::Internal => ApiError::internal(format!("{path}: {text}")),
        FailureKind::Abstain
        | FailureKind::Refused
        | FailureKind::BadReference
        | FailureKind::Truncated
        | FailureKind::ParseError => {
            ApiError::new(Code::Unmeasured, format!("{path}: {text}")).at(path)
        }
    }
}

/// Formats a failure: `bad_reference: reference_missing: …`
pub(crate) fn text(failure: &Failure) -> String {
    let status = convert::status_name(convert::status(failure.kind));
    let code = failure.reason.code;
    match &failure.reason.detail {
        Some(detail) => format!("{status}: {code}: {detail}"),
        None => format!("{status}: {code}"),
    }
}
