//! Limits: by continuity, and by power series.

use std::cmp::Ordering;

use super::ZeroTest;
use super::build::{neg, substitute};
use super::end::End;
use super::series::Expander;
use crate::expr::{Bound, Constant, Direction, Expr, Function, Node, Workspace};
use crate::fuel::Exhausted;
use crate::interval;

/// Returns the value of a limit; it may be infinite.
pub(super) fn closed(
    bound: &Bound,
    direction: Direction,
    is_zero: ZeroTest,
    ws: &mut Workspace<'_>,
) -> Result<Option<Expr>, Exhausted> {
    let Some(at) = bound.from else {
        return Ok(None);
    };
    let Some(target) = End::of(at, ws) else {
        return Ok(None);
    };
    if let End::At(at) = target
        && let Some(value) = by_continuity(bound, at, ws)?
    {
        return Ok(Some(value));
    }
    let expander = Expander { variable: bound.variable, target, is_zero };
    let Some(series) = expander.expand(bound.body, ws)? else {
        return Ok(None);
    };
    if series.start > 0 {
        return ws.integer(0).map(Some);
    }
    if series.start == 0 {
        return Ok(series.coefficients.first().copied());
    }
    // A pole, unless the first coefficients vanish.
    let Some(series) = expander.normal(series, ws)? else {
        return Ok(None);
    };
    match series.start.cmp(&0) {
        Ordering::Greater => ws.integer(0).map(Some),
        Ordering::Equal => Ok(series.coefficients.first().copied()),
        Ordering::Less => {
            let is_odd = series.start % 2 != 0;
            let is_two_sided = matches!(target, End::At(_)) && direction == Direction::Both;
            if is_odd && is_two_sided {
                return Ok(None);
            }
            let from_below = matches!(target, End::At(_)) && direction == Direction::Below;
            infinite(series.coefficients[0], is_odd && from_below, ws)
        }
    }
}

/// Returns infinity with the sign of `leading`, or the other one.
fn infinite(leading: Expr, flips: bool, ws: &mut Workspace<'_>) -> Result<Option<Expr>, Exhausted> {
    let sign = interval::sign(leading, ws)?;
    let infinity = ws.constant(Constant::Infinity)?;
    match (sign, flips) {
        (Some(Ordering::Greater), false) | (Some(Ordering::Less), true) => Ok(Some(infinity)),
        (Some(Ordering::Less), false) | (Some(Ordering::Greater), true) => {
            neg(infinity, ws).map(Some)
        }
        (Some(Ordering::Equal) | None, _) => Ok(None),
    }
}

/// Returns the value at the point itself, where the body is built of functions that are continuous
/// wherever they have a value, and has one there.
fn by_continuity(
    bound: &Bound,
    at: Expr,
    ws: &mut Workspace<'_>,
) -> Result<Option<Expr>, Exhausted> {
    let is_broken = ws.any(bound.body, &mut |node| match node {
        Node::Call(function, _) => has_jumps(*function),
        Node::Apply(..) | Node::Bound(_) => true,
        Node::Number(_)
        | Node::Symbol(_)
        | Node::Constant(_)
        | Node::Sum(_)
        | Node::Product(_)
        | Node::Power(..) => false,
    })?;
    if is_broken {
        return Ok(None);
    }
    let Some(value) = substitute(bound.body, bound.variable, at, ws)? else {
        return Ok(None);
    };
    if !ws.is_closed(value)? {
        return Ok(None);
    }
    let interval = interval::enclose(value, 128, ws)?;
    Ok(interval.map(|_| value))
}

/// Returns whether the function has values where it is not continuous.
fn has_jumps(function: Function) -> bool {
    match function {
        Function::Sign
        | Function::Floor
        | Function::Ceiling
        | Function::Factorial
        | Function::DoubleFactorial
        | Function::Binomial
        | Function::Permutations
        | Function::Gcd
        | Function::Lcm
        | Function::Mod
        | Function::Arg
        | Function::Acot
        | Function::LogBare => true,
        Function::Sin
        | Function::Cos
        | Function::Tan
        | Function::Cot
        | Function::Sec
        | Function::Csc
        | Function::Asin
        | Function::Acos
        | Function::Atan
        | Function::Asec
        | Function::Acsc
        | Function::Sinh
        | Function::Cosh
        | Function::Tanh
        | Function::Coth
        | Function::Sech
        | Function::Csch
        | Function::Asinh
        | Function::Acosh
        | Function::Atanh
        | Function::Ln
        | Function::Log
        | Function::Root
        | Function::Abs
        | Function::Max
        | Function::Min
        | Function::Re
        | Function::Im
        | Function::Conjugate => false,
    }
}
