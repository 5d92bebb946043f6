//! The votes on all pairs of a dataset.

use base::stats::from_count;

/// Votes on pairs in order, 8 bytes each: of each voter its score of the chosen response less that
/// of the rejected one.
#[derive(Debug, Clone)]
pub struct Votes {
    n_voters: usize,
    /// Pair after pair; no number where there is no vote.
    differences: Vec<f64>,
}

impl Votes {
    /// No votes yet, of so many voters.
    pub fn new(n_voters: usize) -> Self {
        Self { n_voters, differences: Vec::new() }
    }

    /// Adds the votes on pairs, one after the other: a multiple of the voters. What is not finite is
    /// no vote.
    ///
    /// # Panics
    /// If votes are missing.
    pub fn extend(&mut self, votes: &[Option<f64>]) {
        let n_voters = self.n_voters.max(1);
        assert!(votes.len().is_multiple_of(n_voters), "each voter has a vote or none on each pair");
        let number = |vote: &Option<f64>| vote.filter(|vote| vote.is_finite()).unwrap_or(f64::NAN);
        self.differences.extend(votes.iter().map(number));
    }

    /// Pairs.
    pub fn n_pairs(&self) -> usize {
        self.differences.len() / self.n_voters.max(1)
    }

    /// The votes on one pair, counted from 0.
    ///
    /// # Panics
    /// If there is no such pair.
    pub fn pair(&self, index: usize) -> Vec<Option<f64>> {
        let own = &self.differences[index * self.n_voters..(index + 1) * self.n_voters];
        own.iter().map(|vote| Some(*vote).filter(|vote| !vote.is_nan())).collect()
    }

    /// The root mean square of each voter's differences over all pairs, by which they are divided so
    /// that a voter with large numbers does not outvote the others: the zero between the two
    /// responses stays where it is. 1 for a voter that always says zero. Does not depend on the
    /// order of the pairs.
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

/// Votes on one pair divided by their voters' scales.
pub fn rescaled(votes: &[Option<f64>], scales: &[f64]) -> Vec<Option<f64>> {
    let scaled = votes.iter().zip(scales);
    scaled.map(|(vote, scale)| vote.map(|vote| vote / scale)).collect()
}
