//! Closed intervals of real numbers: every operation returns one that contains all results.

use std::cmp::Ordering;

use dashu::integer::IBig;
use dashu::rational::RBig;

use super::Stop;
use super::float::{Float, Toward};

/// An interval that certainly contains a number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interval {
    pub(super) lower: Float,
    pub(super) upper: Float,
}

/// Reading an interval.
impl Interval {
    /// Returns the lower end, exactly.
    pub fn lower(&self) -> RBig {
        self.lower.to_rational()
    }

    /// Returns the upper end, exactly.
    pub fn upper(&self) -> RBig {
        self.upper.to_rational()
    }

    /// Returns the sign of every number in it, if they have the same one.
    pub fn sign(&self) -> Option<Ordering> {
        match (self.lower.sign(), self.upper.sign()) {
            (Ordering::Greater, _) => Some(Ordering::Greater),
            (_, Ordering::Less) => Some(Ordering::Less),
            (Ordering::Equal, Ordering::Equal) => Some(Ordering::Equal),
            (Ordering::Less | Ordering::Equal, Ordering::Equal | Ordering::Greater) => None,
        }
    }

    pub(super) fn contains_zero(&self) -> bool {
        self.lower.sign() != Ordering::Greater && self.upper.sign() != Ordering::Less
    }

    pub(super) fn is_disjoint(&self, other: &Self) -> bool {
        self.upper < other.lower || other.upper < self.lower
    }

    /// Returns the exact number, if it is one and small.
    pub(super) fn point(&self) -> Option<RBig> {
        (self.lower == self.upper && self.lower.is_small()).then(|| self.lower.to_rational())
    }

    pub(super) fn is_zero(&self) -> bool {
        self.lower.is_zero() && self.upper.is_zero()
    }

    /// Returns the bits to which all numbers in it agree, relative to their size; of an interval
    /// around 0, to which they agree with 0.
    pub(super) fn agreement(&self) -> i64 {
        let size = self.lower.magnitude().max(self.upper.magnitude());
        let width = self.upper.sub(&self.lower, 64, Toward::Up);
        let Ok(width) = width else { return 0 };
        match (size.top(), width.top()) {
            (_, None) => i64::MAX,
            (None, Some(_)) => 0,
            (Some(size), Some(width)) if self.contains_zero() => (-size.max(width)).max(0),
            (Some(size), Some(width)) => (size - width).max(0),
        }
    }

    /// Returns the smallest interval around both.
    pub(super) fn hull(&self, other: &Self) -> Self {
        Self {
            lower: self.lower.clone().min(other.lower.clone()),
            upper: self.upper.clone().max(other.upper.clone()),
        }
    }
}

/// Making intervals.
impl Interval {
    pub(super) fn integer(value: i32) -> Self {
        Self::exactly(Float::integer(value))
    }

    pub(super) fn exactly(value: Float) -> Self {
        Self { lower: value.clone(), upper: value }
    }

    pub(super) fn from_rational(value: &RBig, bits: u32) -> Result<Self, Stop> {
        Ok(Self {
            lower: Float::from_rational(value, bits, Toward::Down)?,
            upper: Float::from_rational(value, bits, Toward::Up)?,
        })
    }

    /// Returns the fixed-point number `value` with `places` bits after the point, give or take
    /// `error` units of its last place.
    pub(super) fn from_fixed(
        value: &IBig,
        error: u32,
        places: u32,
        bits: u32,
    ) -> Result<Self, Stop> {
        let error = IBig::from(error);
        let exponent = -i64::from(places);
        Ok(Self {
            lower: Float::new(value - &error, exponent, bits, Toward::Down)?,
            upper: Float::new(value + &error, exponent, bits, Toward::Up)?,
        })
    }

    /// Returns all numbers from `-radius` to `radius`.
    pub(super) fn around_zero(radius: &Float) -> Self {
        Self { lower: radius.magnitude().negated(), upper: radius.magnitude() }
    }

    /// Returns a number in the middle, and a bound of how far the ends are from it.
    pub(super) fn centre(&self, bits: u32) -> Result<(Float, Float), Stop> {
        if self.lower == self.upper {
            return Ok((self.lower.clone(), Float::ZERO));
        }
        let sum = self.lower.add(&self.upper, bits, Toward::Down)?;
        let middle = sum.scaled(-1)?;
        let below = middle.sub(&self.lower, bits, Toward::Up)?;
        let above = self.upper.sub(&middle, bits, Toward::Up)?;
        Ok((middle, below.magnitude().max(above.magnitude())))
    }
}

/// Arithmetic. `bits` is the precision of the ends.
impl Interval {
    pub(super) fn neg(&self) -> Self {
        Self { lower: self.upper.negated(), upper: self.lower.negated() }
    }

    pub(super) fn add(&self, other: &Self, bits: u32) -> Result<Self, Stop> {
        Ok(Self {
            lower: self.lower.add(&other.lower, bits, Toward::Down)?,
            upper: self.upper.add(&other.upper, bits, Toward::Up)?,
        })
    }

    pub(super) fn sub(&self, other: &Self, bits: u32) -> Result<Self, Stop> {
        self.add(&other.neg(), bits)
    }

    pub(super) fn mul(&self, other: &Self, bits: u32) -> Result<Self, Stop> {
        let is_positive = |interval: &Self| interval.lower.sign() != Ordering::Less;
        if is_positive(self) && is_positive(other) {
            return Ok(Self {
                lower: self.lower.mul(&other.lower, bits, Toward::Down)?,
                upper: self.upper.mul(&other.upper, bits, Toward::Up)?,
            });
        }
        let ends = [
            (&self.lower, &other.lower),
            (&self.lower, &other.upper),
            (&self.upper, &other.lower),
            (&self.upper, &other.upper),
        ];
        let mut lower = ends[0].0.mul(ends[0].1, bits, Toward::Down)?;
        let mut upper = ends[0].0.mul(ends[0].1, bits, Toward::Up)?;
        for (left, right) in &ends[1..] {
            lower = lower.min(left.mul(right, bits, Toward::Down)?);
            upper = upper.max(left.mul(right, bits, Toward::Up)?);
        }
        Ok(Self { lower, upper })
    }

    pub(super) fn recip(&self, bits: u32) -> Result<Self, Stop> {
        if self.is_zero() {
            return Err(Stop::NoValue);
        }
        if self.contains_zero() {
            return Err(Stop::Imprecise);
        }
        let one = Float::integer(1);
        Ok(Self {
            lower: one.div(&self.upper, bits, Toward::Down)?,
            upper: one.div(&self.lower, bits, Toward::Up)?,
        })
    }

    pub(super) fn div(&self, other: &Self, bits: u32) -> Result<Self, Stop> {
        self.mul(&other.recip(bits + 4)?, bits)
    }

    pub(super) fn square(&self, bits: u32) -> Result<Self, Stop> {
        let magnitude = self.abs();
        magnitude.mul(&magnitude, bits)
    }

    pub(super) fn abs(&self) -> Self {
        if self.lower.sign() != Ordering::Less {
            return self.clone();
        }
        if self.upper.sign() != Ordering::Greater {
            return self.neg();
        }
        Self { lower: Float::ZERO, upper: self.lower.magnitude().max(self.upper.magnitude()) }
    }

    /// Returns the root of numbers that are not negative.
    pub(super) fn root(&self, index: u32, bits: u32) -> Result<Self, Stop> {
        match self.lower.sign() {
            Ordering::Less => Err(Stop::Imprecise),
            Ordering::Equal | Ordering::Greater => Ok(Self {
                lower: self.lower.root(index, bits, Toward::Down)?,
                upper: self.upper.root(index, bits, Toward::Up)?,
            }),
        }
    }

    /// Returns the power with an exponent that is not negative.
    pub(super) fn power(&self, exponent: u64, bits: u32) -> Result<Self, Stop> {
        // An even power of an interval around 0 is that of the absolute values, and the powers of
        // an interval of one sign are monotonic.
        let base = if exponent.is_multiple_of(2) { self.abs() } else { self.clone() };
        // Each of the squarings loses two bits at most.
        let length = u64::BITS - exponent.leading_zeros();
        let working = bits + 2 * length;
        let mut power = Self::integer(1);
        for bit in (0..length).rev() {
            power = power.square(working)?;
            if exponent >> bit & 1 == 1 {
                power = power.mul(&base, working)?;
            }
        }
        Ok(power)
    }

    /// Returns the product with `2^exponent`.
    pub(super) fn scaled(&self, exponent: i64) -> Result<Self, Stop> {
        Ok(Self { lower: self.lower.scaled(exponent)?, upper: self.upper.scaled(exponent)? })
    }

    /// Returns the part of it from `lower` to `upper`, which the number is known to lie in.
    pub(super) fn clamped(&self, lower: i32, upper: i32) -> Self {
        let (lower, upper) = (Float::integer(lower), Float::integer(upper));
        Self {
            lower: self.lower.clone().clamp(lower.clone(), upper.clone()),
            upper: self.upper.clone().clamp(lower, upper),
        }
    }
}
