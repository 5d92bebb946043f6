//! Random draws of one step.

use rand_chacha::ChaCha12Rng;

use base::seeded::decision;

/// Seed and step, which determine the random draws of one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepSeed {
    /// The seed of the run.
    pub seed: u64,
    /// The step, from 1.
    pub step: u64,
}

impl StepSeed {
    /// Seeds the generator of one decision of this step.
    pub(super) fn rng(self, purpose: &str, number: usize) -> ChaCha12Rng {
        decision(self.seed, purpose, &[self.step, number as u64])
    }
}

/// Draws `count` of `0..of` without replacement, uniformly, in ascending order; all of them if
/// there are fewer.
pub(super) fn subset(rng: &mut impl rand::Rng, of: usize, count: usize) -> Vec<usize> {
    if count >= of {
        return (0..of).collect();
    }
    let mut chosen = rand::seq::index::sample(rng, of, count).into_vec();
    chosen.sort_unstable();
    chosen
}
