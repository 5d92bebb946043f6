//! Calculus: closed forms of sums, products, integrals, limits and derivatives.
//!
//! A closed form is returned only where a rule gives it: finite ranges are written out, polynomials
//! and geometric terms are summed by formula, integrals use antiderivatives of terms on checked
//! ranges, and limits use continuity or power series. Anything else has no closed form.
//!
//! An indefinite integral gives one antiderivative: the constant is left out.

mod build;
mod derivative;
mod end;
mod integral;
mod limit;
mod series;
mod sum;
mod terms;

pub(crate) use derivative::derivative;
pub(crate) use sum::enclosure;

use super::expr::{Binder, Bound, Expr, Node, Workspace};
use crate::fuel::Exhausted;

/// Decides whether an expression is 0; `None` if neither is proven. Limits need such a test for the
/// coefficients of power series; algebra has it, and passes it down.
pub(super) type ZeroTest = fn(Expr, &mut Workspace<'_>) -> Result<Option<bool>, Exhausted>;

/// Returns the closed form of `bound`, if a rule gives one. It is free of the bound variable,
/// except for an indefinite integral; the closed form of a limit may be infinite.
///
/// # Errors
/// [`Exhausted`] when the fuel is gone.
pub(super) fn closed(
    bound: &Bound,
    is_zero: ZeroTest,
    ws: &mut Workspace<'_>,
) -> Result<Option<Expr>, Exhausted> {
    ws.fuel.spend(4)?;
    match bound.binder {
        Binder::Sum | Binder::Product => sum::closed(bound, is_zero, ws),
        Binder::Integral => integral::closed(bound, ws),
        Binder::Limit(direction) => limit::closed(bound, direction, is_zero, ws),
        Binder::Derivative(order) => derivative::closed(bound, order, ws),
    }
}

/// Replaces every sum, product, limit, integral and derivative in `expr` that has a closed form by
/// it.
///
/// # Errors
/// [`Exhausted`] when the fuel is gone.
pub(super) fn with_closed_forms(
    expr: Expr,
    is_zero: ZeroTest,
    ws: &mut Workspace<'_>,
) -> Result<Expr, Exhausted> {
    ws.replaced(expr, &mut |ws, node| match node {
        Node::Bound(bound) => closed(bound, is_zero, ws),
        Node::Number(_)
        | Node::Symbol(_)
        | Node::Constant(_)
        | Node::Sum(_)
        | Node::Product(_)
        | Node::Power(..)
        | Node::Call(..)
        | Node::Apply(..) => Ok(None),
    })
}

#[cfg(test)]
mod tests;
