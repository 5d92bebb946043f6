//! Ids of traces and spans.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::context::{SpanId, TraceId};

/// Gives ids that do not repeat in a process and are unlikely to in another: SplitMix64 from a random
/// start, whose outputs are also spread evenly for samplers.
#[derive(Debug)]
pub(crate) struct IdSource(AtomicU64);

/// Weyl increment of SplitMix64.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

impl IdSource {
    pub(crate) fn new() -> IdSource {
        // Without a source of randomness, the clock tells processes apart.
        let start = getrandom::u64().unwrap_or_else(|_| crate::span::unix_nanos());
        IdSource(AtomicU64::new(start))
    }

    fn next(&self) -> u64 {
        let mut mixed = self.0.fetch_add(STEP, Ordering::Relaxed);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn span_id(&self) -> SpanId {
        // One state in 2^64 gives zero, and the next one does not.
        SpanId::new(self.next()).or_else(|| SpanId::new(self.next())).expect("not zero twice")
    }

    pub(crate) fn trace_id(&self) -> TraceId {
        let halves = [self.next(), self.next()].map(u128::from);
        TraceId::new(halves[0] << 64 | halves[1]).expect("two states do not both give zero")
    }
}
