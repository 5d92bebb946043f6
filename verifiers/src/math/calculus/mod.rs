//! Calculus: closed forms of sums, products, integrals, limits and derivatives.
//!
//! A closed form is returned only where a rule gives it: finite ranges are written out, polynomials
//! and geometric terms are summed by formula, integrals go by antiderivatives of terms whose range
//! is looked at, and limits by continuity or by power series. The rest has none.
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

use super::expr::{Binder, Bound, Expr, Node, Workspace};
use crate::fuel::Exhausted;

/// The closed form of `bound`, where a rule gives one. It is free of the bound variable, but for an
/// indefinite integral; it may be infinite, where a limit is.
///
/// # Errors
/// [`Exhausted`] when the fuel is gone.
pub(super) fn closed(bound: &Bound, ws: &mut Workspace<'_>) -> Result<Option<Expr>, Exhausted> {
    ws.fuel.spend(4)?;
    match bound.binder {
        Binder::Sum | Binder::Product => sum::closed(bound, ws),
        Binder::Integral => integral::closed(bound, ws),
        Binder::Limit(direction) => limit::closed(bound, direction, ws),
        Binder::Derivative(order) => derivative::closed(bound, order, ws),
    }
}

/// `expr` with every sum, product, limit, integral and derivative in it replaced by its closed form, where it
/// has one.
///
/// # Errors
/// [`Exhausted`] when the fuel is gone.
pub(super) fn resolved(expr: Expr, ws: &mut Workspace<'_>) -> Result<Expr, Exhausted> {
    if !ws.any(expr, &mut |node| matches!(node, Node::Bound(_)))? {
        return Ok(expr);
    }
    ws.replaced(expr, &mut |ws, node| match node {
        Node::Bound(bound) => closed(bound, ws),
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
