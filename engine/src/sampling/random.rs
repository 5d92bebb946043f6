//! Counter-based random numbers: each is a function of its purpose and of no earlier draw.

/// Rounds of Philox, as its authors recommend.
const ROUNDS: usize = 10;
const MULTIPLIERS: [u32; 2] = [0xd251_1f53, 0xcd9e_8d57];
const KEY_STEPS: [u32; 2] = [0x9e37_79b9, 0xbb67_ae85];

/// Sixty-four uniform bits for the token at `position` of the sequence, in generation `stream`
/// under `seed`.
///
/// Philox4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3",
/// 2011), with the seed for its key and (position, stream) for its counter.
pub(super) fn bits(seed: u64, stream: u64, position: u64) -> u64 {
    let [seed, stream, position] = [seed, stream, position].map(halves);
    let counter = [position[0], position[1], stream[0], stream[1]];
    let [low, high, ..] = philox(counter, seed);
    u64::from(high) << 32 | u64::from(low)
}

/// Low half first.
#[expect(clippy::cast_possible_truncation, reason = "the halves are meant")]
fn halves(x: u64) -> [u32; 2] {
    [x as u32, (x >> 32) as u32]
}

fn philox(mut counter: [u32; 4], mut key: [u32; 2]) -> [u32; 4] {
    for _ in 0..ROUNDS {
        let [low_0, high_0] = halves(u64::from(MULTIPLIERS[0]) * u64::from(counter[0]));
        let [low_1, high_1] = halves(u64::from(MULTIPLIERS[1]) * u64::from(counter[2]));
        counter = [high_1 ^ counter[1] ^ key[0], low_1, high_0 ^ counter[3] ^ key[1], low_0];
        for (key, step) in key.iter_mut().zip(KEY_STEPS) {
            *key = key.wrapping_add(step);
        }
    }
    counter
}

#[cfg(test)]
mod tests {
    use super::{bits, philox};

    /// Test vectors published with the authors' library.
    #[test]
    fn philox_matches_published_vectors() {
        let check = |counter, key, expected| assert_eq!(philox(counter, key), expected);
        check([0; 4], [0; 2], [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
        check([u32::MAX; 4], [u32::MAX; 2], [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]);
        check(
            [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344],
            [0xa409_3822, 0x299f_31d0],
            [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1],
        );
    }

    #[test]
    fn every_bit_of_every_argument_counts() {
        let base = bits(0, 0, 0);
        for shift in 0..64 {
            assert_ne!(bits(1 << shift, 0, 0), base);
            assert_ne!(bits(0, 1 << shift, 0), base);
            assert_ne!(bits(0, 0, 1 << shift), base);
        }
    }
}
