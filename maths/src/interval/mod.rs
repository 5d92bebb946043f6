//! Enclosures: intervals that certainly contain the value of an expression.
//!
//! Disjoint enclosures of two expressions prove that they differ. Overlapping enclosures prove
//! nothing, however narrow: [`separate`] then returns only their precision.
//!
//! Where variables occur, they stand for real numbers: square roots and logarithms of negative
//! numbers have no value, and neither has a negative number to the power of 1/3, which some read as
//! a real root and some as the principal one. Expressions without variables, and those that name
//! the imaginary unit, have complex values.

mod bounds;
mod decimal;
mod eval;
mod float;
mod kernel;
mod sample;
mod value;

use std::cmp::Ordering;

use self::eval::{Evaluator, Field, SamplePoint};
use self::float::OutOfRange;
use self::kernel::Kernel;
use self::value::NumericValue;
use super::expr::{Expr, Workspace};
use super::proof::Witness;
use crate::fuel::Exhausted;

pub use self::bounds::Interval;
pub(crate) use self::sample::{differ_within, separate};

/// Reason why there is no enclosure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop {
    /// Undecided at this precision; a higher one may decide.
    Imprecise,
    /// The expression has no value there, or one that is out of bounds.
    NoValue,
    /// Something in it has no rule.
    NoRule,
    Exhausted,
}

impl From<OutOfRange> for Stop {
    fn from(_: OutOfRange) -> Self {
        Self::NoValue
    }
}

/// The result of comparing enclosures of two expressions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Separation {
    /// They differ: a proof.
    Apart(Witness),
    /// They agreed to at least `bits` bits at each of `points` points: no proof.
    Together { points: u32, bits: u32 },
    /// They have no value at the points tried, or none that was found.
    NoValue,
    /// They contain something that is not evaluated.
    NoRule,
}

/// Returns the proven sign of a real constant: how it compares with 0.
///
/// `None` where it is not proven: the value is too close to 0, is not real, or has no enclosure.
///
/// # Errors
/// [`Exhausted`] when the fuel is gone.
pub(super) fn sign(expr: Expr, ws: &mut Workspace<'_>) -> Result<Option<Ordering>, Exhausted> {
    for bits in sample::PRECISIONS {
        match constant(expr, bits, ws)? {
            Ok(value) => match value.sign() {
                Ok(sign) => return Ok(Some(sign)),
                Err(Stop::Imprecise) => {}
                Err(Stop::NoValue | Stop::NoRule | Stop::Exhausted) => return Ok(None),
            },
            Err(Stop::Imprecise) => {}
            Err(Stop::NoValue | Stop::NoRule | Stop::Exhausted) => return Ok(None),
        }
    }
    Ok(None)
}

/// Returns an interval that contains the real constant `expr`, with ends of `bits` bits.
///
/// The interval is narrow as a rule, but may be of any width. `None` where there is none.
///
/// # Errors
/// [`Exhausted`] when the fuel is gone.
pub fn enclose(
    expr: Expr,
    bits: u32,
    ws: &mut Workspace<'_>,
) -> Result<Option<Interval>, Exhausted> {
    let value = constant(expr, bits, ws)?;
    Ok(value.and_then(|value| value.real(bits)).ok())
}

/// Returns the value of a constant with ends of `bits` bits.
fn constant(
    expr: Expr,
    bits: u32,
    ws: &mut Workspace<'_>,
) -> Result<Result<NumericValue, Stop>, Exhausted> {
    let mut kernel = Kernel::new(bits);
    evaluate(expr, &SamplePoint::default(), Field::Complex, &mut kernel, ws)
}

/// Returns the value of `expr` at `point`, paid from the workspace's fuel.
fn evaluate(
    expr: Expr,
    point: &SamplePoint,
    field: Field,
    kernel: &mut Kernel,
    ws: &mut Workspace<'_>,
) -> Result<Result<NumericValue, Stop>, Exhausted> {
    let mut evaluator = Evaluator::new(ws, point.clone(), field, kernel);
    let value = evaluator.value(expr);
    let spent = evaluator.spent();
    ws.fuel.spend(spent)?;
    match value {
        Err(Stop::Exhausted) => Err(Exhausted),
        other => Ok(other),
    }
}

#[cfg(test)]
mod tests;
