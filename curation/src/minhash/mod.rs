//! Near-duplicate texts: `MinHash` signatures, banded locality-sensitive hashing, and the exact
//! Jaccard similarity of every candidate.
//!
//! The resemblance of two texts is the Jaccard similarity of their sets of shingles, and the least
//! element of a set under a random permutation is that of another set with exactly this probability
//! (Broder, *On the resemblance and containment of documents*, 1997). A signature is the least
//! element under each of k permutations; it is cut into b bands of r rows, and two texts are
//! candidates if one band is equal, which happens with probability 1 - (1 - s^r)^b at similarity s
//! (Leskovec, Rajaraman, Ullman, *Mining of Massive Datasets*, chapter 3).
//!
//! Signatures only propose candidates. Shingle sets decide whether two texts are duplicates, so
//! that no pair below the threshold is a duplicate; pairs that the bands miss are kept.
//!
//! # Memory
//! A row that does not copy an earlier one keeps its distinct shingles (8 bytes each, at most
//! [`MinHashOptions::max_shingles`]), an entry in each band (at most 8 bytes in a list and 39 in a
//! hash table) and at most 160 bytes beside: with the default of 21 bands, about 1 KB and 8 bytes a
//! shingle. A copy keeps at most 8 bytes. [`NearDuplicates::memory_bytes`] returns the memory in
//! use, [`MinHashOptions::max_bytes`] bounds it.
//!
//! # Time
//! A text is compared with every earlier one that shares a band and is not in its cluster yet.
//! Texts of one template that are not duplicates have many of these: longer bands (a lower recall
//! or more permutations) propose fewer.

mod banding;
mod index;
mod shingles;
#[cfg(test)]
mod tests;

pub use banding::Banding;
pub use index::{NearDuplicates, Signed, TextStatus};
pub use shingles::{Shingled, Shingles};

/// Options of the comparison of texts.
#[derive(Debug, Clone, PartialEq)]
pub struct MinHashOptions {
    /// Words in a shingle.
    pub words: usize,
    /// Jaccard similarity from which two texts are duplicates, above 0 and at most 1.
    pub threshold: f64,
    /// Permutations of a signature.
    pub permutations: usize,
    /// Probability of finding a pair exactly at the threshold.
    pub recall: f64,
    /// Key of the hashes. The same rows and seed give the same results.
    pub seed: u64,
    /// Most distinct shingles of a text that is compared. A longer text is a duplicate of equal
    /// texts only; [`NearDuplicates::n_too_long`] counts them.
    pub max_shingles: usize,
    /// Bytes that the index may hold; `None` for no bound.
    pub max_bytes: Option<usize>,
}

impl Default for MinHashOptions {
    fn default() -> Self {
        Self {
            words: 5,
            threshold: 0.8,
            permutations: 128,
            recall: 0.99,
            seed: 0,
            max_shingles: 1 << 16,
            max_bytes: None,
        }
    }
}

/// Error of the comparison of texts.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum MinHashError {
    /// A setting is out of its range.
    #[error("{name} is {value}; {expected}")]
    Setting {
        /// The setting.
        name: &'static str,
        /// The given value.
        value: String,
        /// The valid values.
        expected: &'static str,
    },
    /// Too few permutations for the threshold.
    #[error(
        "{permutations} permutations find a pair at threshold {threshold} with probability \
         {reached:.3} at most, and not {recall}; give more permutations or a lower recall"
    )]
    TooFewPermutations {
        /// Permutations.
        permutations: usize,
        /// The threshold.
        threshold: f64,
        /// The required probability.
        recall: f64,
        /// The greatest probability of these permutations.
        reached: f64,
    },
    /// The index has reached its bound.
    #[error(
        "the index of near-duplicates holds {held} bytes after {rows} rows, and may hold {bound}; \
         give it more memory, longer shingles, or fewer rows"
    )]
    Full {
        /// Rows in the index.
        rows: usize,
        /// Bytes in use.
        held: usize,
        /// The limit in bytes.
        bound: usize,
    },
    /// More rows than can be numbered.
    #[error("more than {most} rows; divide them by something that duplicates share")]
    TooManyRows {
        /// The greatest number of rows.
        most: usize,
    },
}

impl MinHashOptions {
    /// Checks every setting.
    ///
    /// # Errors
    /// [`MinHashError::Setting`] for the first setting out of its range.
    pub fn check(&self) -> Result<(), MinHashError> {
        let bad =
            |name, value: String, expected| Err(MinHashError::Setting { name, value, expected });
        if self.words == 0 || self.words > 64 {
            return bad("words", self.words.to_string(), "it must be 1 to 64");
        }
        if !(self.threshold > 0.0 && self.threshold <= 1.0) {
            let expected = "it must be above 0 and at most 1";
            return bad("threshold", self.threshold.to_string(), expected);
        }
        if self.permutations == 0 || self.permutations > 4096 {
            let expected = "it must be 1 to 4096";
            return bad("permutations", self.permutations.to_string(), expected);
        }
        if !(self.recall > 0.0 && self.recall < 1.0) {
            let expected = "it must be between 0 and 1";
            return bad("recall", self.recall.to_string(), expected);
        }
        if self.max_shingles == 0 {
            return bad("max_shingles", "0".to_owned(), "it must be at least 1");
        }
        Ok(())
    }
}
