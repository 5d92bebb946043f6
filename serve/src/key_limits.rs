//! Limits of each API key, or of each address where there are no keys: requests at a time, and
//! tokens a minute.
//!
//! Tokens are counted when engines read and generate them, so that their number needs no estimate:
//! a request is accepted while the balance of its key is positive and may make it negative; refills
//! are added to the balance.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use actix_web::body::{BodySize, BoxBody, MessageBody};
use actix_web::web::Bytes;
use engine::TokenMeter;

use crate::Config;
use crate::clients::Buckets;
use crate::error::ApiError;

/// What each key may use.
#[derive(Debug)]
pub struct KeyLimits {
    requests: usize,
    held: Arc<Mutex<HashMap<u64, usize>>>,
    input: TokenLimit,
    output: TokenLimit,
}

#[derive(Debug)]
struct TokenLimit {
    a_minute: u32,
    buckets: Buckets,
}

/// A limit that a key has reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyLimitReached {
    /// The key of the configuration, without its table.
    pub limit: &'static str,
    most: u64,
    retry_after: Duration,
}

impl From<KeyLimitReached> for ApiError {
    fn from(reached: KeyLimitReached) -> ApiError {
        let KeyLimitReached { limit, most, retry_after } = reached;
        let unit = if limit == "key_requests" { "at a time" } else { "a minute" };
        ApiError::key_limit(format!("limits.{limit}: {most} {unit}"), retry_after)
    }
}

/// A request of a key, given back when dropped.
#[derive(Debug)]
pub struct KeyShare {
    held: Arc<Mutex<HashMap<u64, usize>>>,
    client: u64,
}

impl TokenLimit {
    fn new(a_minute: u32) -> TokenLimit {
        TokenLimit { a_minute, buckets: Buckets::per_minute(a_minute) }
    }

    fn check(&self, limit: &'static str, client: u64, now: Instant) -> Result<(), KeyLimitReached> {
        let most = self.a_minute.into();
        let reached = |retry_after| KeyLimitReached { limit, most, retry_after };
        self.buckets.check(client, now).map_err(reached)
    }

    fn charge(&self, client: u64, tokens: usize) {
        self.buckets.charge(client, tokens, Instant::now());
    }
}

impl KeyLimits {
    /// The limits of a configuration; 0 is none.
    pub fn new(config: &Config) -> KeyLimits {
        KeyLimits {
            requests: config.key_requests,
            held: Arc::default(),
            input: TokenLimit::new(config.key_input_tokens),
            output: TokenLimit::new(config.key_output_tokens),
        }
    }

    /// Whether tokens are limited, so that engines must count them.
    pub fn count_tokens(&self) -> bool {
        self.input.a_minute > 0 || self.output.a_minute > 0
    }

    /// Counts a request of `client` until the share is dropped; `None` without a limit.
    ///
    /// # Errors
    /// [`KeyLimitReached`] where it has as many as it may.
    pub fn enter(&self, client: u64) -> Result<Option<KeyShare>, KeyLimitReached> {
        if self.requests == 0 {
            return Ok(None);
        }
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let own = held.entry(client).or_default();
        if *own >= self.requests {
            let (limit, most) = ("key_requests", self.requests as u64);
            return Err(KeyLimitReached { limit, most, retry_after: Duration::from_secs(1) });
        }
        *own += 1;
        Ok(Some(KeyShare { held: self.held.clone(), client }))
    }

    /// Checks that `client` has tokens left.
    ///
    /// # Errors
    /// [`KeyLimitReached`] with the time until it has.
    pub fn check_tokens(&self, client: u64, now: Instant) -> Result<(), KeyLimitReached> {
        self.input.check("key_input_tokens", client, now)?;
        self.output.check("key_output_tokens", client, now)
    }

    /// Requests of all keys that are not finished, where they are limited.
    pub fn held(&self) -> usize {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).values().sum()
    }
}

impl TokenMeter for KeyLimits {
    fn input(&self, client: u64, tokens: usize) {
        self.input.charge(client, tokens);
    }

    fn output(&self, client: u64, tokens: usize) {
        self.output.charge(client, tokens);
    }
}

impl Drop for KeyShare {
    fn drop(&mut self) {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(own) = held.get_mut(&self.client) {
            *own -= 1;
            if *own == 0 {
                held.remove(&self.client);
            }
        }
    }
}

/// A reply's body that holds its request's share until it is written or its reader leaves.
pub(crate) struct SharedBody {
    body: BoxBody,
    _share: KeyShare,
}

impl SharedBody {
    /// Holds `share` as long as `body`.
    pub(crate) fn new(body: BoxBody, share: KeyShare) -> SharedBody {
        SharedBody { body, _share: share }
    }
}

impl MessageBody for SharedBody {
    type Error = <BoxBody as MessageBody>::Error;

    fn size(&self) -> BodySize {
        self.body.size()
    }

    fn poll_next(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, Self::Error>>> {
        Pin::new(&mut self.body).poll_next(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(requests: usize, input: u32, output: u32) -> KeyLimits {
        KeyLimits::new(&Config {
            key_requests: requests,
            key_input_tokens: input,
            key_output_tokens: output,
            ..Config::default()
        })
    }

    #[test]
    fn requests_of_a_key_are_given_back() {
        let limits = limits(2, 0, 0);
        let first = limits.enter(1).expect("room");
        let _second = limits.enter(1).expect("room");
        assert_eq!(limits.enter(1).err().map(|reached| reached.limit), Some("key_requests"));
        assert!(limits.enter(2).is_ok(), "another key has its own");
        assert_eq!(limits.held(), 2, "what is refused or dropped holds nothing");
        drop(first);
        assert!(limits.enter(1).is_ok());
    }

    #[test]
    fn debt_is_paid_before_the_next_request() {
        let limits = limits(0, 600, 60);
        let now = Instant::now();
        assert_eq!(limits.check_tokens(1, now), Ok(()));
        limits.input(1, 1_200);
        let reached = limits.check_tokens(1, now).expect_err("600 tokens are owed");
        assert_eq!(reached.limit, "key_input_tokens");
        assert!(reached.retry_after > Duration::from_secs(59), "{reached:?}");
        assert_eq!(limits.check_tokens(2, now), Ok(()), "another key has its own");
        assert_eq!(limits.check_tokens(1, now + Duration::from_secs(62)), Ok(()));
        limits.output(2, 60);
        let reached = limits.check_tokens(2, now).expect_err("nothing is left");
        assert_eq!(reached.limit, "key_output_tokens");
    }

    #[test]
    fn without_limits_nothing_is_counted() {
        let limits = limits(0, 0, 0);
        limits.input(1, usize::MAX);
        limits.output(1, usize::MAX);
        assert!(!limits.count_tokens());
        assert_eq!(limits.check_tokens(1, Instant::now()), Ok(()));
        assert!(limits.enter(1).expect("no limit").is_none());
    }
}
