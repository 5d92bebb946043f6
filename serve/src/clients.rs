//! Token buckets: limits on the requests of each client per second, and on the wrong keys of each
//! address per minute.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use actix_web::HttpRequest;

use crate::extensions::Sender;

/// Greatest number of buckets; above it, full ones are dropped.
const MOST_CLIENTS: usize = 1 << 16;

/// A bucket of tokens for each client.
#[derive(Debug)]
pub struct Buckets {
    /// Tokens that a bucket gains per second; 0 for no limit.
    per_second: f64,
    /// Capacity of a bucket in tokens.
    size: f64,
    by_client: Mutex<HashMap<u64, Bucket>>,
}

#[derive(Debug, Clone, Copy)]
struct Bucket {
    left: f64,
    at: Instant,
}

impl Buckets {
    /// Buckets whose capacity is what they gain in a second.
    pub fn per_second(rate: u32) -> Buckets {
        let rate = f64::from(rate);
        Buckets { per_second: rate, size: rate, by_client: Mutex::default() }
    }

    /// Buckets whose capacity is what they gain in a minute.
    pub fn per_minute(rate: u32) -> Buckets {
        let size = f64::from(rate);
        Buckets { per_second: size / 60.0, size, by_client: Mutex::default() }
    }

    /// Takes a token out of the bucket of `client`.
    ///
    /// # Errors
    /// The time until the bucket has a token.
    pub fn take(&self, client: u64, now: Instant) -> Result<(), Duration> {
        self.with_bucket(client, now, |bucket| {
            let left = bucket.left;
            if left >= 1.0 {
                bucket.left -= 1.0;
                return Ok(());
            }
            Err(Duration::from_secs_f64((1.0 - left) / self.per_second))
        })
    }

    /// Checks that the bucket of `client` is not empty, and takes nothing.
    ///
    /// # Errors
    /// The time until the bucket has a token again.
    pub fn check(&self, client: u64, now: Instant) -> Result<(), Duration> {
        self.with_bucket(client, now, |bucket| {
            let wait = Duration::from_secs_f64((1.0 - bucket.left).max(0.0) / self.per_second);
            if wait.is_zero() { Ok(()) } else { Err(wait) }
        })
    }

    /// Takes tokens out of the bucket of `client`, which may become less than empty.
    pub fn charge(&self, client: u64, tokens: usize, now: Instant) {
        let tokens = f64::from(u32::try_from(tokens).unwrap_or(u32::MAX));
        // It cannot fail: nothing is refused here.
        let _ = self.with_bucket(client, now, |bucket| {
            bucket.left -= tokens;
            Ok(())
        });
    }

    fn with_bucket(
        &self,
        client: u64,
        now: Instant,
        change: impl FnOnce(&mut Bucket) -> Result<(), Duration>,
    ) -> Result<(), Duration> {
        if self.per_second == 0.0 {
            return Ok(());
        }
        // The table is valid even after a panic elsewhere.
        let mut buckets = self.by_client.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() >= MOST_CLIENTS && !buckets.contains_key(&client) {
            buckets.retain(|_, bucket| self.refilled(*bucket, now).left < self.size);
            if buckets.len() >= MOST_CLIENTS {
                buckets.clear();
            }
        }
        let bucket = buckets.entry(client).or_insert(Bucket { left: self.size, at: now });
        *bucket = self.refilled(*bucket, now);
        change(bucket)
    }

    fn refilled(&self, bucket: Bucket, now: Instant) -> Bucket {
        let elapsed = now.saturating_duration_since(bucket.at).as_secs_f64();
        Bucket { left: (bucket.left + elapsed * self.per_second).min(self.size), at: now }
    }
}

/// Numbers for addresses, keyed so that a client can neither choose nor predict one.
#[derive(Debug, Default)]
pub struct AddressIds(RandomState);

impl AddressIds {
    /// The number of an address; `None` is the address of a request without a connection.
    pub fn of(&self, address: Option<IpAddr>) -> u64 {
        self.0.hash_one(address)
    }
}

/// Identifies the sender of a request: its API key, or its address where there are no keys; 0 for
/// the server's own requests.
pub(crate) fn client(request: &HttpRequest) -> u64 {
    Sender::of(request).map_or(0, |sender| sender.client)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bucket_empties_and_refills() {
        let clients = Buckets::per_second(4);
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
    fn bucket_of_a_minute_refills_in_a_minute() {
        let failures = Buckets::per_minute(3);
        let start = Instant::now();
        assert!((0..3).all(|_| failures.take(1, start).is_ok()));
        assert_eq!(failures.take(1, start), Err(Duration::from_secs(20)));
        let later = start + Duration::from_mins(1);
        assert!((0..3).all(|_| failures.take(1, later).is_ok()));
        assert!(failures.take(1, later).is_err());
    }

    #[test]
    fn without_a_rate_there_is_no_limit() {
        let clients = Buckets::per_second(0);
        let now = Instant::now();
        assert!((0..10_000).all(|_| clients.take(1, now).is_ok()));
        assert!(clients.by_client.lock().expect("no test panicked").is_empty());
    }

    #[test]
    fn full_buckets_are_dropped_beyond_the_limit() {
        let clients = Buckets::per_second(1);
        let now = Instant::now();
        for client in 0..MOST_CLIENTS as u64 + 10 {
            assert_eq!(clients.take(client, now), Ok(()));
        }
        let held = clients.by_client.lock().expect("no test panicked").len();
        assert!(held <= MOST_CLIENTS, "{held}");
    }
}
