//! What is proven of the ratio of a geometric sum.

use std::cmp::Ordering;

use crate::calculus::build::{call, sub};
use crate::expr::{Expr, Function, Workspace};
use crate::fuel::Exhausted;
use crate::interval;

/// Decides whether `ratio` is proven not to be 1, or holds variables: then the formula is undefined
/// where they make it 1.
pub(super) fn may_differ_from_one(ratio: Expr, ws: &mut Workspace<'_>) -> Result<bool, Exhausted> {
    if !ws.is_closed(ratio)? {
        return Ok(true);
    }
    let one = ws.integer(1)?;
    let excess = sub(ratio, one, ws)?;
    let sign = interval::sign(excess, ws)?;
    Ok(matches!(sign, Some(Ordering::Less | Ordering::Greater)))
}

/// Decides whether `|ratio| < 1` is proven, or holds variables: then the sum is undefined where
/// they make it larger.
pub(super) fn may_converge(ratio: Expr, ws: &mut Workspace<'_>) -> Result<bool, Exhausted> {
    if !ws.is_closed(ratio)? {
        return Ok(true);
    }
    let size = call(Function::Abs, ratio, ws)?;
    let one = ws.integer(1)?;
    let rest = sub(one, size, ws)?;
    Ok(interval::sign(rest, ws)? == Some(Ordering::Greater))
}
