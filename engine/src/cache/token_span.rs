//! The token ids of one node, which can be split and truncated without moving the rest.

/// The tokens of one node of the tree.
///
/// Tokens split off the front are skipped and not moved, so that a split costs only the tokens
/// split off. The skipped tokens belong to the nodes above, which live at least as long; so all
/// spans together take at most twice their tokens.
#[derive(Clone, Debug)]
pub(super) struct TokenSpan {
    ids: Vec<u32>,
    skip: usize,
}

impl TokenSpan {
    pub(super) fn new(token_ids: &[u32]) -> TokenSpan {
        TokenSpan { ids: token_ids.to_vec(), skip: 0 }
    }

    pub(super) fn token_ids(&self) -> &[u32] {
        &self.ids[self.skip..]
    }

    pub(super) fn len(&self) -> usize {
        self.ids.len() - self.skip
    }

    /// Splits off the first `n` tokens.
    pub(super) fn split_front(&mut self, n: usize) -> TokenSpan {
        let front = TokenSpan::new(&self.token_ids()[..n]);
        self.skip += n;
        front
    }

    /// Drops all but the first `n` tokens, and their memory once it is more than half: dropped
    /// tokens have no blocks, so that nothing else bounds it.
    pub(super) fn truncate(&mut self, n: usize) {
        self.ids.truncate(self.skip + n);
        if self.ids.capacity() > 2 * self.ids.len() {
            self.ids.shrink_to_fit();
        }
    }

    /// Length of the common prefix with `token_ids`.
    pub(super) fn common_prefix(&self, token_ids: &[u32]) -> usize {
        /// Tokens compared at a time.
        const STRIDE: usize = 64;
        let own = self.token_ids();
        let n = own.len().min(token_ids.len());
        let (own, other) = (&own[..n], &token_ids[..n]);
        let strides = own.chunks_exact(STRIDE).zip(other.chunks_exact(STRIDE));
        let equal = strides.take_while(|(a, b)| a == b).count() * STRIDE;
        let rest = own[equal..].iter().zip(&other[equal..]);
        equal + rest.take_while(|(a, b)| a == b).count()
    }
}

#[cfg(test)]
impl TokenSpan {
    /// Tokens that the allocation holds.
    pub(super) fn capacity(&self) -> usize {
        self.ids.capacity()
    }
}
