//! Families of curves over a free constant, as solutions of differential equations are: `x^2 y + x = C` and `y =
//! \frac{C - x}{x^2}`.

use super::inequality::as_equation;
use super::renamed::names_constant;
use super::{Comparer, Comparison};
use crate::algebra;
use crate::answer::Answer;
use crate::calculus;
use crate::expr::{Expr, Name, Node};
use crate::fuel::Exhausted;

/// A family of curves: where `level` has one value for each of them.
struct Family {
    constant: Name,
    level: Expr,
    /// The two coordinates.
    names: Vec<Name>,
}

impl Comparer<'_, '_> {
    /// Returns `found`, unless both answers give one letter its values and are the same family of curves over
    /// constants that are free.
    pub(super) fn same_curves_or(
        &mut self,
        found: Comparison,
        gold: &Answer,
        candidate: &Answer,
    ) -> Result<Comparison, Exhausted> {
        let equations = as_equation(gold).zip(as_equation(candidate));
        let Some((gold, other)) =
            equations.filter(|_| self.policy.renamed_constants && !found.is_equal())
        else {
            return Ok(found);
        };
        let own = self.ws.difference(gold.left, gold.right)?;
        let theirs = self.ws.difference(other.left, other.right)?;
        Ok(if self.are_same_curves(own, theirs)? {
            Comparison::equal("renamed_equal")
        } else {
            found
        })
    }

    /// Decides whether `own = 0` and `other = 0` are the same family of curves in two coordinates over one free
    /// constant each. A letter that both sides have is the same constant, unless the policy frees it.
    pub(super) fn are_same_curves(&mut self, own: Expr, other: Expr) -> Result<bool, Exhausted> {
        let Some(own) = self.curves(own)? else {
            return Ok(false);
        };
        let Some(other) = self.curves(other)? else {
            return Ok(false);
        };
        if own.names != other.names {
            return Ok(false);
        }
        if own.constant == other.constant && !self.policy.renamed_constants {
            return Ok(self.exprs(own.level, other.level)?.is_equal());
        }
        // One level is a function of the other where their gradients are parallel.
        let mut slopes = Vec::with_capacity(4);
        for level in [own.level, other.level] {
            for name in &own.names {
                match calculus::derivative(level, *name, self.ws)? {
                    Some(slope) => slopes.push(slope),
                    None => return Ok(false),
                }
            }
        }
        let zero = self.ws.integer(0)?;
        for slope in &slopes {
            if self.exprs(*slope, zero)?.is_equal() {
                return Ok(false);
            }
        }
        let left = self.ws.product(vec![slopes[0], slopes[3]])?;
        let right = self.ws.product(vec![slopes[1], slopes[2]])?;
        Ok(self.exprs(left, right)?.is_equal())
    }

    /// Returns the family of an equation `difference = 0` that is linear in its only free constant.
    fn curves(&mut self, difference: Expr) -> Result<Option<Family>, Exhausted> {
        // `y(x)` is the coordinate y.
        let difference = if self.ws.any(difference, &mut |node| matches!(node, Node::Apply(..)))? {
            self.ws.replaced(difference, &mut |ws, node| {
                if let Node::Apply(name, _) = node {
                    ws.intern(Node::Symbol(*name)).map(Some)
                } else {
                    Ok(None)
                }
            })?
        } else {
            difference
        };
        let names = algebra::variables(difference, self.ws);
        if names.len() != 3 {
            return Ok(None);
        }
        let is_free = |name: &Name| names_constant(self.ws.spelling(*name));
        let (free, mut names): (Vec<Name>, Vec<Name>) = names.into_iter().partition(is_free);
        let [constant] = free.as_slice() else {
            return Ok(None);
        };
        let Some((step, start)) = algebra::linear(difference, *constant, self.ws)? else {
            return Ok(None);
        };
        let zero = self.ws.integer(0)?;
        if self.exprs(step, zero)?.is_equal() {
            return Ok(None);
        }
        let start = self.ws.negated(start)?;
        let level = self.ws.quotient(start, step)?;
        names.sort_by_key(|name| self.ws.spelling(*name).to_owned());
        Ok(Some(Family { constant: *constant, level, names }))
    }
}
