//! Seeded hashes of content and a seeded random generator.
//!
//! Random choices among rows follow from content and a seed, never from positions, so that shards, file
//! order and the number of machines change nothing. `SipHash` is stable across versions and machines,
//! unlike the hashes of the standard library.

use siphasher::sip::SipHasher13;

/// Second half of every key, which separates these hashes from those of other programs.
const DOMAIN: u64 = 0x7472_6962_756e_616c;

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
pub fn hash_bytes(seed: u64, bytes: &[u8]) -> u64 {
    SipHasher13::new_with_keys(seed, DOMAIN).hash(bytes)
}

/// A bijection of the 64-bit numbers in which every bit of the input moves every bit of the output:
/// the finaliser of `MurmurHash3`.
pub fn mix(mut value: u64) -> u64 {
    value ^= value >> 33;
    value = value.wrapping_mul(0xff51_afd7_ed55_8ccd);
    value ^= value >> 33;
    value = value.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    value ^ (value >> 33)
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
    pub fn next_bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`, each with the same probability. `n` is at least 1.
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
