//! Angles whose unit is not certain.

use crate::expr::{Expr, Function, Node, Workspace, children};
use crate::fuel::Exhausted;

/// Decides whether `expr` takes a circular function of a plain number other than 0, or an inverse
/// circular function: its angles may be in degrees.
///
/// # Errors
/// [`Exhausted`] when the fuel ran out.
pub fn has_plain_angle(expr: Expr, ws: &mut Workspace<'_>) -> Result<bool, Exhausted> {
    let mut angles = Vec::new();
    ws.any(expr, &mut |node| {
        if let Node::Call(
            Function::Sin
            | Function::Cos
            | Function::Tan
            | Function::Cot
            | Function::Sec
            | Function::Csc
            | Function::Asin
            | Function::Acos
            | Function::Atan,
            _,
        ) = node
        {
            angles.extend(children(node));
        }
        false
    })?;
    Ok(angles
        .into_iter()
        .any(|angle| matches!(ws.node(angle), Node::Number(value) if !value.is_zero()))
        || has_inverse(expr, ws)?)
}

/// Decides whether an angle is the value of some function: it may be given in degrees.
fn has_inverse(expr: Expr, ws: &mut Workspace<'_>) -> Result<bool, Exhausted> {
    ws.any(expr, &mut |node| {
        matches!(node, Node::Call(Function::Asin | Function::Acos | Function::Atan, _))
    })
}
