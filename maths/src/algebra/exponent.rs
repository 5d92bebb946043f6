//! Exponents of monomials: small fractions.

use dashu::rational::RBig;

use super::stop::Stop;

/// A fraction of machine integers, reduced, with a positive denominator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Exponent {
    above: i64,
    below: i64,
}

impl Exponent {
    pub(super) const ZERO: Self = Self { above: 0, below: 1 };
    pub(super) const ONE: Self = Self { above: 1, below: 1 };
    pub(super) const HALF: Self = Self { above: 1, below: 2 };

    /// Creates `above / below`, where `below` is not zero.
    ///
    /// # Errors
    /// [`Stop::Costly`] when the reduced fraction does not fit.
    pub(super) fn new(above: i128, below: i128) -> Result<Self, Stop> {
        let divisor = gcd(above.unsigned_abs(), below.unsigned_abs());
        let divisor = i128::try_from(divisor).map_err(|_| Stop::Costly)? * below.signum();
        let fits = |value: i128| i64::try_from(value).map_err(|_| Stop::Costly);
        Ok(Self { above: fits(above / divisor)?, below: fits(below / divisor)? })
    }

    pub(super) fn integer(value: i64) -> Self {
        Self { above: value, below: 1 }
    }

    /// # Errors
    /// [`Stop::Costly`] when it does not fit.
    pub(super) fn from_rational(value: &RBig) -> Result<Self, Stop> {
        let above = i64::try_from(value.numerator()).map_err(|_| Stop::Costly)?;
        let below = i64::try_from(value.denominator()).map_err(|_| Stop::Costly)?;
        Ok(Self { above, below })
    }

    pub(super) fn to_rational(self) -> RBig {
        RBig::from_parts(self.above.into(), self.below.unsigned_abs().into())
    }

    pub(super) fn above(self) -> i64 {
        self.above
    }

    pub(super) fn below(self) -> i64 {
        self.below
    }

    pub(super) fn is_zero(self) -> bool {
        self.above == 0
    }

    pub(super) fn is_negative(self) -> bool {
        self.above < 0
    }

    pub(super) fn is_integer(self) -> bool {
        self.below == 1
    }

    /// Returns the greatest integer that is not greater.
    pub(super) fn floor(self) -> i64 {
        self.above.div_euclid(self.below)
    }

    /// Returns the fractional part after [`Self::floor`], in [0, 1).
    pub(super) fn fraction(self) -> Self {
        Self { above: self.above.rem_euclid(self.below), below: self.below }
    }

    pub(super) fn plus(self, other: Self) -> Result<Self, Stop> {
        if self.below == 1 && other.below == 1 {
            let above = self.above.checked_add(other.above).ok_or(Stop::Costly)?;
            return Ok(Self::integer(above));
        }
        let left = i128::from(self.above) * i128::from(other.below);
        let right = i128::from(other.above) * i128::from(self.below);
        let above = left.checked_add(right).ok_or(Stop::Costly)?;
        Self::new(above, i128::from(self.below) * i128::from(other.below))
    }

    pub(super) fn times(self, other: Self) -> Result<Self, Stop> {
        let above = i128::from(self.above) * i128::from(other.above);
        Self::new(above, i128::from(self.below) * i128::from(other.below))
    }

    pub(super) fn negated(self) -> Result<Self, Stop> {
        let above = self.above.checked_neg().ok_or(Stop::Costly)?;
        Ok(Self { above, ..self })
    }
}

impl PartialOrd for Exponent {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Exponent {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        let left = i128::from(self.above) * i128::from(other.below);
        left.cmp(&(i128::from(other.above) * i128::from(self.below)))
    }
}

fn gcd(mut left: u128, mut right: u128) -> u128 {
    while right != 0 {
        (left, right) = (right, left % right);
    }
    left.max(1)
}
