//! Powers and roots.

use std::cmp::Ordering;

use dashu::base::{BitTest, Signed, UnsignedAbs};
use dashu::integer::IBig;
use dashu::rational::RBig;

use super::{Evaluator, Field};
use crate::expr::{Constant, Expr, Node};
use crate::interval::Stop;
use crate::interval::bounds::Interval;
use crate::interval::value::{ComplexParts, MAX_EXACT_BITS, NumericValue, size};

/// Roots with an index up to this are taken directly, others through logarithms.
const MAX_INDEX: u32 = 64;

impl Evaluator<'_, '_, '_> {
    pub(super) fn power(&mut self, base: Expr, exponent: Expr) -> Result<NumericValue, Stop> {
        let exponent = self.value(exponent)?;
        if matches!(self.ws.node(base), Node::Constant(Constant::E)) {
            return self.exp(&exponent);
        }
        let base = self.value(base)?;
        self.raised(&base, &exponent)
    }

    fn raised(
        &mut self,
        base: &NumericValue,
        exponent: &NumericValue,
    ) -> Result<NumericValue, Stop> {
        match exponent {
            NumericValue::Exact(exponent) if exponent.denominator().is_one() => {
                self.integer_power(base, exponent.numerator())
            }
            NumericValue::Exact(exponent) => self.fractional_power(base, exponent),
            NumericValue::Real(_) | NumericValue::Complex(..) => self.general_power(base, exponent),
        }
    }

    /// Returns the exponential.
    pub(super) fn exp(&mut self, exponent: &NumericValue) -> Result<NumericValue, Stop> {
        if let NumericValue::Exact(exponent) = exponent
            && exponent.is_zero()
        {
            return Ok(NumericValue::integer(1));
        }
        self.spend_function()?;
        let parts = self.parts(exponent)?;
        if !parts.im.is_zero() {
            self.spend_function()?;
            self.spend_function()?;
        }
        Ok(NumericValue::from_parts(parts.exp(self.kernel)?))
    }

    pub(super) fn integer_power(
        &mut self,
        base: &NumericValue,
        exponent: &IBig,
    ) -> Result<NumericValue, Stop> {
        let magnitude = exponent.clone().unsigned_abs();
        let length = u64::try_from(magnitude.bit_len()).unwrap_or(u64::MAX);
        if let NumericValue::Exact(base) = base {
            if let Some(power) = trivial_power(base, exponent)? {
                return Ok(power);
            }
            let small = isize::try_from(exponent).unwrap_or(isize::MAX);
            let bits = size(base).saturating_mul(small.unsigned_abs());
            if bits <= MAX_EXACT_BITS {
                let words = u64::try_from(bits / 64).unwrap_or(u64::MAX);
                self.spend(1 + words * words / 8)?;
                return Ok(NumericValue::Exact(base.pow(small)));
            }
        }
        let count = u64::try_from(magnitude).map_err(|_| Stop::NoValue)?;
        let parts = self.parts(base)?;
        if count == 0 {
            let is_zero = parts.re.contains_zero() && parts.im.contains_zero();
            return if is_zero { Err(Stop::Imprecise) } else { Ok(NumericValue::integer(1)) };
        }
        for _ in 0..length {
            self.spend_step()?;
        }
        let power = NumericValue::from_parts(parts.power(count, self.bits())?);
        if exponent.is_negative() { self.recip(&power) } else { Ok(power) }
    }

    /// Returns the power with an exact exponent that is no integer.
    fn fractional_power(
        &mut self,
        base: &NumericValue,
        exponent: &RBig,
    ) -> Result<NumericValue, Stop> {
        let index = u32::try_from(exponent.denominator()).unwrap_or(u32::MAX);
        if matches!(base, NumericValue::Exact(_) | NumericValue::Real(_)) {
            match base.sign()? {
                Ordering::Equal => return zero_power(exponent.is_positive()),
                Ordering::Less if !is_even(exponent) => {
                    // Some read a real root here and some the principal one.
                    return Err(Stop::NoValue);
                }
                Ordering::Less if self.field == Field::Real => return Err(Stop::NoValue),
                Ordering::Greater if index <= MAX_INDEX => {
                    self.spend_root(index)?;
                    let root = self.real_root(base, index)?;
                    return self.integer_power(&root, exponent.numerator());
                }
                Ordering::Less | Ordering::Greater => {}
            }
        }
        if index == 2 {
            let bits = self.bits();
            self.spend_root(2)?;
            let root = NumericValue::from_parts(self.parts(base)?.sqrt(bits)?);
            return self.integer_power(&root, exponent.numerator());
        }
        self.general_power(base, &NumericValue::Exact(exponent.clone()))
    }

    /// Returns `exp(exponent * ln(base))`.
    fn general_power(
        &mut self,
        base: &NumericValue,
        exponent: &NumericValue,
    ) -> Result<NumericValue, Stop> {
        if let NumericValue::Exact(base) = base
            && base.is_zero()
        {
            return zero_power(exponent.sign()? == Ordering::Greater);
        }
        let logarithm = self.ln(base)?;
        let exponent = self.mul(exponent, &logarithm)?;
        self.exp(&exponent)
    }

    /// Returns the root of a real number that is not negative.
    fn real_root(&mut self, radicand: &NumericValue, index: u32) -> Result<NumericValue, Stop> {
        let bits = self.bits();
        let root = radicand.real(bits)?.root(index, bits)?;
        Ok(NumericValue::from_interval(root))
    }

    /// Returns `root(radicand, index)`.
    pub(super) fn root(
        &mut self,
        radicand: &NumericValue,
        index: &NumericValue,
    ) -> Result<NumericValue, Stop> {
        let index = index.exact_integer()?;
        let index = u32::try_from(index).map_err(|_| Stop::NoValue)?;
        if index == 0 {
            return Err(Stop::NoValue);
        }
        if index == 1 {
            return Ok(radicand.clone());
        }
        let exponent = RBig::ONE / RBig::from(index);
        if matches!(radicand, NumericValue::Complex(..)) {
            return self.fractional_power(radicand, &exponent);
        }
        let is_negative = radicand.sign()? == Ordering::Less;
        if is_negative && !index.is_multiple_of(2) {
            let magnitude = self.negated(radicand)?;
            let root = self.fractional_power(&magnitude, &exponent)?;
            return self.negated(&root);
        }
        self.fractional_power(radicand, &exponent)
    }

    /// Returns the natural logarithm.
    pub(super) fn ln(&mut self, value: &NumericValue) -> Result<NumericValue, Stop> {
        self.spend_function()?;
        if matches!(value, NumericValue::Complex(..)) {
            self.spend_function()?;
            let parts = self.parts(value)?;
            return Ok(NumericValue::from_parts(parts.ln(self.kernel)?));
        }
        let bits = self.bits();
        match (value.sign()?, self.field) {
            (Ordering::Equal, _) | (Ordering::Less, Field::Real) => Err(Stop::NoValue),
            (Ordering::Greater, _) => {
                let logarithm = self.kernel.ln(&value.real(bits)?)?;
                Ok(NumericValue::from_interval(logarithm))
            }
            (Ordering::Less, Field::Complex) => {
                let re = self.kernel.ln(&value.real(bits)?.neg())?;
                let im = self.kernel.pi()?;
                Ok(NumericValue::from_parts(ComplexParts { re, im }))
            }
        }
    }

    /// Halves a value.
    pub(super) fn halved(&mut self, value: &NumericValue) -> Result<NumericValue, Stop> {
        let bits = self.bits();
        match value {
            NumericValue::Exact(value) => Ok(NumericValue::Exact(value / IBig::from(2))),
            NumericValue::Real(interval) => Ok(NumericValue::Real(interval.scaled(-1)?)),
            NumericValue::Complex(..) => {
                let half =
                    ComplexParts { re: Interval::integer(1).scaled(-1)?, im: Interval::integer(0) };
                Ok(NumericValue::from_parts(value.parts(bits)?.mul(&half, bits)?))
            }
        }
    }
}

/// Returns whether the denominator of a fraction is even.
fn is_even(fraction: &RBig) -> bool {
    !fraction.denominator().bit(0)
}

fn zero_power(is_positive: bool) -> Result<NumericValue, Stop> {
    if is_positive { Ok(NumericValue::integer(0)) } else { Err(Stop::NoValue) }
}

/// Returns the powers of 0, 1 and -1, whatever the exponent.
fn trivial_power(base: &RBig, exponent: &IBig) -> Result<Option<NumericValue>, Stop> {
    if base.is_zero() {
        return zero_power(exponent.is_positive() && !exponent.is_zero()).map(Some);
    }
    if base.is_one() {
        return Ok(Some(NumericValue::integer(1)));
    }
    if *base == RBig::NEG_ONE {
        let is_odd = exponent.bit(0);
        return Ok(Some(NumericValue::integer(if is_odd { -1 } else { 1 })));
    }
    Ok(None)
}
