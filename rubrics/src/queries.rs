//! Runs queries for callers on async tasks, on threads of their own: a query may take seconds,
//! which would hold a verifier thread.

use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};

use tokio::sync::{Semaphore, oneshot};
use verifiers::Reason;
use verifiers::sql::{SqlCaller, SqlError};

use crate::engine_client::EngineClient;
use crate::outcome::{Evidence, Failure, FailureKind};
use crate::pool::{VerifierPool, catch_panic};

/// Queries that wait for a thread; the others wait as futures.
const QUEUE: usize = 1024;
/// Bytes of a thread's stack: `SQLite`'s parser recurses.
const STACK_BYTES: usize = 8 << 20;

/// The threads that run queries.
pub(crate) struct Queries {
    slots: usize,
    /// Started by the first query.
    threads: OnceLock<VerifierPool>,
    queue: Semaphore,
}

/// Ends a query whose caller has left.
struct CancelQuery(Arc<SqlCaller>);

impl Drop for CancelQuery {
    fn drop(&mut self) {
        self.0.left.store(true, Ordering::Relaxed);
    }
}

impl Queries {
    /// As many threads as `slots`, by default one for each processor.
    pub(crate) fn new(slots: Option<usize>) -> Self {
        let processors = || std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            slots: slots.unwrap_or_else(processors),
            threads: OnceLock::new(),
            queue: Semaphore::new(QUEUE),
        }
    }

    /// Runs `work` on a thread. Dropping the future ends its query.
    ///
    /// # Errors
    /// A full queue, or the caller's deadline.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        client: &EngineClient<'_>,
        work: impl FnOnce(&Arc<SqlCaller>) -> T + Send + 'static,
    ) -> Result<T, Failure> {
        let permit = self.queue.acquire().await;
        let _queued = permit.expect("the semaphore is never closed");
        client.bounds().check()?;
        let options = client.options();
        let caller = SqlCaller { deadline: options.deadline, ..SqlCaller::default() };
        let waiting = CancelQuery(Arc::new(caller));
        let (reply, answer) = oneshot::channel();
        let caller = Arc::clone(&waiting.0);
        let job = move || {
            // A dropped receiver is a cancelled call.
            let _ = reply.send(catch_panic(|| work(&caller)));
        };
        let submitted = self.threads()?.submit(options.priority, Box::new(job));
        submitted.map_err(|_| Failure::queue_full())?;
        answer.await.map_err(|_| Failure::internal())?
    }

    fn threads(&self) -> Result<&VerifierPool, Failure> {
        if let Some(threads) = self.threads.get() {
            return Ok(threads);
        }
        let started =
            VerifierPool::with_stack(self.slots, QUEUE, STACK_BYTES).map_err(|error| {
                tracing::error!(%error, "no thread for queries");
                Failure::internal()
            })?;
        Ok(self.threads.get_or_init(|| started))
    }
}

/// The failure that an error of a query is.
pub(crate) fn failure(error: SqlError) -> Failure {
    match error {
        SqlError::Reference(error) => Failure::from_error(error, Evidence::default()),
        SqlError::Cancelled => Failure::deadline_passed(),
        SqlError::Overloaded => {
            let detail = "the query needs the memory of all others for longer than they may wait";
            Failure::new(FailureKind::Overloaded, Reason::with("memory_busy", detail))
        }
    }
}
