//! Caches outcomes and shares those in flight.
//!
//! The key is a digest of everything that may change the outcome: the scorer's own digest, the
//! input and the options. An outcome in flight is awaited, not computed twice. Only lasting
//! outcomes are stored or sent to waiters: a timeout concerns one request alone.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasherDefault, Hash, Hasher};
use std::mem::size_of;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use sha2::{Digest as _, Sha256};
use tokio::sync::oneshot;

use crate::{EqualityReport, Evidence, Input, ModelText, Outcome, SpanNote, StepScore};

/// Digest of everything that may change an outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheKey([u8; 32]);

/// Uses eight bytes of the digest as its hash, which also withstands chosen keys.
impl Hash for CacheKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let (head, _) = self.0.split_first_chunk::<8>().expect("a digest has 32 bytes");
        state.write_u64(u64::from_le_bytes(*head));
    }
}

/// Returns the number that [`CacheKey`] writes: a second hash of the digest took longer than
/// running a verifier.
#[derive(Debug, Clone, Copy, Default)]
pub struct DigestHasher(u64);

impl Hasher for DigestHasher {
    fn write(&mut self, bytes: &[u8]) {
        // Keys write one u64; anything else is folded in so that the hash stays a function of it.
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = number;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

type ByDigest = BuildHasherDefault<DigestHasher>;

impl CacheKey {
    /// Derives the key of `input` under the scorer digest of [`crate::Scorer::digest_with`],
    /// which covers the scorer's models.
    pub fn new(scorer: &[u8; 32], input: &Input, explain: bool, seed: u64) -> Self {
        let mut hash = Sha256::new();
        hash.update(scorer);
        hash.update([u8::from(explain)]);
        hash.update(seed.to_le_bytes());
        input.hash_into(&mut hash);
        Self(hash.finalize().into())
    }
}

type Waiters = Vec<oneshot::Sender<Arc<Outcome>>>;

/// Stored outcomes and outcomes in flight.
#[derive(Debug)]
pub struct Cache {
    stored: moka::sync::Cache<CacheKey, Arc<Outcome>, ByDigest>,
    /// Waiters by key in flight. A plain lock: it is held for one map operation.
    in_flight: Mutex<HashMap<CacheKey, Waiters, ByDigest>>,
    /// Outcomes stored so far; counted before their entries in flight are removed.
    completed: AtomicU64,
}

/// The result of a lookup.
#[derive(Debug)]
pub enum Lookup {
    /// The stored outcome.
    Hit(Arc<Outcome>),
    /// Another request computes it; its sender is dropped if that request gives up.
    InFlight(oneshot::Receiver<Arc<Outcome>>),
    /// This request computes it.
    Miss(Inflight),
}

/// The entry of an outcome in flight. Dropped before [`Inflight::complete`], it makes its waiters
/// compute the outcome themselves.
#[derive(Debug)]
pub struct Inflight {
    cache: Arc<Cache>,
    key: CacheKey,
    is_closed: bool,
}

impl Cache {
    /// Creates an empty cache of about `bytes` bytes.
    pub fn new(bytes: usize) -> Self {
        let stored = moka::sync::Cache::builder()
            .max_capacity(bytes as u64)
            .weigher(|_, outcome: &Arc<Outcome>| weigh(outcome))
            .build_with_hasher(ByDigest::default());
        Self { stored, in_flight: Mutex::default(), completed: AtomicU64::new(0) }
    }

    /// Looks up `key`; a miss is entered as in flight. With `refresh`, stored outcomes are ignored.
    pub fn look_up(self: &Arc<Self>, key: CacheKey, refresh: bool) -> Lookup {
        let completed = self.completed.load(Ordering::Acquire);
        if let Some(outcome) = self.stored(&key, refresh) {
            return Lookup::Hit(outcome);
        }
        let mut in_flight = self.in_flight.lock().unwrap_or_else(PoisonError::into_inner);
        match in_flight.entry(key) {
            Entry::Occupied(mut waiters) => {
                let (sender, receiver) = oneshot::channel();
                waiters.get_mut().push(sender);
                Lookup::InFlight(receiver)
            }
            Entry::Vacant(slot) => {
                // It may have been completed between the first lookup and the lock.
                if self.completed.load(Ordering::Acquire) != completed
                    && let Some(outcome) = self.stored(&key, refresh)
                {
                    return Lookup::Hit(outcome);
                }
                slot.insert(Waiters::new());
                Lookup::Miss(Inflight { cache: Arc::clone(self), key, is_closed: false })
            }
        }
    }

    /// Drops the stored outcomes; those in flight are completed.
    pub fn clear(&self) {
        self.stored.invalidate_all();
        self.stored.run_pending_tasks();
    }

    /// Returns the number of stored outcomes.
    pub fn len(&self) -> u64 {
        self.stored.entry_count()
    }

    /// Returns whether no outcome is stored.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn stored(&self, key: &CacheKey, refresh: bool) -> Option<Arc<Outcome>> {
        if refresh { None } else { self.stored.get(key) }
    }

    fn close(&self, key: &CacheKey) -> Waiters {
        let mut in_flight = self.in_flight.lock().unwrap_or_else(PoisonError::into_inner);
        in_flight.remove(key).unwrap_or_default()
    }
}

impl Inflight {
    /// Stores a lasting outcome and sends it to all waiters.
    pub fn complete(mut self, outcome: &Arc<Outcome>) {
        if !is_lasting(outcome) {
            return;
        }
        self.cache.stored.insert(self.key, Arc::clone(outcome));
        self.cache.completed.fetch_add(1, Ordering::Release);
        self.is_closed = true;
        for waiter in self.cache.close(&self.key) {
            // A waiter that has left needs no outcome.
            let _ = waiter.send(Arc::clone(outcome));
        }
    }
}

impl Drop for Inflight {
    fn drop(&mut self) {
        if !self.is_closed {
            self.cache.close(&self.key);
        }
    }
}

fn is_lasting(outcome: &Outcome) -> bool {
    outcome.as_ref().map_or_else(|failure| failure.kind.is_lasting(), |_| true)
}

/// Estimates the bytes of an entry.
fn weigh(outcome: &Outcome) -> u32 {
    let evidence = Evidence::of(outcome);
    let entry = size_of::<CacheKey>() + size_of::<Outcome>() + 64;
    u32::try_from(entry + evidence_bytes(evidence)).unwrap_or(u32::MAX)
}

fn evidence_bytes(evidence: &Evidence) -> usize {
    let candidate = evidence.candidate.as_ref().map_or(0, |found| found.text.len());
    let steps = evidence.steps.iter().flatten().map(step_bytes);
    let parts = evidence.parts.iter().flatten();
    let parts = parts.map(|part| 64 + part.outcome.as_ref().map_or(0, |o| weigh(o) as usize));
    let members = evidence.members.iter().flatten();
    let members = members.map(|member| weigh(&member.outcome) as usize);
    let spans = evidence.spans.iter().flatten();
    let spans = spans.map(|note| size_of::<SpanNote>() + note.label.len());
    let texts = evidence.outputs.iter().flatten();
    let texts = texts.map(|text| size_of::<ModelText>() + text.text.len());
    candidate
        + steps.sum::<usize>()
        + parts.sum::<usize>()
        + members.sum::<usize>()
        + spans.sum::<usize>()
        + texts.sum::<usize>()
}

fn step_bytes(step: &StepScore) -> usize {
    let equalities = step.equalities.iter().flatten();
    let texts = equalities.map(|e| size_of::<EqualityReport>() + e.text.len() + e.detail.len());
    let critique = step.critique.as_ref().map_or(0, String::len);
    size_of::<StepScore>() + critique + texts.sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Failure, FailureKind};

    fn key(tag: u8) -> CacheKey {
        CacheKey([tag; 32])
    }

    fn outcome(kind: FailureKind) -> Arc<Outcome> {
        Arc::new(Err(Failure::new(kind, verifiers::Reason::code("test"))))
    }

    fn missed(lookup: Lookup) -> Inflight {
        match lookup {
            Lookup::Miss(inflight) => inflight,
            Lookup::Hit(_) | Lookup::InFlight(_) => panic!("it is stored or in flight"),
        }
    }

    fn joined(lookup: Lookup) -> oneshot::Receiver<Arc<Outcome>> {
        match lookup {
            Lookup::InFlight(receiver) => receiver,
            Lookup::Hit(_) | Lookup::Miss(_) => panic!("it is not in flight"),
        }
    }

    #[test]
    fn equal_request_waits_for_outcome_in_flight() {
        let cache = Arc::new(Cache::new(1 << 20));
        let inflight = missed(cache.look_up(key(1), false));
        let mut first = joined(cache.look_up(key(1), false));
        let mut second = joined(cache.look_up(key(1), true));
        drop(missed(cache.look_up(key(2), false)));
        let verdict = outcome(FailureKind::Abstain);
        inflight.complete(&verdict);
        for receiver in [&mut first, &mut second] {
            assert!(Arc::ptr_eq(&receiver.try_recv().expect("completed"), &verdict));
        }
        assert!(matches!(cache.look_up(key(1), false), Lookup::Hit(_)));
        assert!(matches!(cache.look_up(key(1), true), Lookup::Miss(_)), "a refresh");
    }

    #[test]
    fn dropped_inflight_releases_its_waiters() {
        let cache = Arc::new(Cache::new(1 << 20));
        let inflight = missed(cache.look_up(key(1), false));
        let mut waiting = joined(cache.look_up(key(1), false));
        drop(inflight);
        assert!(waiting.try_recv().is_err());
        drop(missed(cache.look_up(key(1), false)));
    }

    #[test]
    fn outcome_that_is_not_lasting_is_not_stored() {
        let cache = Arc::new(Cache::new(1 << 20));
        for kind in [FailureKind::Timeout, FailureKind::Overloaded, FailureKind::Internal] {
            let inflight = missed(cache.look_up(key(1), false));
            let mut waiting = joined(cache.look_up(key(1), false));
            inflight.complete(&outcome(kind));
            assert!(waiting.try_recv().is_err(), "{kind:?}");
        }
        drop(missed(cache.look_up(key(1), false)));
    }

    #[test]
    fn key_covers_everything_that_may_change_an_outcome() {
        let registry = crate::Registry::built_in();
        let [math, text] =
            ["math", "text"].map(|name| registry.get(name).expect("built in").digest());
        let input = Input::of("4").against("4");
        let base = CacheKey::new(math, &input, false, 0);
        assert_eq!(base, CacheKey::new(math, &input.clone(), false, 0));
        assert_ne!(base, CacheKey::new(text, &input, false, 0));
        assert_ne!(base, CacheKey::new(math, &input, true, 0));
        assert_ne!(base, CacheKey::new(math, &input, false, 1));
        assert_ne!(base, CacheKey::new(math, &Input::of("4").against("5"), false, 0));
    }
}
