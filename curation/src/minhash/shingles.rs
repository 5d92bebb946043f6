//! Sets of shingles of texts.

use std::collections::HashSet;

use caseless::Caseless as _;
use sha2::{Digest as _, Sha256};
use unicode_normalization::UnicodeNormalization as _;
use unicode_segmentation::UnicodeSegmentation as _;

use super::MinHashOptions;
use base::seeded;

/// The distinct shingles of a text as 64-bit hashes, sorted.
///
/// [`Shingles::jaccard`] is exact but for hash collisions, of probability 2^-64 for two different
/// shingles.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shingles(Box<[u64]>);

/// Digest and shingles of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shingled {
    /// The first 16 bytes of the SHA-256 of its words: equal for texts that differ in case, white
    /// space and composition of characters only.
    pub digest: [u8; 16],
    /// Its shingles; `None` if they are more than [`MinHashOptions::max_shingles`].
    pub shingles: Option<Shingles>,
}

impl Shingled {
    /// Splits a text into shingles. Words are the segments of Unicode Standard Annex 29 that are
    /// not white space, after canonical case folding. Punctuation and symbols are separate words,
    /// so that `x + 1` and `x - 1` differ. A text of fewer words than a shingle is one shingle; a
    /// text without words has none.
    pub fn read(text: &str, options: &MinHashOptions) -> Self {
        let folded = folded(text);
        // White space is split off first: a combining mark forms one segment with a blank before
        // it.
        let words = folded.split_whitespace();
        let words = words.flat_map(|text| text.split_word_bounds());
        let mut sha = Sha256::new();
        let mut window = Window::new(options.words);
        let mut set = Some(HashSet::new());
        for word in words {
            sha.update((word.len() as u64).to_le_bytes());
            sha.update(word.as_bytes());
            window.push(seeded::hash_bytes(options.seed, word.as_bytes()));
            if let (Some(shingles), true) = (&mut set, window.is_full()) {
                shingles.insert(window.hash(options.seed));
                if shingles.len() > options.max_shingles {
                    set = None;
                }
            }
        }
        if let (Some(shingles), false) = (&mut set, window.is_full() || window.is_empty()) {
            shingles.insert(window.hash(options.seed));
        }
        let mut digest = [0; 16];
        digest.copy_from_slice(&sha.finalize()[..16]);
        Self { digest, shingles: set.map(Shingles::of) }
    }
}

/// Folds case canonically. For ASCII words that is lower case; blanks take part in no composition,
/// so that words can be folded one by one.
fn folded(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    for word in text.split_inclusive(|c: char| c.is_ascii_whitespace()) {
        if word.is_ascii() {
            folded.extend(word.chars().map(|c| c.to_ascii_lowercase()));
        } else {
            folded.extend(word.nfd().default_case_fold().nfc());
        }
    }
    folded
}

impl Shingles {
    fn of(set: HashSet<u64>) -> Self {
        let mut sorted: Box<[u64]> = set.into_iter().collect();
        sorted.sort_unstable();
        Self(sorted)
    }

    /// Returns the hashes in order.
    pub fn hashes(&self) -> &[u64] {
        &self.0
    }

    /// Returns the number of shingles.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the Jaccard similarity, intersection over union; 1 for two empty sets.
    pub fn jaccard(&self, other: &Self) -> f64 {
        let shared = self.shared(other);
        ratio(shared, self.len() + other.len() - shared)
    }

    /// Returns the greatest similarity of sets of these sizes.
    pub(super) fn jaccard_at_most(&self, other: &Self) -> f64 {
        let (fewer, more) = (self.len().min(other.len()), self.len().max(other.len()));
        ratio(fewer, more)
    }

    fn shared(&self, other: &Self) -> usize {
        let (mut left, mut right, mut shared) = (0, 0, 0);
        while let (Some(a), Some(b)) = (self.0.get(left), other.0.get(right)) {
            shared += usize::from(a == b);
            left += usize::from(a <= b);
            right += usize::from(b <= a);
        }
        shared
    }
}

fn ratio(part: usize, whole: usize) -> f64 {
    if whole == 0 {
        return 1.0;
    }
    #[expect(clippy::cast_precision_loss, reason = "far fewer than 2^53 shingles")]
    let ratio = part as f64 / whole as f64;
    ratio
}

/// The hashes of the last words.
struct Window {
    bytes: Vec<u8>,
    words: usize,
}

impl Window {
    const WORD: usize = size_of::<u64>();

    fn new(words: usize) -> Self {
        Self { bytes: Vec::with_capacity((words + 1) * Self::WORD), words }
    }

    fn push(&mut self, word: u64) {
        if self.is_full() {
            self.bytes.drain(..Self::WORD);
        }
        self.bytes.extend_from_slice(&word.to_le_bytes());
    }

    fn is_full(&self) -> bool {
        self.bytes.len() == self.words * Self::WORD
    }

    fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    fn hash(&self, seed: u64) -> u64 {
        seeded::hash_bytes(seed, &self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn folding_words_equals_folding_the_text(text in "([ -~\t\n]|[\u{300}\u{308}\u{345}\u{1e9b}\u{df}\u{130}\u{212b}\u{3a3}\u{a0}\u{2000}\u{ac00}\u{11a8}]|\\PC){0,24}") {
            let whole: String = text.nfd().default_case_fold().nfc().collect();
            prop_assert_eq!(folded(&text), whole);
        }
    }
}
