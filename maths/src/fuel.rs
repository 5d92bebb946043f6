//! Counted work.
//!
//! Work is counted and not timed, so that a verdict is the same on a slow and on a fast machine. A
//! unit is about a hundred nanoseconds of work on current hardware: a byte or two of text, or a few
//! words of big-number arithmetic.

/// A budget of work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fuel {
    limit: u64,
    used: u64,
}

/// The budget is spent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exhausted;

impl Fuel {
    /// The default budget of a verdict: about 20 ms of work.
    pub const DEFAULT: u64 = 200_000;

    /// Creates a budget of `limit` units.
    pub fn new(limit: u64) -> Self {
        Self { limit, used: 0 }
    }

    /// Takes `units`, or takes the rest and fails.
    ///
    /// # Errors
    /// [`Exhausted`] when less than `units` is left; the budget is then used up, so that every
    /// later call fails too.
    pub fn spend(&mut self, units: u64) -> Result<(), Exhausted> {
        if units > self.limit - self.used {
            self.used = self.limit;
            return Err(Exhausted);
        }
        self.used += units;
        Ok(())
    }

    /// Returns the units left.
    pub fn left(&self) -> u64 {
        self.limit - self.used
    }

    /// Returns the units spent so far.
    pub fn used(&self) -> u64 {
        self.used
    }
}

impl Default for Fuel {
    fn default() -> Self {
        Self::new(Self::DEFAULT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exhausted_fuel_stays_exhausted() {
        let mut fuel = Fuel::new(10);
        assert_eq!(fuel.spend(7), Ok(()));
        assert_eq!(fuel.spend(4), Err(Exhausted));
        assert_eq!(fuel.spend(1), Err(Exhausted));
        assert_eq!(fuel.spend(0), Ok(()));
        assert_eq!(fuel.used(), 10);
        assert_eq!(fuel.spend(u64::MAX), Err(Exhausted));
    }
}
