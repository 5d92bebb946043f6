//! Exact algebra: whether two expressions are the same function, proven either way.
//!
//! The zero test is a ladder. Every rung may use a share of the fuel, and hands over to the next
//! where it cannot tell or where its share is spent:
//!
//! 1. exact rational arithmetic ([`exact`]);
//! 2. values in a finite field, which prove rational functions different ([`modular`]);
//! 3. the difference in normal form ([`ring`], [`build`]) and its zero test ([`zero`]): rational
//!    functions, roots, exponentials and what is written with them.
//!
//! Nothing here rounds: an enclosure by integers proves the signs that roots need ([`ball`]).

mod ball;
mod build;
mod compare;
mod elementary;
mod exact;
mod exponent;
mod forms;
mod functions;
mod inverse;
mod modular;
mod poly;
mod radical;
mod render;
mod ring;
mod scale;
mod shape;
mod sign;
mod stop;
mod unity;
mod zero;

use dashu::rational::RBig;

use self::ring::Ring;
use self::stop::{Share, Stop};
use super::expr::{Expr, Name, Workspace};
use super::finding::Assumptions;
use crate::fuel::Exhausted;

pub(super) use self::compare::compare;
pub(super) use self::scale::proportional;

/// The exact value of `expr`, where it is a rational constant and that is proven.
///
/// # Errors
/// [`Exhausted`] when the fuel is gone.
pub(super) fn rational(expr: Expr, ws: &mut Workspace<'_>) -> Result<Option<RBig>, Exhausted> {
    let mut share = Share::new(ws.fuel.left() / 4);
    let mut evaluator = exact::Evaluator { ws, share: &mut share };
    match evaluator.value(expr) {
        Ok(Some(value)) => return Ok(Some(value)),
        Ok(None) => {}
        Err(stop) => return unless_exhausted(stop),
    }
    let mut ring = Ring::new(ws, Assumptions::default(), share);
    match ring.build(expr) {
        Ok(poly) => Ok(poly.rational()),
        Err(stop) => unless_exhausted(stop),
    }
}

/// The free variables of `expr`, sorted.
pub(super) fn variables(expr: Expr, ws: &Workspace<'_>) -> Vec<Name> {
    shape::variables(expr, ws)
}

/// `expr` with `by` in place of the free variable `name`.
///
/// # Errors
/// [`Exhausted`] when the fuel is gone or the result would nest too deep.
pub(super) fn substitute(
    expr: Expr,
    name: Name,
    by: Expr,
    ws: &mut Workspace<'_>,
) -> Result<Expr, Exhausted> {
    shape::substitute(expr, name, by, ws)
}

/// `a` and `b` of `a name + b`, neither of which has `name` in it.
///
/// # Errors
/// [`Exhausted`] when the fuel is gone.
pub(super) fn linear(
    expr: Expr,
    name: Name,
    ws: &mut Workspace<'_>,
) -> Result<Option<(Expr, Expr)>, Exhausted> {
    let Some(coefficients) = polynomial(expr, name, ws)? else {
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

/// The coefficients of a polynomial in `name`, from degree 0 to its degree; 0 alone for zero.
///
/// # Errors
/// [`Exhausted`] when the fuel is gone.
pub(super) fn polynomial(
    expr: Expr,
    name: Name,
    ws: &mut Workspace<'_>,
) -> Result<Option<Vec<Expr>>, Exhausted> {
    let share = Share::new(ws.fuel.left() / 2);
    let mut ring = Ring::new(ws, Assumptions::default(), share);
    match scale::coefficients(expr, name, &mut ring) {
        Ok(coefficients) => Ok(coefficients),
        Err(stop) => unless_exhausted(stop),
    }
}

/// Nothing where an attempt was too costly or there is no value.
fn unless_exhausted<T>(stop: Stop) -> Result<Option<T>, Exhausted> {
    match stop {
        Stop::Exhausted => Err(Exhausted),
        Stop::Costly | Stop::Undefined | Stop::NoRule => Ok(None),
    }
}

#[cfg(test)]
mod tests;
