//! Early end of an attempt, and its share of fuel.

use crate::fuel::{Exhausted, Fuel};

/// Reason why an attempt ended without a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    /// The fuel of the verdict is spent.
    Exhausted,
    /// The share of this attempt does not cover the next step. The rest of the verdict's fuel can
    /// cover another attempt.
    Costly,
    /// The expression has no value: a division by zero, `0/0`.
    Undefined,
    /// Something in it has no rule.
    NoRule,
}

impl From<Exhausted> for Stop {
    fn from(_: Exhausted) -> Self {
        Self::Exhausted
    }
}

/// Fuel that one attempt may use at most.
#[derive(Debug, Clone, Copy)]
pub(super) struct Share(u64);

impl Share {
    /// Creates a share of at most `units`.
    pub(super) fn new(units: u64) -> Self {
        Self(units)
    }

    /// Takes `units` from the share and from `fuel`.
    ///
    /// # Errors
    /// [`Stop::Costly`], with nothing taken, where the share is too small; [`Stop::Exhausted`]
    /// where `fuel` is.
    pub(super) fn spend(&mut self, fuel: &mut Fuel, units: u64) -> Result<(), Stop> {
        if units > self.0 {
            return Err(Stop::Costly);
        }
        self.0 -= units;
        fuel.spend(units)?;
        Ok(())
    }

    /// Returns the fuel units that are left.
    pub(super) fn left(self) -> u64 {
        self.0
    }
}

/// Returns the units for arithmetic on fractions whose parts have `bits` bits together, mostly for
/// the greatest common divisor; nothing for machine words.
pub(super) fn big(bits: u64) -> u64 {
    if bits <= 128 {
        return 0;
    }
    let words = bits / 64;
    words.saturating_mul(words) / 32 + words / 4
}
