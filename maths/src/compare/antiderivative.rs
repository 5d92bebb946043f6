//! Antiderivatives: equal up to a constant where both sides add one of integration.

use super::{Comparer, Comparison};
use crate::algebra;
use crate::calculus;
use crate::expr::{Expr, Function, Name, Node};
use crate::fuel::Exhausted;

/// Letters of a constant of integration in a candidate. In a gold answer it is `C`.
const CONSTANTS: [&str; 6] = ["C", "c", "K", "k", "C_1", "C_0"];

impl Comparer<'_, '_> {
    /// Compares `gold`, a function of one variable plus `C`, with a candidate of that form: they are
    /// antiderivatives of one function where their difference without the constants does not depend
    /// on the variable. `None` where either side is of another form or that is not proven.
    pub(super) fn antiderivatives(
        &mut self,
        gold: Expr,
        candidate: Expr,
    ) -> Result<Option<Comparison>, Exhausted> {
        let Some((own, variable)) = self.without_constant(gold, &CONSTANTS[..1])? else {
            return Ok(None);
        };
        let Some((other, also)) = self.without_constant(candidate, &CONSTANTS)? else {
            return Ok(None);
        };
        if variable != also {
            return Ok(None);
        }
        let difference = self.ws.difference(own, other)?;
        let one = self.ws.integer(1)?;
        let at_one = algebra::substitute(difference, variable, one, self.ws)?;
        let is_constant = self.exprs(difference, at_one)?.is_equal()
            || self.is_slopeless(difference, variable)?;
        Ok(is_constant.then(|| Comparison::equal("constant_of_integration")))
    }

    /// Decides whether the derivative is proven to be 0. Of `ln|v|` it is `v'/v`: the variable of an
    /// integral is real, and so is `v` there.
    fn is_slopeless(&mut self, expr: Expr, variable: Name) -> Result<bool, Exhausted> {
        let expr = self.ws.replaced(expr, &mut |ws, node| {
            let Node::Call(Function::Ln, arguments) = node else { return Ok(None) };
            let Node::Call(Function::Abs, inner) = ws.node(arguments[0]).clone() else {
                return Ok(None);
            };
            ws.call(Function::Ln, inner.to_vec()).map(Some)
        })?;
        let Some(slope) = calculus::derivative(expr, variable, self.ws)? else {
            return Ok(false);
        };
        let zero = self.ws.integer(0)?;
        Ok(self.exprs(slope, zero)?.is_equal())
    }

    /// Returns the sum without its constant of integration, and its only variable.
    fn without_constant(
        &mut self,
        expr: Expr,
        constants: &[&str],
    ) -> Result<Option<(Expr, Name)>, Exhausted> {
        let Node::Sum(terms) = self.ws.node(expr) else {
            return Ok(None);
        };
        let terms = terms.to_vec();
        let is_constant = |term: &Expr| match self.ws.node(*term) {
            Node::Symbol(name) => constants.contains(&self.ws.spelling(*name)),
            Node::Number(_)
            | Node::Constant(_)
            | Node::Sum(_)
            | Node::Product(_)
            | Node::Power(..)
            | Node::Call(..)
            | Node::Apply(..)
            | Node::Bound(_) => false,
        };
        let (found, rest): (Vec<Expr>, Vec<Expr>) =
            terms.into_iter().partition(|term| is_constant(term));
        if found.len() != 1 {
            return Ok(None);
        }
        let rest = self.ws.sum(rest)?;
        Ok(match algebra::variables(rest, self.ws).as_slice() {
            [only] => Some((rest, *only)),
            _ => None,
        })
    }
}
