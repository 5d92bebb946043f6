//! Counts of a sandbox, for metrics.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::report::Ending;
use crate::worker::SandboxError;

/// What a sandbox does now and has done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxStatus {
    /// Submissions in slots.
    pub running: u64,
    /// Submissions before the slots.
    pub waiting: u64,
    /// Submissions that came into a slot.
    pub started: u64,
    /// Workers that were started.
    pub workers: u64,
    /// Workers that died, cancelled submissions aside.
    pub worker_deaths: u64,
    /// Time by the clock of all tests, from the first fork to the last exit.
    pub run_time: Duration,
    /// Tests by their ending.
    pub endings: Vec<(&'static str, u64)>,
    /// Submissions and tests without a result, by what failed.
    pub failures: Vec<(&'static str, u64)>,
}

/// The names of endings, and of a submission that has none.
const ENDINGS: [&str; 8] =
    ["finished", "failed", "cpu_time", "wall_time", "memory", "output", "security", "not_compiled"];
/// The names of [`SandboxError::name`].
const FAILURES: [&str; 9] = [
    "python_not_started",
    "missing_tool",
    "unusable_tool",
    "below_floor",
    "worker_lost",
    "guest_killed",
    "starved",
    "queue_full",
    "cancelled",
];

/// The ending of a submission that does not compile.
pub(crate) const NOT_COMPILED: &str = "not_compiled";

impl SandboxError {
    /// The name in counts.
    fn name(&self) -> &'static str {
        match self {
            Self::Python { .. } => "python_not_started",
            Self::MissingTool { .. } => "missing_tool",
            Self::UnusableTool(_) => "unusable_tool",
            Self::BelowFloor { .. } => "below_floor",
            Self::WorkerLost(_) => "worker_lost",
            Self::GuestKilled => "guest_killed",
            Self::Starved => "starved",
            Self::QueueFull => "queue_full",
            Self::Cancelled => "cancelled",
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct SandboxCounts {
    pub(crate) running: AtomicU64,
    pub(crate) waiting: AtomicU64,
    pub(crate) started: AtomicU64,
    pub(crate) workers: AtomicU64,
    pub(crate) worker_deaths: AtomicU64,
    run_micros: AtomicU64,
    endings: [AtomicU64; ENDINGS.len()],
    failures: [AtomicU64; FAILURES.len()],
}

pub(crate) fn add(count: &AtomicU64, amount: u64) {
    count.fetch_add(amount, Ordering::Relaxed);
}

impl SandboxCounts {
    /// Counts a test that has ended.
    pub(crate) fn ended(&self, ending: Ending, wall: Duration) {
        self.ended_as(ending.name());
        add(&self.run_micros, u64::try_from(wall.as_micros()).unwrap_or(u64::MAX));
    }

    /// Counts an ending by its name.
    pub(crate) fn ended_as(&self, name: &str) {
        raise(&ENDINGS, &self.endings, name);
    }

    /// Counts a failure.
    pub(crate) fn failed(&self, error: &SandboxError) {
        raise(&FAILURES, &self.failures, error.name());
    }

    pub(crate) fn status(&self) -> SandboxStatus {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let named = |names: &[&'static str], counts: &[AtomicU64]| {
            names.iter().copied().zip(counts.iter().map(read)).collect()
        };
        SandboxStatus {
            running: read(&self.running),
            waiting: read(&self.waiting),
            started: read(&self.started),
            workers: read(&self.workers),
            worker_deaths: read(&self.worker_deaths),
            run_time: Duration::from_micros(read(&self.run_micros)),
            endings: named(&ENDINGS, &self.endings),
            failures: named(&FAILURES, &self.failures),
        }
    }
}

fn raise(names: &[&str], counts: &[AtomicU64], name: &str) {
    let at = names.iter().position(|known| *known == name).expect("every name is listed");
    add(&counts[at], 1);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::LimitReached;

    #[test]
    fn every_ending_and_failure_has_its_count() {
        let counts = SandboxCounts::default();
        let endings = [
            Ending::Finished,
            Ending::Failed,
            Ending::Time(LimitReached::Cpu),
            Ending::Time(LimitReached::Wall),
            Ending::Memory,
            Ending::Output,
            Ending::Security,
        ];
        for ending in endings {
            counts.ended(ending, Duration::from_secs(1));
        }
        counts.ended_as(NOT_COMPILED);
        let text = String::new;
        for error in [
            SandboxError::Python { python: text(), why: text() },
            SandboxError::MissingTool { tool: "", install: "" },
            SandboxError::UnusableTool(text()),
            SandboxError::BelowFloor { rungs: text(), refused: text() },
            SandboxError::WorkerLost(text()),
            SandboxError::GuestKilled,
            SandboxError::Starved,
            SandboxError::QueueFull,
            SandboxError::Cancelled,
        ] {
            counts.failed(&error);
        }
        let status = counts.status();
        assert_eq!(status.run_time, Duration::from_secs(7));
        for (name, count) in status.endings.into_iter().chain(status.failures) {
            assert_eq!(count, 1, "{name}");
        }
    }
}
