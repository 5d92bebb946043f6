//! The wall clock.

use std::time::{SystemTime, UNIX_EPOCH};

/// Returns the Unix time in seconds.
pub(crate) fn unix_seconds() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |elapsed| elapsed.as_secs())
}
