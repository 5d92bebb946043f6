//! Limits on the inputs of single scorers, models and adapters that are in hand at a time, so that a
//! slow or popular one cannot take all the capacity of the server.
//!
//! A request enters the queue of the name that it is for. A scorer that calls a model enters its own
//! queue and not the model's.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use rubrics::Priority;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::error::ApiError;

/// The queue of a scorer, model or adapter, as a `[[queue]]` table configures it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueSpec {
    /// The scorer, model or adapter.
    pub scorer: String,
    /// Greatest number in hand of responses to judge, sequences to read or generate, and questions.
    pub size: usize,
    /// Longest time to wait for room.
    pub timeout: Duration,
    /// What is done with a request that does not fit.
    pub policy: QueuePolicy,
}

/// What is done with a request that does not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueuePolicy {
    /// Refuse it at once.
    Reject,
    /// Let it wait; refuse it after the timeout of the queue.
    Wait,
    /// Let it wait, but refuse it at once if its priority is `batch`.
    Shed,
}

impl QueuePolicy {
    /// The policies by name.
    pub(crate) const NAMES: &[(&str, QueuePolicy)] = &[
        ("reject", QueuePolicy::Reject),
        ("wait", QueuePolicy::Wait),
        ("shed", QueuePolicy::Shed),
    ];
}

/// The queues of all names that have one.
#[derive(Debug)]
pub struct ScorerQueues(HashMap<String, ScorerQueue>);

#[derive(Debug)]
struct ScorerQueue {
    spec: QueueSpec,
    room: Arc<Semaphore>,
}

/// A share of a queue, returned when dropped; empty for a name without a queue.
#[derive(Debug)]
pub struct QueueShare(#[expect(dead_code, reason = "it is held")] Option<OwnedSemaphorePermit>);

/// There was no room in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueFull {
    /// Estimated time until it fits.
    pub retry_after: Duration,
}

impl From<QueueFull> for ApiError {
    fn from(full: QueueFull) -> ApiError {
        ApiError::overloaded(full.retry_after)
    }
}

impl ScorerQueues {
    /// Empty queues.
    pub fn new(specs: &[QueueSpec]) -> ScorerQueues {
        let queue = |spec: &QueueSpec| {
            let room = Arc::new(Semaphore::new(spec.size));
            (spec.scorer.clone(), ScorerQueue { spec: spec.clone(), room })
        };
        ScorerQueues(specs.iter().map(queue).collect())
    }

    /// Takes room for `items` in the queue of a name. A request that is larger than the queue takes
    /// all of it.
    ///
    /// # Errors
    /// [`QueueFull`] where the queue's policy refuses the request, or where there is no room within
    /// the queue's timeout and `patience`.
    pub async fn enter(
        &self,
        name: &str,
        items: usize,
        priority: Priority,
        patience: Duration,
    ) -> Result<QueueShare, QueueFull> {
        let Some(ScorerQueue { spec, room }) = self.0.get(name) else {
            return Ok(QueueShare(None));
        };
        let count = u32::try_from(items.min(spec.size)).unwrap_or(u32::MAX);
        if let Ok(share) = Arc::clone(room).try_acquire_many_owned(count) {
            return Ok(QueueShare(Some(share)));
        }
        let full = QueueFull { retry_after: spec.timeout };
        let waits = match spec.policy {
            QueuePolicy::Reject => false,
            QueuePolicy::Wait => true,
            QueuePolicy::Shed => priority == Priority::Interactive,
        };
        if !waits {
            return Err(full);
        }
        let room = Arc::clone(room).acquire_many_owned(count);
        match tokio::time::timeout(spec.timeout.min(patience), room).await {
            Ok(Ok(share)) => Ok(QueueShare(Some(share))),
            // The semaphore is never closed, so this is the timeout.
            Ok(Err(_)) | Err(_) => Err(full),
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    fn queues(policy: QueuePolicy, timeout: Duration) -> ScorerQueues {
        let scorer = "math".to_owned();
        ScorerQueues::new(&[QueueSpec { scorer, size: 4, timeout, policy }])
    }

    const LONG: Duration = Duration::from_mins(10);

    #[actix_web::test]
    async fn full_queue_does_what_its_policy_says() {
        use Priority::{Batch, Interactive};
        for (policy, priority, waits) in [
            (QueuePolicy::Reject, Interactive, false),
            (QueuePolicy::Wait, Interactive, true),
            (QueuePolicy::Wait, Batch, true),
            (QueuePolicy::Shed, Interactive, true),
            (QueuePolicy::Shed, Batch, false),
        ] {
            let queues = queues(policy, LONG);
            let first = queues.enter("math", 3, Interactive, LONG).await.expect("room");
            assert!(queues.enter("exact", 100, priority, LONG).await.is_ok(), "it has no queue");
            let second = queues.enter("math", 2, priority, LONG);
            futures_util::pin_mut!(second);
            if let Some(ended) = second.as_mut().now_or_never() {
                assert!(ended.is_err() && !waits, "{policy:?} {priority:?}");
            } else {
                assert!(waits, "{policy:?} {priority:?}");
                drop(first);
                assert!(second.await.is_ok(), "room came back");
            }
        }
    }

    #[actix_web::test]
    async fn waiting_ends_with_the_timeout() {
        let queues = queues(QueuePolicy::Wait, Duration::from_millis(10));
        let all = queues.enter("math", 100, Priority::Interactive, LONG).await;
        let _all = all.expect("a request larger than the queue takes all of it");
        let late = queues.enter("math", 1, Priority::Interactive, LONG).await;
        assert_eq!(late.err(), Some(QueueFull { retry_after: Duration::from_millis(10) }));
    }
}
