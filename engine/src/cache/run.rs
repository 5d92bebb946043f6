//! A run of token ids that can be split and cut without moving what stays.

/// The tokens of one edge of the tree.
///
/// What was split off the front is skipped and not moved, so that splitting costs what is split
/// off. The skipped tokens belong to the nodes above, which live at least as long; so all runs
/// together take at most twice their tokens.
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

    /// Takes the first `n` tokens off.
    pub(super) fn split_front(&mut self, n: usize) -> TokenSpan {
        let front = TokenSpan::new(&self.token_ids()[..n]);
        self.skip += n;
        front
    }

    /// Drops all but the first `n` tokens, and their memory once it is most of it: what is
    /// trimmed off has no blocks any more, so nothing else would bound it.
    pub(super) fn truncate(&mut self, n: usize) {
        self.ids.truncate(self.skip + n);
        if self.ids.capacity() > 2 * self.ids.len() {
            self.ids.shrink_to_fit();
        }
    }

    /// How many tokens at the front are those of `token_ids`.
    pub(super) fn common(&self, token_ids: &[u32]) -> usize {
        /// Compared at once.
        const STRIDE: usize = 64;
        let own = self.token_ids();
        let n = own.len().min(token_ids.len());
        let (own, other) = (&own[..n], &token_ids[..n]);
        let strides = own.chunks_exact(STRIDE).zip(other.chunks_exact(STRIDE));
        let whole = strides.take_while(|(a, b)| a == b).count() * STRIDE;
        let rest = own[whole..].iter().zip(&other[whole..]);
        whole + rest.take_while(|(a, b)| a == b).count()
    }
}

#[cfg(test)]
impl TokenSpan {
    /// Tokens that it has memory for.
    pub(super) fn capacity(&self) -> usize {
        self.ids.capacity()
    }
}
