//! Ends of ranges and points of limits, which may be infinite.

use dashu::rational::RBig;

use super::build::exact_number;
use crate::expr::{Constant, Expr, Node, Workspace};

/// An end of a range, or the target of a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    At(Expr),
    PlusInfinity,
    MinusInfinity,
}

impl End {
    /// Converts `expr` to an end; `None` if it has no value or an unknown infinite one.
    pub(super) fn of(expr: Expr, ws: &Workspace<'_>) -> Option<Self> {
        let is_infinite = |expr: &Expr| *ws.node(*expr) == Node::Constant(Constant::Infinity);
        match ws.node(expr) {
            Node::Constant(Constant::Infinity) => Some(Self::PlusInfinity),
            Node::Constant(Constant::Undefined) => None,
            Node::Product(factors) if factors.iter().any(is_infinite) => match factors.as_ref() {
                [factor, _]
                    if exact_number(*factor, ws).is_some_and(|value| *value < RBig::ZERO) =>
                {
                    Some(Self::MinusInfinity)
                }
                _ => None,
            },
            Node::Number(_)
            | Node::Symbol(_)
            | Node::Constant(_)
            | Node::Sum(_)
            | Node::Product(_)
            | Node::Power(..)
            | Node::Call(..)
            | Node::Apply(..)
            | Node::Bound(_) => Some(Self::At(expr)),
        }
    }
}
