//! Bounds of the work of one call of [`crate::score`]: its deadline, its fuel, and whether its
//! caller still waits.
//!
//! Each verdict has its own fuel budget, and only that budget affects its score. The fuel of the
//! call only limits how many verdicts are started, so that no score depends on the other inputs.

use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::Poll;
use std::time::{Duration, Instant};

use crate::ScoreOptions;
use crate::outcome::Failure;

/// Bounds that all jobs of a call share.
#[derive(Debug)]
pub(crate) struct WorkBounds {
    deadline: Option<Instant>,
    /// Units of fuel that the verdicts of the call may still spend.
    fuel: AtomicU64,
    cancelled: AtomicBool,
}

impl WorkBounds {
    /// The bounds that `options` set.
    pub(crate) fn new(options: &ScoreOptions) -> Self {
        Self {
            deadline: options.deadline,
            fuel: AtomicU64::new(options.fuel.unwrap_or(u64::MAX)),
            cancelled: AtomicBool::new(false),
        }
    }

    /// Fails if no further verdict may begin.
    ///
    /// # Errors
    /// The deadline has passed, the fuel is spent, or the caller has left.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        if self.is_cancelled() || self.deadline.is_some_and(|end| end <= Instant::now()) {
            return Err(Failure::deadline_passed());
        }
        if self.fuel.load(Ordering::Relaxed) == 0 {
            return Err(Failure::request_fuel_spent());
        }
        Ok(())
    }

    /// Counts the fuel of a verdict.
    pub(crate) fn spend(&self, units: u64) {
        let rest = |fuel: u64| Some(fuel.saturating_sub(units));
        // The update always succeeds: `rest` has a value for every count.
        let _ = self.fuel.fetch_update(Ordering::Relaxed, Ordering::Relaxed, rest);
    }

    /// Ends the work: the caller no longer waits for it.
    pub(crate) fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Whether the caller has left.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }
}

/// The time slice of a job on a worker thread.
#[derive(Debug)]
pub(crate) struct TimeSlice {
    created: Instant,
    /// End of the slice in microseconds after `created`.
    end: AtomicU64,
}

/// Time after which a job lets others run: about that of one costly verdict.
const SLICE: Duration = Duration::from_millis(20);

impl TimeSlice {
    /// A slice without end, for work that is not interrupted, of a job created at `now`.
    pub(crate) fn endless(now: Instant) -> Self {
        Self { created: now, end: AtomicU64::new(u64::MAX) }
    }

    /// Begins a slice.
    pub(crate) fn begin(&self) {
        let end = self.created.elapsed() + SLICE;
        self.end.store(u64::try_from(end.as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// Waits for the next slice if this one is over at `now`. The future is polled again without being
    /// woken: the pool does so when the job's turn comes.
    pub(crate) async fn give_way(&self, now: Instant) {
        let mut has_waited = false;
        poll_fn(|_| {
            if has_waited || !self.is_over(now) {
                return Poll::Ready(());
            }
            has_waited = true;
            Poll::Pending
        })
        .await;
    }

    fn is_over(&self, now: Instant) -> bool {
        let end = self.end.load(Ordering::Relaxed);
        end != u64::MAX && (now - self.created).as_micros() >= u128::from(end)
    }
}
