//! Circular and hyperbolic functions and their inverses.

use std::cmp::Ordering;

use super::Evaluator;
use crate::interval::Stop;
use crate::interval::bounds::Interval;
use crate::interval::value::NumericValue;

impl Evaluator<'_, '_, '_> {
    /// Returns the sine of `angle` plus quarter turns.
    fn shifted_sine(&mut self, angle: &NumericValue, quarters: u8) -> Result<NumericValue, Stop> {
        if let NumericValue::Exact(angle) = angle
            && angle.is_zero()
        {
            return Ok(NumericValue::integer(i32::from(quarters % 2)));
        }
        let bits = self.bits();
        self.spend_function()?;
        if !matches!(angle, NumericValue::Complex(..)) {
            let sine = self.kernel.sine(&angle.real(bits)?, quarters)?;
            return Ok(NumericValue::from_interval(sine));
        }
        // (e^iz - e^-iz) / 2i, or (e^iz + e^-iz) / 2.
        let forward = NumericValue::from_parts(self.parts(angle)?.times_i());
        let backward = self.negated(&forward)?;
        let (forward, backward) = (self.exp(&forward)?, self.exp(&backward)?);
        if quarters == 1 {
            let sum = self.add(&forward, &backward)?;
            return self.halved(&sum);
        }
        let difference = self.sub(&backward, &forward)?;
        let half = self.halved(&difference)?;
        Ok(NumericValue::from_parts(self.parts(&half)?.times_i()))
    }

    pub(super) fn sin(&mut self, angle: &NumericValue) -> Result<NumericValue, Stop> {
        self.shifted_sine(angle, 0)
    }

    pub(super) fn cos(&mut self, angle: &NumericValue) -> Result<NumericValue, Stop> {
        self.shifted_sine(angle, 1)
    }

    pub(super) fn tan(&mut self, angle: &NumericValue) -> Result<NumericValue, Stop> {
        let (sine, cosine) = (self.sin(angle)?, self.cos(angle)?);
        self.div(&sine, &cosine)
    }

    pub(super) fn atan(&mut self, value: &NumericValue) -> Result<NumericValue, Stop> {
        self.spend_function()?;
        let bits = self.bits();
        let angle = self.kernel.atan(&value.real(bits)?)?;
        Ok(NumericValue::from_interval(angle))
    }

    /// Returns the arcsine of real numbers from -1 to 1.
    pub(super) fn asin(&mut self, value: &NumericValue) -> Result<NumericValue, Stop> {
        self.spend_function()?;
        let bits = self.bits();
        let sine = value.real(bits)?;
        let one = Interval::integer(1);
        if sine == one || sine == one.neg() {
            let quarter = self.kernel.pi()?.scaled(-1)?;
            let is_positive = sine == one;
            return Ok(NumericValue::Real(if is_positive { quarter } else { quarter.neg() }));
        }
        // (1 - x)(1 + x) loses less than 1 - x^2 near the ends.
        let square = one.sub(&sine, bits)?.mul(&one.add(&sine, bits)?, bits)?;
        match square.sign() {
            Some(Ordering::Greater) => {}
            Some(Ordering::Less) => return Err(Stop::NoValue),
            Some(Ordering::Equal) | None => return Err(Stop::Imprecise),
        }
        let tangent = sine.div(&square.root(2, bits)?, bits)?;
        Ok(NumericValue::from_interval(self.kernel.atan(&tangent)?))
    }

    pub(super) fn acos(&mut self, value: &NumericValue) -> Result<NumericValue, Stop> {
        if let NumericValue::Exact(value) = value
            && value.is_one()
        {
            return Ok(NumericValue::integer(0));
        }
        let angle = self.asin(value)?;
        let quarter = NumericValue::Real(self.kernel.pi()?.scaled(-1)?);
        self.sub(&quarter, &angle)
    }

    /// Returns the arc cotangent of numbers that are not negative: for the others there are two
    /// usages.
    pub(super) fn acot(&mut self, value: &NumericValue) -> Result<NumericValue, Stop> {
        match value.sign()? {
            Ordering::Less => Err(Stop::NoValue),
            Ordering::Equal => Ok(NumericValue::Real(self.kernel.pi()?.scaled(-1)?)),
            Ordering::Greater => {
                let inverse = self.recip(value)?;
                self.atan(&inverse)
            }
        }
    }

    /// Returns the hyperbolic sine and cosine.
    fn hyperbolic(&mut self, value: &NumericValue) -> Result<(NumericValue, NumericValue), Stop> {
        let forward = self.exp(value)?;
        let backward = self.recip(&forward)?;
        let difference = self.sub(&forward, &backward)?;
        let sum = self.add(&forward, &backward)?;
        Ok((self.halved(&difference)?, self.halved(&sum)?))
    }

    pub(super) fn sinh(&mut self, value: &NumericValue) -> Result<NumericValue, Stop> {
        Ok(self.hyperbolic(value)?.0)
    }

    pub(super) fn cosh(&mut self, value: &NumericValue) -> Result<NumericValue, Stop> {
        Ok(self.hyperbolic(value)?.1)
    }

    pub(super) fn tanh(&mut self, value: &NumericValue) -> Result<NumericValue, Stop> {
        let (sine, cosine) = self.hyperbolic(value)?;
        self.div(&sine, &cosine)
    }

    /// Returns `ln(|x| + sqrt(x^2 + 1))` with the sign of `x`.
    pub(super) fn asinh(&mut self, value: &NumericValue) -> Result<NumericValue, Stop> {
        let sign = value.sign()?;
        if sign == Ordering::Equal {
            return Ok(NumericValue::integer(0));
        }
        self.spend_function()?;
        let bits = self.bits();
        let size = value.real(bits)?.abs();
        let hypotenuse = size.square(bits)?.add(&Interval::integer(1), bits)?;
        let sum = size.add(&hypotenuse.root(2, bits)?, bits)?;
        let logarithm = self.kernel.ln(&sum)?;
        let is_negative = sign == Ordering::Less;
        Ok(NumericValue::Real(if is_negative { logarithm.neg() } else { logarithm }))
    }

    /// Returns `ln(x + sqrt(x^2 - 1))` of real numbers from 1.
    pub(super) fn acosh(&mut self, value: &NumericValue) -> Result<NumericValue, Stop> {
        self.spend_function()?;
        let bits = self.bits();
        let value = value.real(bits)?;
        let excess = value.sub(&Interval::integer(1), bits)?;
        if excess.sign() == Some(Ordering::Less) {
            return Err(Stop::NoValue);
        }
        let square = excess.mul(&value.add(&Interval::integer(1), bits)?, bits)?;
        let sum = value.add(&square.root(2, bits)?, bits)?;
        Ok(NumericValue::from_interval(self.kernel.ln(&sum)?))
    }

    /// Returns `ln((1 + x) / (1 - x)) / 2` of real numbers between -1 and 1.
    pub(super) fn atanh(&mut self, value: &NumericValue) -> Result<NumericValue, Stop> {
        self.spend_function()?;
        let bits = self.bits();
        let value = value.real(bits)?;
        let one = Interval::integer(1);
        let ratio = one.add(&value, bits)?.div(&one.sub(&value, bits)?, bits)?;
        match ratio.sign() {
            Some(Ordering::Greater) => {}
            Some(Ordering::Less | Ordering::Equal) => return Err(Stop::NoValue),
            None => return Err(Stop::Imprecise),
        }
        let logarithm = self.kernel.ln(&ratio)?;
        Ok(NumericValue::from_interval(logarithm.scaled(-1)?))
    }
}
