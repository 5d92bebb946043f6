//! Calls of functions.

use std::cmp::Ordering;

use dashu::rational::RBig;

use super::Evaluator;
use crate::expr::{Expr, Function};
use crate::interval::Stop;
use crate::interval::bounds::Interval;
use crate::interval::float::{Float, Toward};
use crate::interval::value::{ComplexParts, NumericValue};

/// Numbers above two to the power of this are not rounded to integers.
const MAX_INTEGER_BITS: i64 = 8192;

impl Evaluator<'_, '_, '_> {
    pub(super) fn call(
        &mut self,
        function: Function,
        arguments: &[Expr],
    ) -> Result<NumericValue, Stop> {
        let mut values = Vec::with_capacity(arguments.len());
        for argument in arguments {
            values.push(self.value(*argument)?);
        }
        let first = values.first().ok_or(Stop::NoRule)?;
        let last = values.last().ok_or(Stop::NoRule)?;
        match function {
            Function::Sin => self.sin(first),
            Function::Cos => self.cos(first),
            Function::Tan => self.tan(first),
            Function::Cot => {
                let (sine, cosine) = (self.sin(first)?, self.cos(first)?);
                self.div(&cosine, &sine)
            }
            Function::Sec => self.cos(first).and_then(|value| self.recip(&value)),
            Function::Csc => self.sin(first).and_then(|value| self.recip(&value)),
            Function::Asin => self.asin(first),
            Function::Acos => self.acos(first),
            Function::Atan => self.atan(first),
            Function::Acot => self.acot(first),
            Function::Asec => self.recip(first).and_then(|value| self.acos(&value)),
            Function::Acsc => self.recip(first).and_then(|value| self.asin(&value)),
            Function::Sinh => self.sinh(first),
            Function::Cosh => self.cosh(first),
            Function::Tanh => self.tanh(first),
            Function::Coth => self.tanh(first).and_then(|value| self.recip(&value)),
            Function::Sech => self.cosh(first).and_then(|value| self.recip(&value)),
            Function::Csch => self.sinh(first).and_then(|value| self.recip(&value)),
            Function::Asinh => self.asinh(first),
            Function::Acosh => self.acosh(first),
            Function::Atanh => self.atanh(first),
            Function::Ln => self.ln(first),
            // Its meaning is a policy, so it has no value here.
            Function::LogBare => Err(Stop::NoRule),
            Function::Log => {
                let (logarithm, base) = (self.ln(first)?, self.ln(last)?);
                self.div(&logarithm, &base)
            }
            Function::Root => self.root(first, last),
            Function::Abs => self.abs(first),
            Function::Sign => sign(first),
            Function::Floor => rounded(first, Toward::Down),
            Function::Ceiling => rounded(first, Toward::Up),
            Function::Factorial => self.factorial(first, 1),
            Function::DoubleFactorial => self.factorial(first, 2),
            Function::Binomial => self.binomial(first, last),
            Function::Permutations => self.permutations(first, last),
            Function::Gcd | Function::Lcm => self.divisors(function, &values),
            Function::Max | Function::Min => self.extremum(function, &values),
            Function::Mod => self.modulo(first, last),
            Function::Re | Function::Im | Function::Conjugate | Function::Arg => {
                self.part(function, first)
            }
        }
    }

    /// Returns the real or imaginary part, the conjugate, or the argument.
    fn part(&mut self, function: Function, value: &NumericValue) -> Result<NumericValue, Stop> {
        let parts = self.parts(value)?;
        if function == Function::Arg {
            self.spend_function()?;
            return Ok(NumericValue::from_interval(parts.arg(self.kernel)?));
        }
        let is_real = parts.im.is_zero();
        if function == Function::Im {
            return Ok(NumericValue::from_interval(parts.im));
        }
        if is_real {
            return Ok(value.clone());
        }
        if function == Function::Re {
            return Ok(NumericValue::from_interval(parts.re));
        }
        Ok(NumericValue::from_parts(ComplexParts { re: parts.re, im: parts.im.neg() }))
    }

    fn abs(&mut self, value: &NumericValue) -> Result<NumericValue, Stop> {
        self.spend_step()?;
        let bits = self.bits();
        match value {
            NumericValue::Exact(value) if *value < RBig::ZERO => Ok(NumericValue::Exact(-value)),
            NumericValue::Exact(_) => Ok(value.clone()),
            NumericValue::Real(interval) => Ok(NumericValue::from_interval(interval.abs())),
            NumericValue::Complex(..) => {
                Ok(NumericValue::from_interval(value.parts(bits)?.abs(bits)?))
            }
        }
    }

    /// Returns the largest or the smallest of real numbers.
    fn extremum(
        &mut self,
        function: Function,
        values: &[NumericValue],
    ) -> Result<NumericValue, Stop> {
        let is_max = function == Function::Max;
        let bits = self.bits();
        let mut best: Option<NumericValue> = None;
        for value in values {
            self.spend_step()?;
            best = Some(match (best, value) {
                (None, value) => value.clone(),
                (Some(NumericValue::Exact(best)), NumericValue::Exact(value)) => {
                    NumericValue::Exact(if is_max {
                        best.max(value.clone())
                    } else {
                        best.min(value.clone())
                    })
                }
                (Some(best), value) => {
                    let (best, value) = (best.real(bits)?, value.real(bits)?);
                    NumericValue::from_interval(extreme_of(&best, &value, is_max))
                }
            });
        }
        let best = best.ok_or(Stop::NoRule)?;
        // A single complex number has no place in an order either.
        best.real(bits)?;
        Ok(best)
    }

    /// Returns `left - right * floor(left / right)` for positive `right`.
    fn modulo(&mut self, left: &NumericValue, right: &NumericValue) -> Result<NumericValue, Stop> {
        if right.sign()? != Ordering::Greater {
            return Err(Stop::NoValue);
        }
        let quotient = self.div(left, right)?;
        let quotient = rounded(&quotient, Toward::Down)?;
        let multiple = self.mul(&quotient, right)?;
        self.sub(left, &multiple)
    }
}

fn sign(value: &NumericValue) -> Result<NumericValue, Stop> {
    Ok(NumericValue::integer(match value.sign()? {
        Ordering::Less => -1,
        Ordering::Equal => 0,
        Ordering::Greater => 1,
    }))
}

fn extreme_of(left: &Interval, right: &Interval, is_max: bool) -> Interval {
    let pick = |left: &Float, right: &Float| {
        if is_max { left.clone().max(right.clone()) } else { left.clone().min(right.clone()) }
    };
    Interval { lower: pick(&left.lower, &right.lower), upper: pick(&left.upper, &right.upper) }
}

/// Returns the integer below or above, where all of an interval has the same one.
fn rounded(value: &NumericValue, toward: Toward) -> Result<NumericValue, Stop> {
    match value {
        NumericValue::Exact(value) => {
            let integer = match toward {
                Toward::Down => value.floor(),
                Toward::Up => value.ceil(),
            };
            Ok(NumericValue::Exact(RBig::from(integer)))
        }
        NumericValue::Real(interval) => {
            let top = interval.abs().upper.top().unwrap_or(0);
            if top > MAX_INTEGER_BITS {
                return Err(Stop::NoValue);
            }
            let lower = interval.lower.to_integer(toward);
            let upper = interval.upper.to_integer(toward);
            if lower == upper {
                Ok(NumericValue::Exact(RBig::from(lower)))
            } else {
                Err(Stop::Imprecise)
            }
        }
        NumericValue::Complex(..) => Err(Stop::NoValue),
    }
}
