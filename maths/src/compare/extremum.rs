//! Maxima and minima of constants, by proofs about their order.

use std::cmp::Ordering;

use crate::expr::{Expr, Function, Node, Workspace};
use crate::fuel::Exhausted;
use crate::interval;

/// Returns `expr` with every maximum and minimum of constants replaced by the constant that it is,
/// if that is proven.
pub(super) fn settled(ws: &mut Workspace<'_>, expr: Expr) -> Result<Expr, Exhausted> {
    let has_any =
        ws.any(expr, &mut |node| matches!(node, Node::Call(Function::Max | Function::Min, _)))?;
    if !has_any {
        return Ok(expr);
    }
    ws.replaced(expr, &mut |ws, node| {
        let Node::Call(function @ (Function::Max | Function::Min), arguments) = node else {
            return Ok(None);
        };
        let wanted = if *function == Function::Max { Ordering::Greater } else { Ordering::Less };
        extreme(ws, arguments, wanted)
    })
}

/// Returns the argument that is `wanted` than all others, or as large.
fn extreme(
    ws: &mut Workspace<'_>,
    arguments: &[Expr],
    wanted: Ordering,
) -> Result<Option<Expr>, Exhausted> {
    let mut best = arguments[0];
    for argument in arguments {
        if !ws.is_closed(*argument)? {
            return Ok(None);
        }
        if *argument == best {
            continue;
        }
        let difference = ws.difference(*argument, best)?;
        match interval::sign(difference, ws)? {
            None => return Ok(None),
            Some(sign) if sign == wanted => best = *argument,
            Some(_) => {}
        }
    }
    Ok(Some(best))
}
