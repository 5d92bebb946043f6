//! Seeded hashes of content and seeded random generators, stable across versions and machines.
//!
//! Random choices among rows follow from content and a seed, never from positions, so that shards, file
//! order and the number of machines change nothing. `SipHash` is specified, unlike the hashes of the
//! standard library.

use rand_chacha::ChaCha12Rng;
use rand_chacha::rand_core::SeedableRng as _;
use sha2::{Digest as _, Sha256};
use siphasher::sip::SipHasher13;

/// Second half of every key, which separates these hashes from those of other programs.
const DOMAIN: u64 = 0x7472_6962_756e_616c;

/// Increment of the state of `SplitMix64`: 2^64 divided by the golden ratio.
const GOLDEN_GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// Hashes `parts` to 64 bits under `seed`. Parts are framed with their lengths, so that different lists
/// have different inputs.
pub fn hash(seed: u64, parts: &[&[u8]]) -> u64 {
    let mut framed = Vec::with_capacity(parts.iter().map(|part| part.len() + 8).sum());
    for part in parts {
        framed.extend_from_slice(&(part.len() as u64).to_le_bytes());
        framed.extend_from_slice(part);
    }
    hash_bytes(seed, &framed)
}

/// Hashes bytes to 64 bits under `seed`.
#[inline]
pub fn hash_bytes(seed: u64, bytes: &[u8]) -> u64 {
    SipHasher13::new_with_keys(seed, DOMAIN).hash(bytes)
}

/// A bijection of the 64-bit numbers in which every bit of the input moves every bit of the output:
/// the finaliser of `MurmurHash3`.
#[inline]
pub fn mix(mut value: u64) -> u64 {
    value ^= value >> 33;
    value = value.wrapping_mul(0xff51_afd7_ed55_8ccd);
    value ^= value >> 33;
    value = value.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    value ^ (value >> 33)
}

/// Output function of `SplitMix64` (Steele, Lea and Flood, 2014), a bijection of the 64-bit numbers: the
/// number that the generator gives from the state `state`.
#[inline]
pub fn split_mix(state: u64) -> u64 {
    let z = state.wrapping_add(GOLDEN_GAMMA);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Creates the generator of one decision, keyed by a run's seed and the decision, so that no decision
/// depends on how many were made before it. `purpose` names it, `at` numbers it (step, prompt, rollout).
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

/// The random generator `SplitMix64`.
#[derive(Debug, Clone)]
pub struct Draws {
    state: u64,
}

impl Draws {
    /// Creates a generator.
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// The next 64 bits.
    #[inline]
    pub fn next_bits(&mut self) -> u64 {
        let bits = split_mix(self.state);
        self.state = self.state.wrapping_add(GOLDEN_GAMMA);
        bits
    }

    /// A number below `n`, each with the same probability. `n` is at least 1.
    #[inline]
    pub fn below(&mut self, n: usize) -> usize {
        let n = n.max(1) as u64;
        // Lemire's method: the low half says whether the high half is of a short interval.
        let least = n.wrapping_neg() % n;
        loop {
            let wide = u128::from(self.next_bits()) * u128::from(n);
            #[expect(clippy::cast_possible_truncation, reason = "the low half is wanted")]
            let low = wide as u64;
            if low >= least {
                return usize::try_from(wide >> 64).expect("it is below n, which is a usize");
            }
        }
    }

    /// A number in [0, 1).
    #[inline]
    pub fn unit(&mut self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "53 bits fit")]
        let high = (self.next_bits() >> 11) as f64;
        high * (1.0 / 9_007_199_254_740_992.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_part_of_a_decision_changes_its_draws() {
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

    #[test]
    fn parts_do_not_run_together() {
        let lists: [&[&[u8]]; 6] =
            [&[], &[b""], &[b"", b""], &[b"ab"], &[b"a", b"b"], &[b"b", b"a"]];
        for (index, list) in lists.iter().enumerate() {
            for other in &lists[..index] {
                assert_ne!(hash(7, list), hash(7, other), "{list:?} {other:?}");
            }
            assert_ne!(hash(7, list), hash(8, list), "{list:?}");
        }
    }

    #[test]
    fn draws_are_those_of_the_generator() {
        // From the reference implementation with the seed 1234567.
        let mut draws = Draws::new(1_234_567);
        let first: Vec<u64> = (0..3).map(|_| draws.next_bits()).collect();
        assert_eq!(
            first,
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
        );
    }

    #[test]
    fn draws_below_a_number_are_even() {
        let mut draws = Draws::new(3);
        let mut counts = [0_u32; 6];
        for _ in 0..60_000 {
            counts[draws.below(6)] += 1;
        }
        // Six standard deviations of a binomial count.
        assert!(counts.iter().all(|count| count.abs_diff(10_000) < 548), "{counts:?}");
        assert_eq!(draws.below(1), 0);
    }

    proptest! {
        #[test]
        fn draws_stay_in_their_range(seed in any::<u64>(), n in 1usize..1_000_000) {
            let mut draws = Draws::new(seed);
            prop_assert!(draws.below(n) < n);
            let unit = draws.unit();
            prop_assert!((0.0..1.0).contains(&unit));
        }

        #[test]
        fn mixing_loses_nothing(a in any::<u64>(), b in any::<u64>()) {
            prop_assert_eq!(a == b, mix(a) == mix(b));
        }
    }
}
