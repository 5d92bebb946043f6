//! Time per token of an engine, learned from finished requests.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A moving average of the time that each queued token adds to the wait of the next one. By
/// Little's law it is the time of a request divided by the tokens queued when it arrived, whatever
/// limits the throughput.
///
/// One atomic and not a lock: it guards nothing but itself, and a lost update costs one sample.
#[derive(Debug)]
pub struct Pace {
    token_nanos: AtomicU64,
}

impl Default for Pace {
    fn default() -> Pace {
        // A thousand tokens per second as the initial estimate.
        Pace { token_nanos: AtomicU64::new(1_000_000) }
    }
}

impl Pace {
    /// Updates the average with a request that took `time` and arrived when `tokens_in_hand` tokens
    /// were queued, its own included.
    pub(crate) fn learn(&self, tokens_in_hand: usize, time: Duration) {
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let each = nanos / tokens_in_hand.max(1) as u64;
        let old = self.token_nanos.load(Ordering::Relaxed);
        let new = old - old / 16 + each / 16;
        self.token_nanos.store(new, Ordering::Relaxed);
    }

    /// Returns the time after which a client should retry when `tokens_in_hand` tokens are queued,
    /// between a second and a minute.
    pub(crate) fn retry_after(&self, tokens_in_hand: usize) -> Duration {
        let nanos = self.token_nanos.load(Ordering::Relaxed).max(1);
        let each = Duration::from_nanos(nanos);
        engine::error::retry_after(tokens_in_hand, each.as_secs_f64().recip())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_follow_the_average_and_stay_within_a_minute() {
        let pace = Pace::default();
        assert_eq!(pace.retry_after(10_000).as_secs(), 10);
        for _ in 0..200 {
            pace.learn(100, Duration::from_secs(1));
        }
        let after = pace.retry_after(1_000).as_secs_f64();
        assert!((9.0..11.0).contains(&after), "{after}");
        assert_eq!(pace.retry_after(usize::MAX).as_secs(), 60);
        assert_eq!(pace.retry_after(0).as_secs(), 1);
        pace.learn(0, Duration::MAX);
    }
}
