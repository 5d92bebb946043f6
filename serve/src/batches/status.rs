//! The states of a batch and the transitions between them.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use self::BatchStatus as Status;

/// The state of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum BatchStatus {
    /// The input file is being validated.
    Validating,
    /// The input file is invalid.
    Failed,
    /// Requests are being sent.
    InProgress,
    /// Output files are being written.
    Finalizing,
    /// All requests are answered.
    Completed,
    /// The batch expired before all requests were answered.
    Expired,
    /// Cancellation was requested.
    Cancelling,
    /// The batch was cancelled.
    Cancelled,
}

/// An event in the life of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event {
    /// The input file passed validation.
    Valid,
    /// The input file did not pass validation.
    Invalid,
    /// No more lines are sent: all are answered, or the batch has expired.
    Closed,
    /// The output files are written.
    Published {
        /// Whether lines were left unanswered.
        unfinished: bool,
    },
    /// The client cancels the batch.
    Cancel,
}

/// Returns the state after an event; `None` if the event does not apply to the state.
pub(crate) fn after(status: Status, event: Event) -> Option<Status> {
    match (status, event) {
        (Status::Validating, Event::Valid) => Some(Status::InProgress),
        (Status::Validating, Event::Invalid) => Some(Status::Failed),
        (Status::InProgress, Event::Closed) => Some(Status::Finalizing),
        (Status::Finalizing, Event::Published { unfinished: false }) => Some(Status::Completed),
        (Status::Finalizing, Event::Published { unfinished: true }) => Some(Status::Expired),
        (Status::Cancelling, Event::Published { .. }) => Some(Status::Cancelled),
        (Status::Validating | Status::InProgress | Status::Cancelling, Event::Cancel) => {
            Some(Status::Cancelling)
        }
        (
            Status::Validating
            | Status::InProgress
            | Status::Finalizing
            | Status::Cancelling
            | Status::Failed
            | Status::Completed
            | Status::Expired
            | Status::Cancelled,
            Event::Valid | Event::Invalid | Event::Closed | Event::Published { .. } | Event::Cancel,
        ) => None,
    }
}

/// Returns whether a state is final.
pub(crate) fn is_over(status: Status) -> bool {
    match status {
        Status::Failed | Status::Completed | Status::Expired | Status::Cancelled => true,
        Status::Validating | Status::InProgress | Status::Finalizing | Status::Cancelling => false,
    }
}

/// Returns the wire name of a state.
pub(crate) fn name(status: Status) -> &'static str {
    match status {
        Status::Validating => "validating",
        Status::Failed => "failed",
        Status::InProgress => "in_progress",
        Status::Finalizing => "finalizing",
        Status::Completed => "completed",
        Status::Expired => "expired",
        Status::Cancelling => "cancelling",
        Status::Cancelled => "cancelled",
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const STATES: [Status; 8] = [
        Status::Validating,
        Status::Failed,
        Status::InProgress,
        Status::Finalizing,
        Status::Completed,
        Status::Expired,
        Status::Cancelling,
        Status::Cancelled,
    ];
    const EVENTS: [Event; 6] = [
        Event::Valid,
        Event::Invalid,
        Event::Closed,
        Event::Published { unfinished: false },
        Event::Published { unfinished: true },
        Event::Cancel,
    ];

    #[test]
    fn final_states_have_no_transitions() {
        for status in STATES {
            let moves = EVENTS.iter().any(|event| after(status, *event).is_some());
            assert_eq!(moves, !is_over(status), "{}", name(status));
        }
    }

    #[test]
    fn cancel_applies_to_unfinished_states_only() {
        let cancelled = STATES.map(|status| after(status, Event::Cancel).map(name));
        let yes = Some("cancelling");
        let expected = [yes, None, yes, None, None, None, yes, None];
        assert_eq!(cancelled, expected);
    }

    proptest! {
        /// In every order of events, a cancelled batch ends as cancelled, and a published one is
        /// final.
        #[test]
        fn every_order_of_events_is_consistent(events in prop::collection::vec(0..EVENTS.len(), 0..12)) {
            let (mut status, mut cancelled) = (Status::Validating, false);
            for event in events.into_iter().map(|at| EVENTS[at]) {
                let Some(next) = after(status, event) else { continue };
                cancelled |= event == Event::Cancel;
                status = next;
                if matches!(event, Event::Published { .. }) {
                    prop_assert!(is_over(status));
                }
            }
            let ended_otherwise = is_over(status) && status != Status::Cancelled;
            prop_assert!(!(cancelled && ended_otherwise));
        }
    }
}
