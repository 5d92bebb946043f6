//! Votes on all pairs of a dataset.

use base::stats::from_count;

/// Votes on pairs in order, 8 bytes each: each voter's score of the chosen response less that of
/// the rejected one.
#[derive(Debug, Clone)]
pub struct Votes {
    n_voters: usize,
    /// Pair after pair; NaN without a vote.
    differences: Vec<f64>,
}

impl Votes {
    /// Starts without votes.
    pub fn new(n_voters: usize) -> Self {
        Self { n_voters, differences: Vec::new() }
    }

    /// Adds votes pair by pair, one for each voter. A vote that is not finite counts as missing.
    ///
    /// # Panics
    /// If votes are missing.
    pub fn extend(&mut self, votes: &[Option<f64>]) {
        let n_voters = self.n_voters.max(1);
        assert!(votes.len().is_multiple_of(n_voters), "each voter has a vote or none on each pair");
        let number = |vote: &Option<f64>| vote.filter(|vote| vote.is_finite()).unwrap_or(f64::NAN);
        self.differences.extend(votes.iter().map(number));
    }

    /// Returns the number of pairs.
    pub fn n_pairs(&self) -> usize {
        self.differences.len() / self.n_voters.max(1)
    }

    /// Returns the votes on the pair at `index`, from 0.
    ///
    /// # Panics
    /// If there is no such pair.
    pub fn pair(&self, index: usize) -> Vec<Option<f64>> {
        let own = &self.differences[index * self.n_voters..(index + 1) * self.n_voters];
        own.iter().map(|vote| Some(*vote).filter(|vote| !vote.is_nan())).collect()
    }

    /// Computes the root mean square of each voter's differences over all pairs. Dividing by it
    /// gives voters equal weight and keeps the sign of differences. 1 for a voter that always votes
    /// zero. Does not depend on the order of the pairs.
    pub fn scales(&self) -> Vec<f64> {
        (0..self.n_voters).map(|voter| self.scale(voter)).collect()
    }

    fn scale(&self, voter: usize) -> f64 {
        let all = self.differences.iter().skip(voter).step_by(self.n_voters);
        let mut squares: Vec<f64> = all.filter(|d| !d.is_nan()).map(|d| d * d).collect();
        squares.sort_unstable_by(f64::total_cmp);
        let root = f64::sqrt(squares.iter().sum::<f64>() / from_count(squares.len().max(1)));
        if root > 0.0 && root.is_finite() { root } else { 1.0 }
    }
}

/// Divides the votes on one pair by their voters' scales.
pub fn rescaled(votes: &[Option<f64>], scales: &[f64]) -> Vec<Option<f64>> {
    let scaled = votes.iter().zip(scales);
    scaled.map(|(vote, scale)| vote.map(|vote| vote / scale)).collect()
}
