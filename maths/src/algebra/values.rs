//! Exact values and coefficients of expressions.
//!
//! The functions take the zero test of the ladder as a value, because the ladder uses them itself.

use dashu::integer::IBig;
use dashu::rational::RBig;

use super::exact;
use super::ring::Ring;
use super::scale;
use super::stop::{Share, Stop};
use crate::calculus::ZeroTest;
use crate::expr::{Expr, Name, Workspace};
use crate::fuel::Exhausted;
use crate::proof::Assumptions;

/// Returns the exact value of `expr`, if it is a rational constant and that is proven.
///
/// # Errors
/// [`Exhausted`] when the fuel is gone.
pub(super) fn rational(
    expr: Expr,
    is_zero: ZeroTest,
    ws: &mut Workspace<'_>,
) -> Result<Option<RBig>, Exhausted> {
    let mut share = Share::new(ws.fuel.left() / 4);
    let mut evaluator = exact::ExactEvaluator { ws, share: &mut share };
    match evaluator.value(expr) {
        Ok(Some(value)) => return Ok(Some(value)),
        Ok(None) => {}
        Err(stop) => return unless_exhausted(stop),
    }
    let mut ring = Ring::new(ws, Assumptions::default(), share, is_zero);
    match ring.build(expr) {
        Ok(poly) => Ok(poly.rational()),
        Err(stop) => unless_exhausted(stop),
    }
}

/// Returns `a` and `b` of `a name + b`, neither of which has `name` in it.
///
/// # Errors
/// [`Exhausted`] when the fuel is gone.
pub(super) fn linear(
    expr: Expr,
    name: Name,
    is_zero: ZeroTest,
    ws: &mut Workspace<'_>,
) -> Result<Option<(Expr, Expr)>, Exhausted> {
    let Some(coefficients) = polynomial(expr, name, is_zero, ws)? else {
        return Ok(None);
    };
    match coefficients.as_slice() {
        [] => {
            let zero = ws.integer(0)?;
            Ok(Some((zero, zero)))
        }
        [constant] => Ok(Some((ws.integer(0)?, *constant))),
        [constant, slope] => Ok(Some((*slope, *constant))),
        [_, _, _, ..] => Ok(None),
    }
}

/// Returns the coefficients of a polynomial in `name`, from degree 0 to its degree; 0 alone for
/// zero.
///
/// # Errors
/// [`Exhausted`] when the fuel is gone.
pub(super) fn polynomial(
    expr: Expr,
    name: Name,
    is_zero: ZeroTest,
    ws: &mut Workspace<'_>,
) -> Result<Option<Vec<Expr>>, Exhausted> {
    let share = Share::new(ws.fuel.left() / 2);
    let mut ring = Ring::new(ws, Assumptions::default(), share, is_zero);
    match scale::coefficients(expr, name, &mut ring) {
        Ok(coefficients) => Ok(coefficients),
        Err(stop) => unless_exhausted(stop),
    }
}

/// Returns the rational roots of `poly` in `variable` with a numerator of at most 60 and a
/// denominator of at most 6; none where a coefficient is not rational.
///
/// # Errors
/// [`Exhausted`] when the fuel is gone.
pub(super) fn rational_roots(
    poly: Expr,
    variable: Name,
    is_zero: ZeroTest,
    ws: &mut Workspace<'_>,
) -> Result<Vec<RBig>, Exhausted> {
    const LARGEST: i64 = 60;
    const LARGEST_DENOMINATOR: u32 = 6;
    let Some(coefficients) = polynomial(poly, variable, is_zero, ws)? else {
        return Ok(Vec::new());
    };
    let mut values = Vec::with_capacity(coefficients.len());
    for coefficient in coefficients {
        match rational(coefficient, is_zero, ws)? {
            Some(value) => values.push(value),
            None => return Ok(Vec::new()),
        }
    }
    let mut roots: Vec<RBig> = Vec::new();
    for denominator in 1..=LARGEST_DENOMINATOR {
        for numerator in -LARGEST..=LARGEST {
            ws.fuel.spend(1 + values.len() as u64)?;
            let candidate = RBig::from_parts(IBig::from(numerator), denominator.into());
            let value = values
                .iter()
                .rev()
                .fold(RBig::ZERO, |sum, coefficient| sum * &candidate + coefficient);
            if value.is_zero() && !roots.contains(&candidate) {
                roots.push(candidate);
            }
        }
    }
    Ok(roots)
}

/// Returns `None` if an attempt was too costly or there is no value.
fn unless_exhausted<T>(stop: Stop) -> Result<Option<T>, Exhausted> {
    match stop {
        Stop::Exhausted => Err(Exhausted),
        Stop::Costly | Stop::Undefined | Stop::NoRule => Ok(None),
    }
}
