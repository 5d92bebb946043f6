//! Random draws whose algorithms are fixed here, so that no update of a library changes the data.

use rand::Rng as _;
use rand_chacha::ChaCha12Rng;

/// The generator of one decision: its numbers depend on seed, purpose and index alone.
#[derive(Debug)]
pub(super) struct StableRng(ChaCha12Rng);

impl StableRng {
    /// `purpose` names the decision, `index` numbers it.
    pub(super) fn new(seed: u64, purpose: &str, index: &[u64]) -> Self {
        Self(base::seeded::decision(seed, purpose, index))
    }

    /// Uniform in `0..n`, without the bias of a remainder.
    pub(super) fn below(&mut self, n: usize) -> usize {
        assert!(n > 0, "there is something to choose from");
        let n = n as u64;
        let fair = u64::MAX - u64::MAX % n;
        loop {
            let drawn = self.0.next_u64();
            if drawn < fair {
                return usize::try_from(drawn % n).expect("it is below a usize");
            }
        }
    }

    /// Uniform in `least..=most`.
    pub(super) fn within(&mut self, least: u8, most: u8) -> u8 {
        let span = usize::from(most - least) + 1;
        least + u8::try_from(self.below(span)).expect("it is below 256")
    }

    /// Uniform in `[0, 1)`.
    pub(super) fn share(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// True with this probability.
    pub(super) fn chance(&mut self, probability: f64) -> bool {
        self.share() < probability
    }

    /// True half of the time.
    pub(super) fn coin(&mut self) -> bool {
        self.0.next_u64() & 1 == 1
    }

    /// One of several.
    pub(super) fn pick<'a, T>(&mut self, among: &'a [T]) -> &'a T {
        &among[self.below(among.len())]
    }

    /// One of them, by weights of which one is above 0.
    pub(super) fn weighted<T: Copy>(&mut self, among: &[(T, f64)]) -> T {
        let mut left = self.share() * among.iter().map(|(_, weight)| weight).sum::<f64>();
        for (item, weight) in among {
            if left < *weight {
                return *item;
            }
            left -= weight;
        }
        let usable = among.iter().rev().find(|(_, weight)| *weight > 0.0);
        usable.expect("a weight is above 0").0
    }

    /// A random order (Fisher and Yates).
    pub(super) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::StableRng;

    #[test]
    fn draws_are_uniform_and_repeatable() {
        let mut counts = [0; 6];
        for at in 0..6000 {
            counts[StableRng::new(1, "die", &[at]).below(6)] += 1;
        }
        assert!(counts.iter().all(|n| (850..1150).contains(n)), "{counts:?}");
        let mut orders = std::collections::BTreeMap::new();
        for at in 0..2400 {
            let mut items = [1, 2, 3];
            StableRng::new(2, "order", &[at]).shuffle(&mut items);
            *orders.entry(items).or_insert(0) += 1;
        }
        assert_eq!(orders.len(), 6);
        assert!(orders.values().all(|n| (300..500).contains(n)), "{orders:?}");
        let numbers = |seed| {
            let mut rng = StableRng::new(seed, "a", &[]);
            (rng.within(3, 9), rng.share().to_bits(), rng.coin())
        };
        assert_eq!(numbers(4), numbers(4));
        assert!((0..50).all(|seed| (3..=9).contains(&numbers(seed).0)));
    }
}
