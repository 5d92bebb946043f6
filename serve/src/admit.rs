//! Admission: limits on the work that the server holds.
//!
//! Every request carries a [`Permit`] from its first body byte until its reply is made. Work beyond
//! a limit is refused at once with a time to retry after: a client can act on a refusal, but not on
//! a queue that only grows.
//!
//! The counters are atomics and not a lock: every request on every worker touches them, and they
//! guard nothing but themselves.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Limits on the work that is admitted and not finished ("in hand").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AdmissionLimits {
    /// Requests that are being read or answered.
    pub requests: usize,
    /// Responses waiting or running.
    pub items: usize,
    /// Bytes of request bodies, and of the values, texts and tokens that are made of them.
    pub bytes: usize,
    /// Bytes of memory for encoding texts.
    pub encoding: usize,
}

/// The work that is admitted and not finished, and its limits.
#[derive(Debug)]
pub struct Admission {
    limits: AdmissionLimits,
    requests: AtomicUsize,
    items: AtomicUsize,
    bytes: AtomicUsize,
    /// Room for encodings, in units of [`ENCODING_UNIT`]. An encoding waits for room instead of
    /// being refused, because it holds its room for a moment.
    encoding: Arc<Semaphore>,
    /// Smoothed time per input in nanoseconds: the delay of the next input by one that is not
    /// finished.
    item_nanos: AtomicU64,
}

/// Bytes of one unit of room for encodings.
const ENCODING_UNIT: usize = 1 << 10;

/// Room for an encoding, given back when dropped.
#[derive(Debug)]
pub struct EncodingPermit {
    _room: OwnedSemaphorePermit,
}

/// A refusal of admission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AtLimit {
    /// Estimated time to finish the work in hand.
    pub retry_after: Duration,
}

/// A request's share of the limits, returned when dropped. Not `Clone`: a share is returned once.
#[derive(Debug)]
pub struct Permit {
    held: Arc<HeldBytes>,
    items: usize,
    /// Whether half of the input limit is left to other requests.
    yields: bool,
    /// When the inputs were admitted, and how many were in hand then.
    since: Option<(Instant, usize)>,
}

/// Bytes of a request in hand, returned when the last holder drops them: the request, or work for it
/// on a blocking thread, which goes on for a while after its client has left.
#[derive(Debug)]
pub struct HeldBytes {
    admission: Arc<Admission>,
    bytes: AtomicUsize,
}

impl Admission {
    /// Creates an admission without work in hand.
    pub fn new(limits: AdmissionLimits) -> Self {
        Self {
            limits,
            requests: AtomicUsize::new(0),
            items: AtomicUsize::new(0),
            bytes: AtomicUsize::new(0),
            encoding: Arc::new(Semaphore::new(encoding_units(limits.encoding) as usize)),
            item_nanos: AtomicU64::new(10_000),
        }
    }

    /// Admits a request whose body has `bytes` bytes as announced.
    ///
    /// # Errors
    /// [`AtLimit`] where a limit is reached. A request is admitted only while inputs are below
    /// their limit, so that it is not read and parsed just to be refused.
    pub fn enter(self: &Arc<Self>, bytes: usize) -> Result<Permit, AtLimit> {
        self.enter_within(bytes, self.limits.items, false)
    }

    /// Admits a request of batch priority, which may use half of the input limit only.
    ///
    /// # Errors
    /// [`AtLimit`] where half of the inputs are in hand, or another limit is reached.
    pub fn enter_behind(self: &Arc<Self>, bytes: usize) -> Result<Permit, AtLimit> {
        self.enter_within(bytes, half(self.limits.items), true)
    }

    fn enter_within(
        self: &Arc<Self>,
        bytes: usize,
        items: usize,
        yields: bool,
    ) -> Result<Permit, AtLimit> {
        let full = self.items.load(Ordering::Relaxed) >= items;
        if full || !reserve(&self.requests, 1, self.limits.requests) {
            return Err(self.refused());
        }
        let held = HeldBytes { admission: Arc::clone(self), bytes: AtomicUsize::new(0) };
        let permit = Permit { held: Arc::new(held), items: 0, yields, since: None };
        permit.held.add(bytes)?;
        Ok(permit)
    }

    /// Room for an encoding that takes `bytes` of memory, once there is so much; `None` if there
    /// never is.
    pub async fn enter_encoding(&self, bytes: usize) -> Option<EncodingPermit> {
        if bytes > self.limits.encoding {
            return None;
        }
        let room = Arc::clone(&self.encoding).acquire_many_owned(encoding_units(bytes)).await;
        Some(EncodingPermit { _room: room.expect("the semaphore is never closed") })
    }

    /// Bytes that encodings hold.
    pub fn encoding_bytes(&self) -> usize {
        let units = encoding_units(self.limits.encoding) as usize;
        (units - self.encoding.available_permits().min(units)) * ENCODING_UNIT
    }

    /// Returns the number of inputs in hand.
    pub fn items(&self) -> usize {
        self.items.load(Ordering::Relaxed)
    }

    /// Returns the body bytes in hand.
    pub fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Returns the number of requests in hand.
    pub fn requests(&self) -> usize {
        self.requests.load(Ordering::Relaxed)
    }

    /// Whether no other request is taken now.
    pub fn is_full(&self) -> bool {
        self.requests() >= self.limits.requests
            || self.items() >= self.limits.items
            || self.bytes() >= self.limits.bytes
    }

    /// Returns whether more than three quarters of the input limit are in use, so that optional
    /// work should be skipped.
    pub fn is_pressed(&self) -> bool {
        self.items() > self.limits.items / 4 * 3
    }

    /// Estimates the time to finish the work in hand.
    pub fn expected_wait(&self) -> Duration {
        let each = Duration::from_nanos(self.item_nanos.load(Ordering::Relaxed));
        each.saturating_mul(u32::try_from(self.items()).unwrap_or(u32::MAX))
    }

    /// Updates the time per input from a finished request: `ahead` inputs were in hand, its own
    /// included, and it took `time`. By Little's law the quotient is the pace of the server,
    /// whatever limits it.
    fn learn(&self, ahead: usize, time: Duration) {
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let each = nanos / ahead.max(1) as u64;
        let old = self.item_nanos.load(Ordering::Relaxed);
        // A lost update between two workers costs one sample of a moving average.
        self.item_nanos.store(old - old / 16 + each / 16, Ordering::Relaxed);
    }

    fn refused(&self) -> AtLimit {
        AtLimit { retry_after: self.expected_wait() }
    }
}

impl HeldBytes {
    /// Adds bytes: of the body as they arrive, or of what is about to be made of it.
    ///
    /// # Errors
    /// [`AtLimit`] where the limit of bytes is reached.
    pub fn add(&self, bytes: usize) -> Result<(), AtLimit> {
        if !reserve(&self.admission.bytes, bytes, self.admission.limits.bytes) {
            return Err(self.admission.refused());
        }
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        Ok(())
    }

    /// The limit of the bytes of all requests.
    pub fn limit(&self) -> usize {
        self.admission.limits.bytes
    }
}

impl Drop for HeldBytes {
    fn drop(&mut self) {
        self.admission.bytes.fetch_sub(*self.bytes.get_mut(), Ordering::Relaxed);
    }
}

impl Permit {
    /// The bytes of the request.
    pub fn held(&self) -> &Arc<HeldBytes> {
        &self.held
    }

    /// Adds the inputs of the request. A request larger than the limit is admitted when nothing
    /// else is in hand.
    ///
    /// # Errors
    /// [`AtLimit`] where the limit of inputs is reached, or the work in hand would take longer than
    /// `patience`.
    pub fn add_items(&mut self, items: usize, patience: Duration) -> Result<(), AtLimit> {
        let admission = &self.held.admission;
        let limit = if self.yields { half(admission.limits.items) } else { admission.limits.items };
        let fits = |held: usize| match held.checked_add(items) {
            Some(sum) if sum <= limit || held == 0 => Some(sum),
            _ => None,
        };
        let late = admission.expected_wait() > patience;
        if late {
            return Err(admission.refused());
        }
        let order = Ordering::Relaxed;
        let before = admission.items.fetch_update(order, order, fits);
        let before = before.map_err(|_| admission.refused())?;
        self.items += items;
        self.since = Some((Instant::now(), before + items));
        Ok(())
    }

    /// Ends an answered request and learns from its time.
    pub fn answered(self) {
        if let Some((since, ahead)) = self.since {
            self.held.admission.learn(ahead, since.elapsed());
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let admission = &self.held.admission;
        admission.items.fetch_sub(self.items, Ordering::Relaxed);
        admission.requests.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Returns half of a limit, at least 1.
fn half(limit: usize) -> usize {
    (limit / 2).max(1)
}

/// Units of room for encodings in `bytes`, at least one.
fn encoding_units(bytes: usize) -> u32 {
    u32::try_from(bytes / ENCODING_UNIT).unwrap_or(u32::MAX >> 4).max(1)
}

/// Adds `amount` to `counter` unless the sum exceeds `limit`; returns whether it was added.
fn reserve(counter: &AtomicUsize, amount: usize, limit: usize) -> bool {
    let add = |held: usize| held.checked_add(amount).filter(|sum| *sum <= limit);
    counter.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add).is_ok()
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    fn admission() -> Arc<Admission> {
        let limits = AdmissionLimits { requests: 3, items: 10, bytes: 100, encoding: 4096 };
        Arc::new(Admission::new(limits))
    }

    fn held(admission: &Admission) -> (usize, usize, usize) {
        (admission.requests(), admission.items(), admission.bytes())
    }

    const PATIENT: Duration = Duration::from_mins(10);

    #[test]
    fn dropped_permits_return_their_shares() {
        let admission = admission();
        {
            let mut first = admission.enter(60).expect("room");
            first.add_items(10, PATIENT).expect("room");
            assert_eq!(held(&admission), (1, 10, 60));
            assert!(admission.enter(10).is_err(), "no items left");
        }
        assert_eq!(held(&admission), (0, 0, 0));
        {
            let mut first = admission.enter(60).expect("room");
            assert!(first.held().add(41).is_err());
            first.add_items(4, PATIENT).expect("room");
            assert!(admission.enter(41).is_err(), "no bytes left");
            let mut second = admission.enter(40).expect("room");
            assert!(second.add_items(7, PATIENT).is_err(), "no items left");
            let _third = admission.enter(0).expect("room");
            assert!(admission.enter(0).is_err(), "no requests left");
            assert_eq!(held(&admission), (3, 4, 100));
        }
        assert_eq!(held(&admission), (0, 0, 0));
    }

    #[test]
    fn bytes_are_held_until_work_for_the_request_has_ended() {
        let admission = admission();
        let permit = admission.enter(60).expect("room");
        let work = Arc::clone(permit.held());
        work.add(20).expect("room");
        drop(permit);
        assert_eq!(held(&admission), (0, 0, 80));
        drop(work);
        assert_eq!(held(&admission), (0, 0, 0));
    }

    #[test]
    fn oversized_request_is_admitted_when_alone() {
        let admission = admission();
        let mut large = admission.enter(0).expect("room");
        large.add_items(1000, PATIENT).expect("nothing else is in hand");
        assert!(admission.enter(0).is_err());
        drop(large);
        let mut small = admission.enter(0).expect("room");
        small.add_items(1, PATIENT).expect("room");
        let mut large = admission.enter(0).expect("room");
        assert!(large.add_items(1000, PATIENT).is_err());
        assert!(large.add_items(usize::MAX, PATIENT).is_err());
    }

    #[test]
    fn batch_work_leaves_half_of_the_limit() {
        let admission = admission();
        let mut waiting = admission.enter_behind(0).expect("room");
        waiting.add_items(5, PATIENT).expect("half of ten");
        assert!(waiting.add_items(1, PATIENT).is_err());
        assert!(admission.enter_behind(0).is_err(), "half is taken");
        let mut urgent = admission.enter(0).expect("the other half");
        urgent.add_items(5, PATIENT).expect("all of it");
        drop((waiting, urgent));
        let mut large = admission.enter_behind(0).expect("room");
        large.add_items(100, PATIENT).expect("it is alone");
    }

    #[test]
    fn three_quarters_full_is_pressed() {
        let admission = admission();
        let mut permit = admission.enter(0).expect("room");
        permit.add_items(6, PATIENT).expect("room");
        assert!(!admission.is_pressed());
        permit.add_items(1, PATIENT).expect("room");
        assert!(admission.is_pressed());
        drop(permit);
        assert!(!admission.is_pressed());
    }

    #[tokio::test]
    async fn an_encoding_waits_for_room() {
        let admission = admission();
        assert!(admission.enter_encoding(4097).await.is_none(), "it never fits");
        let first = admission.enter_encoding(3 << 10).await.expect("room");
        assert_eq!(admission.encoding_bytes(), 3 << 10);
        let second = admission.enter_encoding(2 << 10);
        let mut second = std::pin::pin!(second);
        assert!(second.as_mut().now_or_never().is_none(), "it waits");
        drop(first);
        assert!(second.await.is_some());
        assert_eq!(admission.encoding_bytes(), 0);
    }

    #[test]
    fn work_that_would_miss_its_deadline_is_refused() {
        let admission = admission();
        for _ in 0..200 {
            admission.learn(2, Duration::from_secs(2));
        }
        let mut first = admission.enter(0).expect("room");
        first.add_items(8, Duration::from_millis(1)).expect("nothing waits yet");
        let mut second = admission.enter(0).expect("room");
        let refused = second.add_items(1, Duration::from_secs(1));
        let refused = refused.expect_err("eight inputs of a second each are in hand");
        assert!(refused.retry_after > Duration::from_secs(7), "{refused:?}");
        second.add_items(1, PATIENT).expect("this request accepts a longer wait");
    }
}
