//! Division of a signature into bands.

use super::{MinHashError, MinHashOptions};

/// Bands of a signature, and rows of each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Banding {
    /// Bands.
    pub bands: usize,
    /// Rows of a band.
    pub rows: usize,
}

impl Banding {
    /// Chooses the longest bands that find a pair at the threshold with the required recall: longer
    /// bands propose fewer candidates far below the threshold.
    ///
    /// # Errors
    /// [`MinHashError::TooFewPermutations`] if even bands of one row miss the recall.
    pub fn choose(options: &MinHashOptions) -> Result<Self, MinHashError> {
        let of_rows = |rows: usize| Self { bands: options.permutations / rows, rows };
        let finds = |banding: &Self| banding.probability(options.threshold) >= options.recall;
        let longest = (1..=options.permutations).rev().map(of_rows).find(finds);
        longest.ok_or_else(|| MinHashError::TooFewPermutations {
            permutations: options.permutations,
            threshold: options.threshold,
            recall: options.recall,
            reached: of_rows(1).probability(options.threshold),
        })
    }

    /// Returns the probability that two texts of this Jaccard similarity are candidates: 1 - (1 -
    /// s^r)^b.
    pub fn probability(self, similarity: f64) -> f64 {
        let power = |base: f64, exponent: usize| {
            let exponent = i32::try_from(exponent).expect("at most 4096 permutations");
            base.powi(exponent)
        };
        1.0 - power(1.0 - power(similarity, self.rows), self.bands)
    }

    /// Returns the number of permutations used.
    pub fn permutations(self) -> usize {
        self.bands * self.rows
    }
}
