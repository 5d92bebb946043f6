//! Exact algebra: whether two expressions are the same function, proven either way.
//!
//! The zero test is a ladder. Every rung may use a share of the fuel, and hands over to the next
//! if it cannot decide or its share is spent:
//!
//! 1. exact rational arithmetic ([`exact`]);
//! 2. values in a finite field, which prove rational functions different ([`modular`]);
//! 3. the difference in normal form ([`ring`], [`build`]) and its zero test ([`zero`]): rational
//!    functions, roots, exponentials and expressions of them.
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
mod values;
mod zero;

use dashu::rational::RBig;

use self::compare::is_zero;
use super::expr::{Expr, Name, Workspace};
use crate::fuel::Exhausted;
use crate::proof::{Assumptions, Proof};

pub use self::compare::compare;
#[cfg(test)]
pub(crate) use self::compare::is_zero as zero_test;
pub(crate) use self::compare::separate;

/// Returns the exact value of `expr`, if it is a rational constant and that is proven.
///
/// # Errors
/// [`Exhausted`] when the fuel is gone.
pub fn rational(expr: Expr, ws: &mut Workspace<'_>) -> Result<Option<RBig>, Exhausted> {
    values::rational(expr, is_zero, ws)
}

/// Decides whether `left` is `right` times a constant that is not zero.
///
/// # Errors
/// [`Exhausted`] when the fuel is gone.
pub(crate) fn proportional(
    left: Expr,
    right: Expr,
    assumptions: Assumptions,
    ws: &mut Workspace<'_>,
) -> Result<Proof, Exhausted> {
    scale::proportional(left, right, assumptions, is_zero, ws)
}

/// Returns the free variables of `expr`, sorted.
pub fn variables(expr: Expr, ws: &Workspace<'_>) -> Vec<Name> {
    shape::variables(expr, ws)
}

/// Returns `expr` with `by` in place of the free variable `name`.
///
/// # Errors
/// [`Exhausted`] when the fuel is gone or the result would nest too deep.
pub fn substitute(
    expr: Expr,
    name: Name,
    by: Expr,
    ws: &mut Workspace<'_>,
) -> Result<Expr, Exhausted> {
    shape::substitute(expr, name, by, ws)
}

/// Returns `a` and `b` of `a name + b`, neither of which has `name` in it.
///
/// # Errors
/// [`Exhausted`] when the fuel is gone.
pub(super) fn linear(
    expr: Expr,
    name: Name,
    ws: &mut Workspace<'_>,
) -> Result<Option<(Expr, Expr)>, Exhausted> {
    values::linear(expr, name, is_zero, ws)
}

/// Returns the coefficients of a polynomial in `name`, from degree 0 to its degree; 0 alone for
/// zero.
///
/// # Errors
/// [`Exhausted`] when the fuel is gone.
pub fn polynomial(
    expr: Expr,
    name: Name,
    ws: &mut Workspace<'_>,
) -> Result<Option<Vec<Expr>>, Exhausted> {
    values::polynomial(expr, name, is_zero, ws)
}

/// Returns the rational roots of `polynomial` in `variable` with a numerator of at most 60 and a
/// denominator of at most 6; none where a coefficient is not rational.
///
/// # Errors
/// [`Exhausted`] when the fuel is gone.
pub fn rational_roots(
    polynomial: Expr,
    variable: Name,
    ws: &mut Workspace<'_>,
) -> Result<Vec<RBig>, Exhausted> {
    values::rational_roots(polynomial, variable, is_zero, ws)
}

#[cfg(test)]
mod tests;
