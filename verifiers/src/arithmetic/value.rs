//! Exact evaluation. Sizes are checked and charged as fuel before anything is built.

use dashu::base::{BitTest, Signed, UnsignedAbs};
use dashu::integer::{IBig, UBig};
use dashu::rational::RBig;

use super::expr::Code;
use super::token::{Numeral, Op};
use crate::{Exhausted, Fuel};

/// Bits that numerator and denominator of a value may have together: about 1,200 digits.
const MAX_BITS: usize = 4096;
/// Bytes that a written number may have.
const MAX_LITERAL: usize = 1024;

/// Reading of the signs of an expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reading {
    /// As written.
    Plain,
    /// A percent sign changes nothing: `25%` is 25.
    PercentPoints,
    /// The first number has the other sign.
    FirstNegated,
}

/// Reason why there is no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoValue {
    DividesByZero,
    /// A root, or zero to the power of zero.
    NotRational,
    TooCostly,
}

impl From<Exhausted> for NoValue {
    fn from(_: Exhausted) -> Self {
        Self::TooCostly
    }
}

/// Returns the value of `code`, with `stack` as working memory.
pub(super) fn evaluate(
    code: &[Code],
    numerals: &[Numeral<'_>],
    reading: Reading,
    stack: &mut Vec<RBig>,
    fuel: &mut Fuel,
) -> Result<RBig, NoValue> {
    stack.clear();
    for (position, step) in code.iter().enumerate() {
        match *step {
            Code::Push(index) => {
                let value = numeral(numerals[index], fuel)?;
                let negated = reading == Reading::FirstNegated && position == 0;
                stack.push(if negated { -value } else { value });
            }
            Code::Neg => {
                let value = pop(stack);
                stack.push(-value);
            }
            Code::Percent if reading == Reading::PercentPoints => {}
            Code::Percent => {
                let value = pop(stack);
                stack.push(value / RBig::from(100u8));
            }
            Code::Mixed => {
                let (fraction, whole) = (pop(stack), pop(stack));
                stack.push(whole + fraction);
            }
            Code::Apply(op) => {
                let (right, left) = (pop(stack), pop(stack));
                stack.push(apply(op, left, right, fuel)?);
            }
        }
    }
    Ok(pop(stack))
}

fn pop(stack: &mut Vec<RBig>) -> RBig {
    stack.pop().expect("the parser emits operands first")
}

/// Returns the value of a number as it is written.
pub(super) fn numeral(numeral: Numeral<'_>, fuel: &mut Fuel) -> Result<RBig, NoValue> {
    match numeral {
        Numeral::Decimal(literal) if literal.byte_len() > MAX_LITERAL => Err(NoValue::TooCostly),
        Numeral::Decimal(literal) => {
            fuel.spend(1 + literal.byte_len() as u64 / 16)?;
            Ok(literal.value())
        }
        Numeral::Small { numerator, denominator } => {
            Ok(RBig::from_parts(IBig::from(numerator), UBig::from(denominator)))
        }
    }
}

/// Returns the size of a value in bits.
fn bits(value: &RBig) -> usize {
    value.numerator().bit_len() + value.denominator().bit_len()
}

fn apply(op: Op, left: RBig, right: RBig, fuel: &mut Fuel) -> Result<RBig, NoValue> {
    if op == Op::Pow {
        return power(&left, &right, fuel);
    }
    let size = bits(&left) + bits(&right);
    if size > MAX_BITS {
        return Err(NoValue::TooCostly);
    }
    let words = size as u64 / 64;
    fuel.spend(1 + words + words * words / 8)?;
    match op {
        Op::Add => Ok(left + right),
        Op::Sub => Ok(left - right),
        Op::Mul => Ok(left * right),
        Op::Div if right.is_zero() => Err(NoValue::DividesByZero),
        Op::Div => Ok(left / right),
        Op::Pow => power(&left, &right, fuel),
    }
}

/// Returns `base` to a whole power, where the result is not too big to write down.
fn power(base: &RBig, exponent: &RBig, fuel: &mut Fuel) -> Result<RBig, NoValue> {
    if !exponent.is_int() || (base.is_zero() && exponent.is_zero()) {
        return Err(NoValue::NotRational);
    }
    if base.is_zero() && exponent.is_negative() {
        return Err(NoValue::DividesByZero);
    }
    let magnitude = usize::try_from(exponent.numerator().clone().unsigned_abs())
        .map_err(|_| NoValue::TooCostly)?;
    let size = bits(base).saturating_mul(magnitude);
    if size > MAX_BITS {
        return Err(NoValue::TooCostly);
    }
    let words = size as u64 / 64;
    fuel.spend(1 + words + words * words / 8)?;
    let numerator = base.numerator().pow(magnitude);
    let denominator = base.denominator().pow(magnitude);
    let value = RBig::from_parts(numerator, denominator);
    Ok(if exponent.is_negative() { RBig::ONE / value } else { value })
}
