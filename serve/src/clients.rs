//! Rate limits per client: a token bucket for each, so that one that sends without pause leaves
//! capacity to the others. Off unless `limits.client_requests` is set.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use actix_web::HttpRequest;
use actix_web::http::header::AUTHORIZATION;

use crate::keys::Keys;

/// Most buckets; beyond it, full ones are dropped.
const MOST_CLIENTS: usize = 1 << 16;

/// The token buckets of all clients.
#[derive(Debug)]
pub struct Clients {
    /// Requests per second and client, and the size of each bucket; 0 for no limit.
    rate: u32,
    hasher: RandomState,
    buckets: Mutex<HashMap<u64, Bucket>>,
}

#[derive(Debug, Clone, Copy)]
struct Bucket {
    left: f64,
    at: Instant,
}

impl Bucket {
    fn at(self, now: Instant, rate: f64) -> Bucket {
        let elapsed = now.saturating_duration_since(self.at);
        Bucket { left: (self.left + elapsed.as_secs_f64() * rate).min(rate), at: now }
    }
}

impl Clients {
    /// Creates rate limits of `rate` requests per second and client.
    pub fn new(rate: u32) -> Clients {
        Clients { rate, hasher: RandomState::new(), buckets: Mutex::default() }
    }

    /// Takes a request out of the client's bucket.
    ///
    /// # Errors
    /// The time until the bucket has one again.
    pub fn take(&self, client: u64, now: Instant) -> Result<(), Duration> {
        if self.rate == 0 {
            return Ok(());
        }
        let rate = f64::from(self.rate);
        let full = Bucket { left: rate, at: now };
        // The buckets are valid even after a panic elsewhere.
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() >= MOST_CLIENTS && !buckets.contains_key(&client) {
            buckets.retain(|_, bucket| bucket.at(now, rate).left < rate);
            if buckets.len() >= MOST_CLIENTS {
                buckets.clear();
            }
        }
        let bucket = buckets.entry(client).or_insert(full);
        *bucket = bucket.at(now, rate);
        if bucket.left >= 1.0 {
            bucket.left -= 1.0;
            return Ok(());
        }
        Err(Duration::from_secs_f64((1.0 - bucket.left) / rate))
    }

    /// Returns the allowed requests per second.
    pub fn rate(&self) -> u32 {
        self.rate
    }

    /// Identifies the sender of a request: by its key, which the guard has checked, or without keys
    /// by its address.
    pub(crate) fn of(&self, request: &HttpRequest, keys: &Keys) -> u64 {
        if keys.is_open() {
            let address = request.peer_addr().map(|address| address.ip());
            return self.hasher.hash_one(address);
        }
        let header = request.headers().get(AUTHORIZATION);
        // The scheme before the key may be written in several ways.
        let key = header.and_then(|value| value.as_bytes().rsplit(|byte| *byte == b' ').next());
        self.hasher.hash_one(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bucket_empties_and_refills() {
        let clients = Clients::new(4);
        let start = Instant::now();
        let after = |millis| start + Duration::from_millis(millis);
        for _ in 0..4 {
            assert_eq!(clients.take(1, start), Ok(()));
        }
        assert_eq!(clients.take(1, start), Err(Duration::from_millis(250)));
        assert_eq!(clients.take(2, start), Ok(()), "another client has its own");
        assert_eq!(clients.take(1, after(125)), Err(Duration::from_millis(125)));
        assert_eq!(clients.take(1, after(250)), Ok(()));
        assert!(clients.take(1, after(250)).is_err());
        // A bucket holds at most the requests of one second.
        for _ in 0..4 {
            assert_eq!(clients.take(1, after(60_000)), Ok(()));
        }
        assert!(clients.take(1, after(60_000)).is_err());
        // Threads may see clocks out of order.
        assert!(clients.take(1, start).is_err());
    }

    #[test]
    fn without_a_rate_there_is_no_limit() {
        let clients = Clients::new(0);
        let now = Instant::now();
        assert!((0..10_000).all(|_| clients.take(1, now).is_ok()));
        assert!(clients.buckets.lock().expect("no thread panicked").is_empty());
    }

    #[test]
    fn full_buckets_are_dropped_beyond_the_limit() {
        let clients = Clients::new(1);
        let now = Instant::now();
        for client in 0..MOST_CLIENTS as u64 + 10 {
            assert_eq!(clients.take(client, now), Ok(()));
        }
        let held = clients.buckets.lock().expect("no thread panicked").len();
        assert!(held <= MOST_CLIENTS, "{held}");
    }
}
