//! Walks over expressions. Shared parts are visited once: as a tree, an expression can be
//! exponentially larger than its nodes are many.

use std::collections::{HashMap, HashSet};

use super::{Bound, Expr, Name, Node, Workspace, children};
use crate::fuel::Exhausted;

/// Replaces a node by another expression, or keeps it (`None`).
type Replacement<'r, 'f> =
    &'r mut dyn FnMut(&mut Workspace<'f>, &Node) -> Result<Option<Expr>, Exhausted>;

impl<'f> Workspace<'f> {
    /// Decides whether any node of `expr` satisfies `wanted`.
    ///
    /// # Errors
    /// [`Exhausted`] when the fuel ran out.
    pub(crate) fn any(
        &mut self,
        expr: Expr,
        wanted: &mut dyn FnMut(&Node) -> bool,
    ) -> Result<bool, Exhausted> {
        // A bit for each node, up to this one: children stand before their parents.
        let mut seen = vec![0u64; expr.index() / 64 + 1];
        let mut open = vec![expr];
        while let Some(expr) = open.pop() {
            let (word, bit) = (expr.index() / 64, 1 << (expr.index() % 64));
            if seen[word] & bit != 0 {
                continue;
            }
            seen[word] |= bit;
            self.fuel.spend(1)?;
            let node = self.node(expr);
            if wanted(node) {
                return Ok(true);
            }
            open.extend(children(node));
        }
        Ok(false)
    }

    /// Decides whether `expr` holds neither a free variable nor an unknown function.
    ///
    /// # Errors
    /// [`Exhausted`] when the fuel ran out.
    pub(crate) fn is_closed(&mut self, expr: Expr) -> Result<bool, Exhausted> {
        let is_open =
            self.any(expr, &mut |node| matches!(node, Node::Symbol(_) | Node::Apply(..)))?;
        if !is_open || !self.any(expr, &mut |node| matches!(node, Node::Bound(_)))? {
            return Ok(!is_open);
        }
        self.is_closed_under(expr, &mut Vec::new(), &mut HashSet::new())
    }

    /// Decides whether `expr` is closed where the variables of `bound` are bound. `seen` are the parts
    /// that are closed so.
    fn is_closed_under(
        &mut self,
        expr: Expr,
        bound: &mut Vec<Name>,
        seen: &mut HashSet<Expr>,
    ) -> Result<bool, Exhausted> {
        if !seen.insert(expr) {
            return Ok(true);
        }
        self.fuel.spend(1)?;
        let node = self.node(expr);
        let parts: Vec<Expr> = match node {
            Node::Symbol(name) => return Ok(bound.contains(name)),
            Node::Apply(..) => return Ok(false),
            Node::Bound(inner) => [inner.from, inner.to].into_iter().flatten().collect(),
            Node::Number(_)
            | Node::Constant(_)
            | Node::Sum(_)
            | Node::Product(_)
            | Node::Power(..)
            | Node::Call(..) => children(node).into_iter().collect(),
        };
        // The variable of an indefinite integral stays free.
        let scope = if let Node::Bound(inner) = node {
            Some((inner.body, inner.from.map(|_| inner.variable)))
        } else {
            None
        };
        for part in parts {
            if !self.is_closed_under(part, bound, seen)? {
                return Ok(false);
            }
        }
        let Some((body, variable)) = scope else {
            return Ok(true);
        };
        let before = bound.len();
        bound.extend(variable);
        let is_closed = self.is_closed_under(body, bound, &mut HashSet::new())?;
        bound.truncate(before);
        Ok(is_closed)
    }

    /// Returns `expr` with every node for which `by` gives something replaced by that, from the
    /// leaves up: `by` sees nodes whose children are replaced already.
    ///
    /// # Errors
    /// [`Exhausted`] when the fuel ran out.
    pub(crate) fn replaced(
        &mut self,
        expr: Expr,
        by: Replacement<'_, 'f>,
    ) -> Result<Expr, Exhausted> {
        let mut done = HashMap::new();
        self.replaced_in(expr, by, &mut done)
    }

    /// Recurses to the depth of the expression, which is bounded.
    fn replaced_in(
        &mut self,
        expr: Expr,
        by: Replacement<'_, 'f>,
        done: &mut HashMap<Expr, Expr>,
    ) -> Result<Expr, Exhausted> {
        if let Some(known) = done.get(&expr) {
            return Ok(*known);
        }
        self.fuel.spend(1)?;
        let mut node = self.node(expr).clone();
        let mut all = |ws: &mut Self, list: &mut [Expr]| -> Result<(), Exhausted> {
            for child in list {
                *child = ws.replaced_in(*child, by, done)?;
            }
            Ok(())
        };
        match &mut node {
            Node::Number(_) | Node::Symbol(_) | Node::Constant(_) => {}
            Node::Sum(list) | Node::Product(list) | Node::Call(_, list) | Node::Apply(_, list) => {
                all(self, list)?;
            }
            Node::Power(base, exponent) => {
                let mut both = [*base, *exponent];
                all(self, &mut both)?;
                [*base, *exponent] = both;
            }
            Node::Bound(bound) => {
                let Bound { from, to, body, .. } = bound.as_mut();
                for end in [from, to].into_iter().flatten() {
                    all(self, std::slice::from_mut(end))?;
                }
                all(self, std::slice::from_mut(body))?;
            }
        }
        let replaced = match by(self, &node)? {
            Some(other) => other,
            None => self.intern(node)?,
        };
        done.insert(expr, replaced);
        Ok(replaced)
    }
}
