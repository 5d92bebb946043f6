//! Progress of verifier threads, engines and event loops, which are called parts here.
//!
//! A part that has work and makes no progress for `server.stall_timeout` has stalled, and `/livez`
//! names it, so that a supervisor restarts the process. A busy part that makes progress has not stalled.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How often progress is recorded.
pub(crate) const PERIOD: Duration = connections::BEAT;

/// The progress of each part at the last record.
#[derive(Debug)]
pub struct Liveness {
    limit: Duration,
    /// A plain lock: one task writes and `/livez` reads, both seldom.
    parts: Mutex<HashMap<String, Progress>>,
}

#[derive(Debug, Clone, Copy)]
struct Progress {
    /// A counter that rises with the work.
    count: u64,
    /// When it last rose, or when the part was last idle.
    at: Instant,
}

impl Liveness {
    /// A part has stalled after `limit` without progress.
    pub fn new(limit: Duration) -> Liveness {
        Liveness { limit, parts: Mutex::default() }
    }

    /// Records the counter of a part at the time `now`, and whether the part has work.
    pub fn note(&self, part: &str, count: u64, has_work: bool, now: Instant) {
        let mut parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        match parts.get_mut(part) {
            Some(known) if known.count == count && has_work => {}
            Some(known) => *known = Progress { count, at: now },
            None => {
                parts.insert(part.to_owned(), Progress { count, at: now });
            }
        }
    }

    /// The names of the parts that have stalled; all of them if nothing has been recorded for the limit.
    pub fn stalled(&self, now: Instant) -> Vec<String> {
        let parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        let late = |progress: &Progress| now.saturating_duration_since(progress.at) > self.limit;
        let late = parts.iter().filter(|(_, progress)| late(progress));
        let mut names: Vec<String> = late.map(|(name, _)| name.clone()).collect();
        names.sort();
        names
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn part_stalls_that_has_work_and_makes_no_progress() {
        let liveness = Liveness::new(Duration::from_secs(10));
        let start = Instant::now();
        let after = |seconds| start + Duration::from_secs(seconds);
        for second in 0..=20 {
            liveness.note("idle", 1, false, after(second));
            liveness.note("busy", second, true, after(second));
            liveness.note("hangs", 7, true, after(second));
        }
        assert_eq!(liveness.stalled(after(10)), [""; 0]);
        assert_eq!(liveness.stalled(after(20)), ["hangs"]);
        liveness.note("hangs", 8, true, after(20));
        assert_eq!(liveness.stalled(after(20)), [""; 0]);
        // Nothing is recorded: the recording loop itself has stalled.
        assert_eq!(liveness.stalled(after(31)), ["busy", "hangs", "idle"]);
    }
}
