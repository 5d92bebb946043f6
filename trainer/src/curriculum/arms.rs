//! Categories as arms of a bandit.

use std::collections::VecDeque;

use rand::{Rng, RngExt as _};

use super::pool::ProblemPool;

/// A category: its problems, and the statistics of their advantages.
#[derive(Clone, Debug)]
pub(super) struct Arm {
    pub(super) pool: ProblemPool,
    /// The newest absolute advantages, over which DUMP takes the mean.
    pub(super) window: VecDeque<f64>,
    /// Their number since the start.
    pub(super) seen: u64,
    /// SEC's estimate Q.
    pub(super) estimate: f64,
}

impl Arm {
    pub(super) fn new(name: &str, members: Vec<u64>, seed: u64) -> Self {
        Self {
            pool: ProblemPool::new(name, members, seed),
            window: VecDeque::new(),
            seen: 0,
            estimate: 0.0,
        }
    }

    /// DUMP: the newest `most` absolute advantages are kept.
    pub(super) fn remember(&mut self, sizes: &[f64], most: usize) {
        self.window.extend(sizes);
        let surplus = self.window.len().saturating_sub(most);
        self.window.drain(..surplus);
        self.seen += sizes.len() as u64;
    }

    /// SEC: Q becomes rate r + (1 - rate) Q, r being the mean of the batch; a batch without items
    /// of the category leaves Q as it is.
    pub(super) fn estimate(&mut self, sizes: &[f64], rate: f64) {
        if let Some(mean) = mean_or_none(sizes.iter().copied()) {
            self.estimate = rate * mean + (1.0 - rate) * self.estimate;
        }
    }
}

/// DUMP: the mean of an arm's window plus sqrt(2 ln(N + 1) / (n + 1)), n being the advantages that
/// the arm has had in all and N those of all arms.
pub(super) fn upper_bounds(arms: &[&Arm]) -> Vec<f64> {
    let all: u64 = arms.iter().map(|arm| arm.seen).sum();
    let bound = |arm: &&Arm| {
        let mean = mean_or_none(arm.window.iter().copied()).unwrap_or(0.0);
        mean + (2.0 * (all as f64 + 1.0).ln() / (arm.seen as f64 + 1.0)).sqrt()
    };
    arms.iter().map(bound).collect()
}

/// Draws an index with its weight; weights sum to 1 up to rounding.
pub(super) fn drawn(weights: &[f64], rng: &mut impl Rng) -> usize {
    let mut left: f64 = rng.random();
    for (place, weight) in weights.iter().enumerate() {
        left -= weight;
        if left < 0.0 {
            return place;
        }
    }
    // The rounding residue belongs to the last arm with a positive weight.
    weights.iter().rposition(|w| *w > 0.0).unwrap_or(0)
}

fn mean_or_none(values: impl ExactSizeIterator<Item = f64>) -> Option<f64> {
    let count = values.len();
    (count > 0).then(|| values.sum::<f64>() / count as f64)
}
