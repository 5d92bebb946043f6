//! Piecewise answers, whatever the order of their pieces.

use dashu::rational::RBig;

use super::region::NumberRange;
use super::{Comparer, Comparison};
use crate::algebra;
use crate::answer::{Chain, Condition, Relation};
use crate::expr::{Expr, Function, Node};
use crate::fuel::Exhausted;

/// Pieces that the cases of absolute values and their kin may make of an answer.
const MAX_PIECES: usize = 32;

type ConditionalValue = (Expr, Option<Condition>);

/// A value and where it holds.
type Range = (Expr, Vec<NumberRange>);

impl Comparer<'_, '_> {
    /// Compares by the ranges in which each value holds, or condition by condition where these are
    /// not ranges of one variable.
    pub(super) fn piecewise(
        &mut self,
        pieces: &[ConditionalValue],
        others: &[ConditionalValue],
    ) -> Result<Comparison, Exhausted> {
        if let Some(outcome) = self.by_parity(pieces, others)? {
            return Ok(outcome);
        }
        let (split, other_split) = (self.split(pieces)?, self.split(others)?);
        if let (Some((name, own)), Some((other_name, theirs))) =
            (self.ranges(&split)?, self.ranges(&other_split)?)
        {
            if name != other_name {
                return Ok(Comparison::different("variable_different"));
            }
            return self.same_ranges(name, &own, &theirs);
        }
        if pieces.len() != others.len() {
            return Ok(Comparison::incomparable("pieces_no_rule"));
        }
        let mut free: Vec<&ConditionalValue> = others.iter().collect();
        for piece in pieces {
            let mut found = None;
            for (place, other) in free.iter().enumerate() {
                if self.exprs(piece.0, other.0)?.is_equal()
                    && self.same_condition(piece.1.as_ref(), other.1.as_ref())?
                {
                    found = Some(place);
                    break;
                }
            }
            match found {
                Some(place) => {
                    free.swap_remove(place);
                }
                None => return Ok(Comparison::incomparable("pieces_no_rule")),
            }
        }
        Ok(Comparison::equal("pieces_equal"))
    }

    /// Returns `pieces` without absolute values, signs, maxima and minima: a piece for each of their
    /// cases. An earlier piece wins, so the last case needs no condition of its own.
    fn split(&mut self, pieces: &[ConditionalValue]) -> Result<Vec<ConditionalValue>, Exhausted> {
        let mut open: Vec<ConditionalValue> = pieces.iter().rev().cloned().collect();
        let mut done = Vec::with_capacity(open.len());
        while let Some((value, condition)) = open.pop() {
            let node = self.innermost_choice(value)?;
            let (Some(node), true) = (node, done.len() + open.len() < MAX_PIECES) else {
                done.push((value, condition));
                continue;
            };
            let cases = self.cases_of(&node)?;
            for (result, case) in cases.into_iter().rev() {
                let value = self
                    .ws
                    .replaced(value, &mut |_, other| Ok((*other == node).then_some(result)))?;
                let condition = match (&condition, case) {
                    (None, None) => None,
                    (None, Some(chain)) => Some(Condition(vec![chain])),
                    (Some(own), None) => Some(own.clone()),
                    (Some(Condition(own)), Some(chain)) => {
                        Some(Condition([own.as_slice(), &[chain]].concat()))
                    }
                };
                open.push((value, condition));
            }
        }
        Ok(done)
    }

    /// Returns a node whose value depends on an order, in the arguments of which there is none such.
    fn innermost_choice(&mut self, expr: Expr) -> Result<Option<Node>, Exhausted> {
        let mut found = None;
        let is_choice = |node: &Node| match node {
            Node::Call(Function::Abs | Function::Sign, _) => true,
            Node::Call(Function::Max | Function::Min, arguments) => arguments.len() == 2,
            Node::Number(_)
            | Node::Symbol(_)
            | Node::Constant(_)
            | Node::Sum(_)
            | Node::Product(_)
            | Node::Power(..)
            | Node::Call(..)
            | Node::Apply(..)
            | Node::Bound(_) => false,
        };
        self.ws.any(expr, &mut |node| {
            // Nodes are visited from the root down: the last one lies deepest on its way.
            if is_choice(node) {
                found = Some(node.clone());
            }
            false
        })?;
        let Some(Node::Call(_, arguments)) = &found else {
            return Ok(None);
        };
        for argument in arguments.clone() {
            if self.ws.is_closed(argument)? && arguments.len() == 1
                || self.ws.any(argument, &mut |node| is_choice(node))?
            {
                return Ok(None);
            }
        }
        Ok(found)
    }

    /// Returns the cases of `|u|`, `sign(u)`, `max(u, v)` and `min(u, v)`.
    fn cases_of(&mut self, node: &Node) -> Result<Vec<(Expr, Option<Chain>)>, Exhausted> {
        let Node::Call(function, arguments) = node else {
            return Ok(Vec::new());
        };
        let zero = self.ws.integer(0)?;
        let first = arguments[0];
        let chain = |first, relation, right| Chain { first, rest: vec![(relation, right)] };
        Ok(match (function, arguments.get(1)) {
            (Function::Max, Some(second)) => {
                vec![
                    (first, Some(chain(first, Relation::GreaterOrEqual, *second))),
                    (*second, None),
                ]
            }
            (Function::Min, Some(second)) => {
                vec![(first, Some(chain(first, Relation::LessOrEqual, *second))), (*second, None)]
            }
            (Function::Sign, _) => {
                let (one, minus_one) = (self.ws.integer(1)?, self.ws.integer(-1)?);
                vec![
                    (one, Some(chain(first, Relation::Greater, zero))),
                    (zero, Some(chain(first, Relation::Equal, zero))),
                    (minus_one, None),
                ]
            }
            _ => {
                let opposite = self.ws.negated(first)?;
                vec![(first, Some(chain(first, Relation::GreaterOrEqual, zero))), (opposite, None)]
            }
        })
    }

    /// Compares where the conditions say whether a number is even: for even numbers and for odd
    /// ones. `None` if neither side has such conditions.
    fn by_parity(
        &mut self,
        pieces: &[ConditionalValue],
        others: &[ConditionalValue],
    ) -> Result<Option<Comparison>, Exhausted> {
        let own = self.parity(pieces);
        let Some(number) = own.or_else(|| self.parity(others)) else {
            return Ok(None);
        };
        for residue in [0, 1] {
            let own = self.at_parity(pieces, number, residue)?;
            let theirs = self.at_parity(others, number, residue)?;
            let (Some(own), Some(theirs)) = (own, theirs) else {
                return Ok(Some(Comparison::incomparable("pieces_no_rule")));
            };
            match self.exprs(own, theirs)? {
                Comparison::Equal(_) => {}
                Comparison::Different(_) if self.are_polynomials(own, theirs)? => {
                    return Ok(Some(Comparison::different("pieces_different")));
                }
                Comparison::Different(_) | Comparison::Incomparable(_) => {
                    return Ok(Some(Comparison::incomparable("pieces_different")));
                }
                rest @ Comparison::Undecided(_) => return Ok(Some(rest)),
            }
        }
        Ok(Some(Comparison::equal("pieces_equal")))
    }

    /// Returns the number whose parity every condition of `pieces` names.
    fn parity(&self, pieces: &[ConditionalValue]) -> Option<Expr> {
        let mut number = None;
        for (_, condition) in pieces {
            let Some(Condition(chains)) = condition else {
                continue;
            };
            let (own, _) = self.parity_of(chains)?;
            if *number.get_or_insert(own) != own {
                return None;
            }
        }
        number
    }

    /// Returns `n` and the residue of `mod(n, 2) = 1`.
    fn parity_of(&self, chains: &[Chain]) -> Option<(Expr, i64)> {
        let [Chain { first, rest }] = chains else {
            return None;
        };
        let ([(Relation::Equal, residue)], Node::Call(Function::Mod, arguments)) =
            (rest.as_slice(), self.ws.node(*first))
        else {
            return None;
        };
        let whole = |expr: Expr| {
            let Node::Number(value) = self.ws.node(expr) else {
                return None;
            };
            value.is_int().then(|| i64::try_from(value.numerator()).ok())?
        };
        let residue = whole(*residue)?;
        (whole(arguments[1]) == Some(2)).then(|| (arguments[0], residue.rem_euclid(2)))
    }

    /// Returns the value of the piece for numbers of this parity, with the signs that powers of -1
    /// then have.
    fn at_parity(
        &mut self,
        pieces: &[ConditionalValue],
        number: Expr,
        residue: i64,
    ) -> Result<Option<Expr>, Exhausted> {
        let holds = |condition: &Option<Condition>| match condition {
            None => true,
            Some(Condition(chains)) => self.parity_of(chains) == Some((number, residue)),
        };
        let Some((value, _)) = pieces.iter().find(|(_, condition)| holds(condition)) else {
            return Ok(None);
        };
        let Node::Symbol(name) = *self.ws.node(number) else {
            return Ok(Some(*value));
        };
        let at = self.ws.integer(residue)?;
        self.ws
            .replaced(*value, &mut |ws, node| {
                let Node::Power(base, exponent) = node else {
                    return Ok(None);
                };
                let is_sign =
                    matches!(ws.node(*base), Node::Number(value) if *value == RBig::NEG_ONE);
                let linear = algebra::linear(*exponent, name, ws)?;
                let (true, Some((step, _))) = (is_sign, linear) else {
                    return Ok(None);
                };
                // The parity of `a n + b` is that of `a r + b` where a and b are whole.
                let exponent = algebra::substitute(*exponent, name, at, ws)?;
                let (step, value) =
                    (algebra::rational(step, ws)?, algebra::rational(exponent, ws)?);
                let (true, Some(value)) =
                    (step.is_some_and(|step| step.is_int()), value.filter(RBig::is_int))
                else {
                    return Ok(None);
                };
                let is_even = value.numerator().trailing_zeros() != Some(0);
                ws.integer(if is_even { 1 } else { -1 }).map(Some)
            })
            .map(Some)
    }

    fn are_polynomials(&mut self, own: Expr, theirs: Expr) -> Result<bool, Exhausted> {
        Ok(self.is_polynomial(own)? && self.is_polynomial(theirs)?)
    }

    fn same_condition(
        &mut self,
        own: Option<&Condition>,
        other: Option<&Condition>,
    ) -> Result<bool, Exhausted> {
        let (Some(Condition(own)), Some(Condition(other))) = (own, other) else {
            return Ok(own.is_none() && other.is_none());
        };
        if own.len() != other.len() {
            return Ok(false);
        }
        for (own, other) in own.iter().zip(other) {
            if !self.inequalities(own, other)?.is_equal() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns the ranges of one variable in which each piece holds; an earlier piece wins.
    fn ranges(
        &mut self,
        pieces: &[ConditionalValue],
    ) -> Result<Option<(Expr, Vec<Range>)>, Exhausted> {
        let mut unknown = None;
        let mut rest = vec![self.line()?];
        let mut ranges = Vec::with_capacity(pieces.len());
        for (value, condition) in pieces {
            let own = match condition {
                None => rest.clone(),
                Some(Condition(chains)) => {
                    let Some((name, spans)) = self.solved(chains)? else {
                        return Ok(None);
                    };
                    if *unknown.get_or_insert(name) != name {
                        return Ok(None);
                    }
                    let Some(common) = self.common(&rest, &spans)? else {
                        return Ok(None);
                    };
                    common
                }
            };
            let outside = self.complement(&own)?;
            let Some(left) = self.common(&rest, &outside)? else {
                return Ok(None);
            };
            rest = left;
            ranges.push((*value, own));
        }
        Ok(unknown.map(|unknown| (unknown, ranges)))
    }

    /// Compares piece by piece: values must be the same, and defined in the same places.
    fn same_ranges(
        &mut self,
        unknown: Expr,
        own: &[Range],
        theirs: &[Range],
    ) -> Result<Comparison, Exhausted> {
        let domain = |ranges: &[Range]| -> Vec<NumberRange> {
            ranges.iter().flat_map(|(_, spans)| spans.clone()).collect()
        };
        let (own_domain, their_domain) = (self.merged(domain(own))?, self.merged(domain(theirs))?);
        let domains = self.same_spans(own_domain, their_domain)?;
        if !domains.is_equal() {
            return Ok(domains);
        }
        for (value, spans) in own {
            for (other, other_spans) in theirs {
                let Some(common) = self.common(spans, other_spans)? else {
                    return Ok(Comparison::incomparable("pieces_no_rule"));
                };
                let outcome = self.same_values(unknown, (*value, *other), &common)?;
                if !outcome.is_equal() {
                    return Ok(outcome);
                }
            }
        }
        Ok(Comparison::equal("pieces_equal"))
    }

    /// Decides whether two values are the same wherever `spans` say: as expressions on a range, by
    /// their value at a single number.
    fn same_values(
        &mut self,
        unknown: Expr,
        (value, other): (Expr, Expr),
        spans: &[NumberRange],
    ) -> Result<Comparison, Exhausted> {
        let whole = self.exprs(value, other)?;
        if whole.is_equal() || spans.is_empty() {
            return Ok(Comparison::equal("pieces_equal"));
        }
        if spans.iter().any(|span| span.from.at != span.to.at) {
            // They differ somewhere, perhaps outside of these ranges (`|x|` and `x`): no proof.
            // Polynomials that differ are equal at single points only.
            let is_proof = self.are_polynomials(value, other)?;
            return Ok(match whole {
                Comparison::Undecided(doubt) => Comparison::Undecided(doubt),
                Comparison::Different(_) if is_proof => Comparison::different("pieces_different"),
                Comparison::Different(_) | Comparison::Equal(_) | Comparison::Incomparable(_) => {
                    Comparison::incomparable("pieces_different")
                }
            });
        }
        let Node::Symbol(name) = *self.ws.node(unknown) else {
            return Ok(Comparison::incomparable("pieces_no_rule"));
        };
        for span in spans {
            let at = span.from.at;
            let value = algebra::substitute(value, name, at, self.ws)?;
            let other = algebra::substitute(other, name, at, self.ws)?;
            let outcome = self.exprs(value, other)?;
            if !outcome.is_equal() {
                return Ok(outcome);
            }
        }
        Ok(Comparison::equal("pieces_equal"))
    }
}
