//! Reproducible randomness: every decision has a generator of its own, keyed by the run's seed and
//! the decision, so that no decision depends on the number of earlier ones.

use rand_chacha::ChaCha12Rng;
use rand_chacha::rand_core::SeedableRng;
use sha2::{Digest as _, Sha256};

/// Makes the generator of one decision; `purpose` names it, `at` numbers it (step, prompt,
/// rollout).
pub fn decision(seed: u64, purpose: &str, at: &[u64]) -> ChaCha12Rng {
    let mut hash = Sha256::new();
    hash.update(seed.to_le_bytes());
    hash.update((purpose.len() as u64).to_le_bytes());
    hash.update(purpose);
    for number in at {
        hash.update(number.to_le_bytes());
    }
    ChaCha12Rng::from_seed(hash.finalize().into())
}

#[cfg(test)]
mod tests {
    use rand::Rng as _;

    use super::decision;

    #[test]
    fn every_part_of_the_key_matters() {
        let draw = |seed, purpose: &str, at: &[u64]| decision(seed, purpose, at).next_u64();
        let base = draw(1, "a", &[2, 3]);
        assert_eq!(base, draw(1, "a", &[2, 3]));
        for other in [
            draw(2, "a", &[2, 3]),
            draw(1, "b", &[2, 3]),
            draw(1, "a", &[3, 2]),
            draw(1, "a", &[2]),
            draw(1, "a", &[2, 3, 0]),
        ] {
            assert_ne!(base, other);
        }
    }
}
