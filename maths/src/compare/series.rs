//! Sums over an index, whose ends may start elsewhere: equal where a shift of the index makes their terms equal.

use super::{Comparer, Comparison};
use crate::algebra;
use crate::expr::{Binder, Bound, Constant, Expr, Name, Node};
use crate::fuel::Exhausted;

/// The name that stands for a sum while the rest is read; no text has it.
const PLACE: &str = "sum!";

/// `scale` times a sum, plus `rest`.
struct Series {
    sum: Bound,
    scale: Expr,
    rest: Expr,
}

impl Comparer<'_, '_> {
    /// Compares expressions that no proof tells apart by what they are: antiderivatives with their constants, and
    /// sums over an index. `None` where that proves nothing.
    pub(super) fn by_operators(
        &mut self,
        gold: Expr,
        candidate: Expr,
    ) -> Result<Option<Comparison>, Exhausted> {
        // Numbers, which most answers are, have no operators.
        if [gold, candidate].iter().all(|expr| matches!(self.ws.node(*expr), Node::Number(_))) {
            return Ok(None);
        }
        if let Some(found) = self.antiderivatives(gold, candidate)? {
            return Ok(Some(found));
        }
        if let Some(multiplied) = self.multiplied(gold, candidate)? {
            let same = self.exprs(multiplied, candidate)?.is_equal();
            return Ok(same.then(|| Comparison::equal("calculus_equal")));
        }
        let Some(own) = self.series(gold)? else {
            return Ok(None);
        };
        let Some(other) = self.series(candidate)? else {
            return Ok(None);
        };
        Ok(self.are_same_series(&own, &other)?.then(|| Comparison::equal("calculus_equal")))
    }

    /// Returns `gold` with products for the function values of a letter that is a quantity in `candidate`: `g(\sin t - m)`
    /// beside `g \sin t - m g`. `None` where there is none.
    fn multiplied(&mut self, gold: Expr, candidate: Expr) -> Result<Option<Expr>, Exhausted> {
        let letters = algebra::variables(candidate, self.ws);
        let mut is_found = false;
        let product = self.ws.replaced(gold, &mut |ws, node| {
            let Node::Apply(name, arguments) = node else { return Ok(None) };
            let [argument] = arguments.as_ref() else { return Ok(None) };
            if !letters.contains(name) || !matches!(ws.node(*argument), Node::Sum(_)) {
                return Ok(None);
            }
            is_found = true;
            let (name, argument) = (*name, *argument);
            let letter = ws.intern(Node::Symbol(name))?;
            ws.product(vec![letter, argument]).map(Some)
        })?;
        Ok(is_found.then_some(product))
    }

    fn are_same_series(&mut self, own: &Series, other: &Series) -> Result<bool, Exhausted> {
        let ((Some(from), Some(to)), (Some(other_from), Some(other_to))) =
            ((own.sum.from, own.sum.to), (other.sum.from, other.sum.to))
        else {
            return Ok(false);
        };
        let shift = self.ws.difference(other_from, from)?;
        let is_whole = algebra::rational(shift, self.ws)?.is_some_and(|shift| shift.is_int());
        let is_endless = |ws: &crate::Workspace<'_>, end: Expr| {
            matches!(ws.node(end), Node::Constant(Constant::Infinity))
        };
        let ends_alike = if is_endless(self.ws, to) || is_endless(self.ws, other_to) {
            is_endless(self.ws, to) && is_endless(self.ws, other_to)
        } else {
            let end = self.ws.difference(other_to, to)?;
            self.exprs(end, shift)?.is_equal()
        };
        if !is_whole || !ends_alike {
            return Ok(false);
        }
        // A free letter of the other side must not become the index.
        let name = own.sum.variable;
        let is_free = other.sum.variable != name
            && [other.sum.body, other.scale, other.rest]
                .iter()
                .any(|part| algebra::variables(*part, self.ws).contains(&name));
        if is_free {
            return Ok(false);
        }
        let index = self.ws.intern(Node::Symbol(name))?;
        let shifted = self.ws.sum(vec![index, shift])?;
        let body = algebra::substitute(other.sum.body, other.sum.variable, shifted, self.ws)?;
        let left = self.ws.product(vec![own.scale, own.sum.body])?;
        let right = self.ws.product(vec![other.scale, body])?;
        Ok(self.exprs(left, right)?.is_equal() && self.exprs(own.rest, other.rest)?.is_equal())
    }

    /// Returns an expression as a multiple of its only sum, whose index stands nowhere else, and what is added to it.
    fn series(&mut self, expr: Expr) -> Result<Option<Series>, Exhausted> {
        let place = self.ws.name(PLACE);
        let mut found: Vec<Bound> = Vec::new();
        let outer = self.ws.replaced(expr, &mut |ws, node| {
            let Node::Bound(bound) = node else { return Ok(None) };
            if bound.binder != Binder::Sum {
                return Ok(None);
            }
            if !found.contains(bound) {
                found.push(Bound::clone(bound));
            }
            ws.intern(Node::Symbol(place)).map(Some)
        })?;
        let [sum] = found.as_slice() else {
            return Ok(None);
        };
        let is_nested = |name: &Name| *name == place;
        if algebra::variables(sum.body, self.ws).iter().any(is_nested) {
            return Ok(None);
        }
        let Some((scale, rest)) = algebra::linear(outer, place, self.ws)? else {
            return Ok(None);
        };
        let has_index = [scale, rest]
            .iter()
            .any(|part| algebra::variables(*part, self.ws).contains(&sum.variable));
        Ok((!has_index).then(|| Series { sum: sum.clone(), scale, rest }))
    }
}
