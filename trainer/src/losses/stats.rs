//! Statistics of a loss: sums that add up over micro-batches.

use std::collections::BTreeMap;

/// The sum, count and maximum of numbers of one kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tally {
    /// Number of values.
    pub count: u64,
    /// Their sum.
    pub total: f64,
    /// The largest.
    pub max: f64,
}

impl Default for Tally {
    fn default() -> Self {
        Self { count: 0, total: 0.0, max: f64::NEG_INFINITY }
    }
}

impl Tally {
    /// Their mean; `None` without numbers.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.total / self.count as f64)
    }

    pub(crate) fn add(&mut self, value: f64) {
        self.count += 1;
        self.total += value;
        self.max = self.max.max(value);
    }

    fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.total += other.total;
        self.max = self.max.max(other.max);
    }
}

/// Tallies by their names in the log: `player/ratio`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stats {
    tallies: BTreeMap<String, Tally>,
}

impl Stats {
    /// The tally of a name; `None` if it counted nothing.
    pub fn get(&self, name: &str) -> Option<&Tally> {
        self.tallies.get(name)
    }

    /// All of them, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Tally)> {
        self.tallies.iter().map(|(name, tally)| (name.as_str(), tally))
    }

    /// Adds the tallies of another micro-batch.
    pub fn merge(&mut self, other: &Self) {
        for (name, tally) in other.iter() {
            self.insert(name.to_owned(), tally);
        }
    }

    /// Adds a tally under a name; an empty one is not stored.
    pub(crate) fn insert(&mut self, name: String, tally: &Tally) {
        if tally.count > 0 {
            self.tallies.entry(name).or_default().merge(tally);
        }
    }
}
