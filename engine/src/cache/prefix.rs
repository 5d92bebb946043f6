//! Namespaces of sharing, and matches in the cache.

use std::sync::Arc;

/// Prefixes are shared only within one namespace. The revision of the weights is not part of it:
/// [`super::BlockManager::invalidate`] empties the cache when they change.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CacheNamespace {
    /// The adapter; `None` for the base model.
    pub adapter: Option<CachedAdapter>,
    /// Cache salt of the request.
    pub salt: u64,
}

/// An adapter as the cache identifies it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum CachedAdapter {
    /// The digest of content that never changes: it finds its prefixes again when it is loaded
    /// again, also under another name.
    Frozen(Arc<str>),
    /// The number of the insertion of content that changes. Copies of one original have the same
    /// digest and come to differ, and slots are used again, so that neither identifies the content.
    Live(u64),
}

/// A sequence's number, assigned by the engine's thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SequenceId(pub u64);

/// The part of a sequence that is in the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrefixMatch {
    /// Computed tokens at its start, within the limit of the query.
    pub cached: usize,
    /// A longer prefix that is being computed; `None` if there is none.
    pub pending: Option<PendingPrefix>,
}

/// A prefix that another sequence is computing. It pays to wait until that sequence has computed
/// `n_tokens` tokens or is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PendingPrefix {
    /// The sequence that computes it.
    pub owner: SequenceId,
    /// Tokens that can be shared then, within the limit of the query.
    pub n_tokens: usize,
}
