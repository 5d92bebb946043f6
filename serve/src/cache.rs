//! Stored verdicts, and verdicts on their way.
//!
//! The key is a digest of everything that may change the verdict: the scorer's own digest, the
//! input and the options. A verdict that is being computed is waited for and not computed twice.
//! Only lasting outcomes are stored or handed to others: a timeout is one caller's misfortune.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasherDefault, Hash, Hasher};
use std::mem::size_of;
use std::sync::{Arc, Mutex, PoisonError};

use rubrics::{EqualityReport, Evidence, Input, ModelText, Outcome, SpanNote, StepScore};
use sha2::{Digest as _, Sha256};
use tokio::sync::oneshot;

/// Digest of everything that may change a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key([u8; 32]);

/// Any eight bytes of a digest are as good as a hash of it, also against keys that somebody chose.
impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let (head, _) = self.0.split_first_chunk::<8>().expect("a digest has 32 bytes");
        state.write_u64(u64::from_le_bytes(*head));
    }
}

/// Hands on what [`Key`] writes: hashing a digest again cost more than judging an answer.
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

impl Key {
    /// The key of `input` under a scorer, which [`rubrics::Scorer::digest_with`] identifies
    /// together with the models that it asks.
    pub fn new(scorer: &[u8; 32], input: &Input, explain: bool, seed: u64) -> Self {
        let mut hash = Sha256::new();
        hash.update(scorer);
        hash.update([u8::from(explain)]);
        hash.update(seed.to_le_bytes());
        input.hash_into(&mut hash);
        Self(hash.finalize().into())
    }
}

type Joiners = Vec<oneshot::Sender<Arc<Outcome>>>;

/// Verdicts that are known or on their way.
#[derive(Debug)]
pub struct Cache {
    stored: moka::sync::Cache<Key, Arc<Outcome>, ByDigest>,
    /// Who waits for the verdicts on their way. A plain lock: it is held for one map operation.
    flights: Mutex<HashMap<Key, Joiners, ByDigest>>,
}

/// What the cache knows about a key.
#[derive(Debug)]
pub enum Lookup {
    /// The verdict.
    Known(Arc<Outcome>),
    /// Somebody computes it; the sender goes away if they give up.
    OnItsWay(oneshot::Receiver<Arc<Outcome>>),
    /// Nobody has it: the caller computes it.
    Yours(Flight),
}

/// The duty to compute a verdict. Dropped without landing, it lets those who wait compute for
/// themselves.
#[derive(Debug)]
pub struct Flight {
    cache: Arc<Cache>,
    key: Key,
}

impl Cache {
    /// An empty cache that holds about `bytes` bytes.
    pub fn new(bytes: usize) -> Self {
        let stored = moka::sync::Cache::builder()
            .max_capacity(bytes as u64)
            .weigher(|_, outcome: &Arc<Outcome>| weigh(outcome))
            .build_with_hasher(ByDigest::default());
        Self { stored, flights: Mutex::default() }
    }

    /// What is known about `key`. With `fresh`, a stored verdict does not answer.
    pub fn look_up(self: &Arc<Self>, key: Key, fresh: bool) -> Lookup {
        if let Some(outcome) = self.known(&key, fresh) {
            return Lookup::Known(outcome);
        }
        let mut flights = self.flights.lock().unwrap_or_else(PoisonError::into_inner);
        match flights.entry(key) {
            Entry::Occupied(mut joiners) => {
                let (sender, receiver) = oneshot::channel();
                joiners.get_mut().push(sender);
                Lookup::OnItsWay(receiver)
            }
            Entry::Vacant(slot) => {
                // It may have landed between the first look and the lock.
                if let Some(outcome) = self.known(&key, fresh) {
                    return Lookup::Known(outcome);
                }
                slot.insert(Joiners::new());
                Lookup::Yours(Flight { cache: Arc::clone(self), key })
            }
        }
    }

    /// Verdicts stored.
    pub fn len(&self) -> u64 {
        self.stored.entry_count()
    }

    /// Whether nothing is stored.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn known(&self, key: &Key, fresh: bool) -> Option<Arc<Outcome>> {
        if fresh { None } else { self.stored.get(key) }
    }

    fn close(&self, key: &Key) -> Joiners {
        let mut flights = self.flights.lock().unwrap_or_else(PoisonError::into_inner);
        flights.remove(key).unwrap_or_default()
    }
}

impl Flight {
    /// Stores the verdict and hands it to everybody who waits, if it is one that lasts.
    pub fn land(self, outcome: &Arc<Outcome>) {
        if !is_lasting(outcome) {
            return;
        }
        self.cache.stored.insert(self.key, Arc::clone(outcome));
        for joiner in self.cache.close(&self.key) {
            // A joiner that has left needs no verdict.
            let _ = joiner.send(Arc::clone(outcome));
        }
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        self.cache.close(&self.key);
    }
}

fn is_lasting(outcome: &Outcome) -> bool {
    outcome.as_ref().map_or_else(|failure| failure.kind.is_lasting(), |_| true)
}

/// About how many bytes an entry takes.
fn weigh(outcome: &Outcome) -> u32 {
    let evidence = match outcome {
        Ok(reward) => &reward.evidence,
        Err(failure) => &failure.evidence,
    };
    let entry = size_of::<Key>() + size_of::<Outcome>() + 64;
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
    use rubrics::{Failure, FailureKind};

    fn key(tag: u8) -> Key {
        Key([tag; 32])
    }

    fn outcome(kind: FailureKind) -> Arc<Outcome> {
        Arc::new(Err(Failure::new(kind, verifiers::Reason::code("test"))))
    }

    fn flight(lookup: Lookup) -> Flight {
        match lookup {
            Lookup::Yours(flight) => flight,
            Lookup::Known(_) | Lookup::OnItsWay(_) => panic!("somebody has it"),
        }
    }

    fn joined(lookup: Lookup) -> oneshot::Receiver<Arc<Outcome>> {
        match lookup {
            Lookup::OnItsWay(receiver) => receiver,
            Lookup::Known(_) | Lookup::Yours(_) => panic!("nobody computes it"),
        }
    }

    #[test]
    fn an_equal_request_on_its_way_is_joined() {
        let cache = Arc::new(Cache::new(1 << 20));
        let lead = flight(cache.look_up(key(1), false));
        let mut first = joined(cache.look_up(key(1), false));
        let mut second = joined(cache.look_up(key(1), true));
        drop(flight(cache.look_up(key(2), false)));
        let verdict = outcome(FailureKind::Abstain);
        lead.land(&verdict);
        for receiver in [&mut first, &mut second] {
            assert!(Arc::ptr_eq(&receiver.try_recv().expect("landed"), &verdict));
        }
        assert!(matches!(cache.look_up(key(1), false), Lookup::Known(_)));
        assert!(matches!(cache.look_up(key(1), true), Lookup::Yours(_)), "a fresh one was asked");
    }

    #[test]
    fn a_flight_that_is_given_up_lets_others_go() {
        let cache = Arc::new(Cache::new(1 << 20));
        let lead = flight(cache.look_up(key(1), false));
        let mut waiting = joined(cache.look_up(key(1), false));
        drop(lead);
        assert!(waiting.try_recv().is_err());
        drop(flight(cache.look_up(key(1), false)));
    }

    #[test]
    fn one_callers_misfortune_is_not_stored() {
        let cache = Arc::new(Cache::new(1 << 20));
        for kind in [FailureKind::Timeout, FailureKind::Overloaded, FailureKind::Internal] {
            let lead = flight(cache.look_up(key(1), false));
            let mut waiting = joined(cache.look_up(key(1), false));
            lead.land(&outcome(kind));
            assert!(waiting.try_recv().is_err(), "{kind:?}");
        }
        drop(flight(cache.look_up(key(1), false)));
    }

    #[test]
    fn the_key_holds_all_that_may_change_a_verdict() {
        let registry = rubrics::Registry::built_in();
        let [math, text] =
            ["math", "text"].map(|name| registry.get(name).expect("built in").digest());
        let input = Input::of("4").against("4");
        let base = Key::new(math, &input, false, 0);
        assert_eq!(base, Key::new(math, &input.clone(), false, 0));
        assert_ne!(base, Key::new(text, &input, false, 0));
        assert_ne!(base, Key::new(math, &input, true, 0));
        assert_ne!(base, Key::new(math, &input, false, 1));
        assert_ne!(base, Key::new(math, &Input::of("4").against("5"), false, 0));
    }
}
