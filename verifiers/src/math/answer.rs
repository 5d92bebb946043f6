//! Answers that were read, and what it takes for two of them to be the same.

use dashu::base::{Abs, BitTest};
use dashu::integer::UBig;
use dashu::rational::RBig;

use super::tolerance::Tolerance;
use super::unit::Unit;
use crate::fuel::{Exhausted, Fuel};
use crate::number;

/// What a text says, read once and as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Answer {
    /// One exact number.
    Number(Number),
}

impl Answer {
    /// Whether it was read as a number with a unit only because nothing forbids it; see [`Unit`].
    pub(super) fn may_be_expression(&self) -> bool {
        let Self::Number(number) = self;
        number.unit.as_ref().is_some_and(|unit| unit.attached)
    }
}

/// An exact number, with what was written around it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Number {
    pub(super) value: RBig,
    /// Where it was written with a decimal point: the power of ten of its last digit.
    pub(super) last_digit: Option<i32>,
    /// The variables that it was assigned to.
    pub(super) variables: Variables,
    pub(super) unit: Option<Unit>,
}

/// A set of single-letter variables: one bit for each ASCII code.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Variables(u128);

impl Variables {
    /// Adds `letter`, an ASCII letter.
    pub(super) fn insert(&mut self, letter: u8) {
        self.0 |= 1 << (letter & 0x7f);
    }

    /// Whether both sides name variables and share none.
    fn conflict(self, other: Self) -> bool {
        self.0 != 0 && other.0 != 0 && self.0 & other.0 == 0
    }
}

/// The result of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Comparison {
    /// The same, exactly or within the declared tolerance.
    Equal { exactly: bool, units: Units },
    /// Two different values.
    OtherValue,
    /// Values of two different variables.
    OtherVariable,
    /// Amounts of two different units, which nothing converts yet: no rule tells.
    OtherUnit,
    /// The candidate may be an expression; see [`Unit`].
    Unread,
}

/// Where units were written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Units {
    /// The same on both sides, or none.
    Same,
    /// On the gold side only.
    Dropped,
    /// On the candidate's side only.
    Added,
}

/// Compares a candidate with a gold answer. The candidate may leave the gold unit out or add one;
/// two different units are not compared, because nothing converts them yet.
pub(super) fn compare(
    gold: &Answer,
    candidate: &Answer,
    tolerance: &Tolerance,
    fuel: &mut Fuel,
) -> Result<Comparison, Exhausted> {
    let (Answer::Number(gold), Answer::Number(candidate)) = (gold, candidate);
    if gold.variables.conflict(candidate.variables) {
        return Ok(Comparison::OtherVariable);
    }
    let units = match (&gold.unit, &candidate.unit) {
        (None, None) => Units::Same,
        (Some(_), None) => Units::Dropped,
        (Some(gold), Some(candidate)) if gold.is_same(candidate) => Units::Same,
        (_, Some(candidate)) if candidate.attached => return Ok(Comparison::Unread),
        (None, Some(_)) => Units::Added,
        (Some(_), Some(_)) => return Ok(Comparison::OtherUnit),
    };
    if gold.value == candidate.value {
        let exactly = true;
        return Ok(Comparison::Equal { exactly, units });
    }
    let bound = bound(gold, tolerance, fuel)?;
    if bound.is_zero() {
        return Ok(Comparison::OtherValue);
    }
    let digits = digits(&gold.value) + digits(&candidate.value) + digits(&bound);
    fuel.spend(number::cost(digits))?;
    let distance = (&gold.value - &candidate.value).abs();
    Ok(if distance <= bound {
        let exactly = false;
        Comparison::Equal { exactly, units }
    } else {
        Comparison::OtherValue
    })
}

/// How far from the gold value a candidate may lie.
fn bound(gold: &Number, tolerance: &Tolerance, fuel: &mut Fuel) -> Result<RBig, Exhausted> {
    match tolerance {
        Tolerance::Exact => Ok(RBig::ZERO),
        Tolerance::Absolute(bound) => Ok(bound.value().clone()),
        Tolerance::Relative(bound) => {
            fuel.spend(number::cost(digits(&gold.value) + digits(bound.value())))?;
            Ok(bound.value() * gold.value.clone().abs())
        }
        Tolerance::GoldDigits => match gold.last_digit {
            None => Ok(RBig::ZERO),
            Some(exponent) => {
                let digits = usize::try_from(exponent.unsigned_abs()).unwrap_or(usize::MAX);
                fuel.spend(number::cost(digits))?;
                Ok(number::power_of_ten(exponent) / UBig::from(2u8))
            }
        },
    }
}

/// The decimal digits of both parts of `value`, at most.
pub(super) fn digits(value: &RBig) -> usize {
    // Three bits make less than one decimal digit.
    (value.numerator().bit_len() + value.denominator().bit_len()) / 3 + 1
}
