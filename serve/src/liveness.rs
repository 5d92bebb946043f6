//! Progress of the parts that do the work: verifier threads, engines and event loops.
//!
//! A part that has work and makes no progress for `server.stall_timeout` has stalled, and `/livez`
//! names it. A supervisor restarts such a process; a busy one that goes on is left alone.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How often progress is noted, and how often an event loop shows that it runs.
pub(crate) const PERIOD: Duration = Duration::from_millis(500);

/// The progress of each part, as it was last seen.
#[derive(Debug)]
pub struct Liveness {
    limit: Duration,
    /// A lock, because one task writes and `/livez` reads, both seldom.
    parts: Mutex<HashMap<String, Progress>>,
}

#[derive(Debug, Clone, Copy)]
struct Progress {
    /// A count that grows with the work.
    count: u64,
    /// When it last grew, or when there was last nothing to do.
    at: Instant,
}

impl Liveness {
    /// Parts may stall for `limit`.
    pub fn new(limit: Duration) -> Liveness {
        Liveness { limit, parts: Mutex::default() }
    }

    /// Notes the progress of a part at a time, and whether it has work.
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

    /// The parts that have stalled, by name. Where progress is noted no more, all have.
    pub fn stalled(&self, now: Instant) -> Vec<String> {
        let parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        let late = |progress: &Progress| now.saturating_duration_since(progress.at) > self.limit;
        let late = parts.iter().filter(|(_, progress)| late(progress));
        let mut names: Vec<String> = late.map(|(name, _)| name.clone()).collect();
        names.sort();
        names
    }
}

/// Raises a counter for as long as the event loop runs that it is called on.
pub(crate) async fn beat(counter: Arc<AtomicU64>) {
    loop {
        counter.fetch_add(1, Ordering::Relaxed);
        tokio::time::sleep(PERIOD).await;
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
        // Nothing is noted any more: the loop that notes has stalled itself.
        assert_eq!(liveness.stalled(after(31)), ["busy", "hangs", "idle"]);
    }
}
