//! Antiderivatives: equal up to a constant where both sides add one of integration.

use super::{Comparer, Comparison};
use crate::algebra;
use crate::expr::{Expr, Name, Node};
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
        let is_constant = self.exprs(difference, at_one)?.is_equal();
        Ok(is_constant.then(|| Comparison::equal("constant_of_integration")))
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
