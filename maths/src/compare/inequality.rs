//! Equations up to a factor, inequalities by their solutions or link by link.

use std::cmp::Ordering;

use dashu::rational::RBig;

use super::region::{End, NumberRange, Spans, point};
use super::{Comparer, Comparison, mismatch, region_of, value};
use crate::algebra;
use crate::answer::{Answer, AnswerForm, Chain, Relation, Subject};
use crate::expr::{Expr, Function, Node};
use crate::fuel::Exhausted;
use crate::interval;

/// A link of a chain with everything on its left side: `difference relation 0`, where the relation
/// is one of `=`, `≠`, `<`, `≤`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Link {
    difference: Expr,
    relation: Relation,
}

/// An equation, `left = right`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Equation {
    pub(super) left: Expr,
    pub(super) right: Expr,
}

/// A polynomial of degree 2, `a x^2 + b x + c`.
struct Quadratic {
    a: Expr,
    b: Expr,
    c: Expr,
}

impl Comparer<'_, '_> {
    /// Compares with a gold equation.
    pub(super) fn for_equation(
        &mut self,
        gold: Equation,
        candidate: &Answer,
    ) -> Result<Comparison, Exhausted> {
        if let AnswerForm::Equation(left, right) = candidate.form {
            return self.equations(gold, Equation { left, right });
        }
        // `y = Cx, C \in \mathbb{R}`
        let stated = if let AnswerForm::List(members) = &candidate.form {
            self.only_stated(members)
        } else {
            None
        };
        if let Some(Answer { form: AnswerForm::Equation(left, right), .. }) = stated {
            return self.equations(gold, Equation { left: *left, right: *right });
        }
        match as_equation(stated.unwrap_or(candidate)) {
            Some(other) => self.equations(gold, other),
            None => Ok(mismatch()),
        }
    }

    /// Compares two equations, which say the same if their differences are the same up to a
    /// constant factor.
    pub(super) fn equations(
        &mut self,
        gold: Equation,
        other: Equation,
    ) -> Result<Comparison, Exhausted> {
        let own = self.ws.difference(gold.left, gold.right)?;
        let theirs = self.ws.difference(other.left, other.right)?;
        Ok(match self.proportional(own, theirs)? {
            Comparison::Equal(_) => Comparison::equal("equation_equal"),
            Comparison::Different(_) | Comparison::Undecided(_)
                if self.solve_alike(own, theirs)? || self.are_same_curves(own, theirs)? =>
            {
                Comparison::equal("equation_equal")
            }
            Comparison::Different(_)
                if self.is_polynomial(own)? && self.is_polynomial(theirs)? =>
            {
                Comparison::different("equation_different")
            }
            // Other factors, such as a denominator, may make up the difference.
            Comparison::Different(_) => Comparison::incomparable("equation_no_rule"),
            rest @ (Comparison::Incomparable(_) | Comparison::Undecided(_)) => rest,
        })
    }

    /// Decides whether `a v + b = 0` and `c v + d = 0` have the same solution `v`, one of their
    /// variables: their factor need not be rational, as in `y = x / e` and `x - e y = 0`.
    fn solve_alike(&mut self, own: Expr, other: Expr) -> Result<bool, Exhausted> {
        for name in algebra::variables(own, self.ws) {
            let Some((a, b)) = algebra::linear(own, name, self.ws)? else { continue };
            let Some((c, d)) = algebra::linear(other, name, self.ws)? else { continue };
            let zero = self.ws.integer(0)?;
            let is_slope = |slope: Expr, this: &mut Self| {
                Ok(this.ws.is_closed(slope)? && !this.exprs(slope, zero)?.is_equal())
            };
            if !is_slope(a, self)? || !is_slope(c, self)? {
                continue;
            }
            let (left, right) = (self.ws.product(vec![a, d])?, self.ws.product(vec![b, c])?);
            return Ok(self.exprs(left, right)?.is_equal());
        }
        Ok(false)
    }

    pub(super) fn is_polynomial(&mut self, expr: Expr) -> Result<bool, Exhausted> {
        for name in algebra::variables(expr, self.ws) {
            if algebra::polynomial(expr, name, self.ws)?.is_none() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Compares with a gold inequality.
    pub(super) fn for_inequality(
        &mut self,
        gold: &Chain,
        candidate: &Answer,
    ) -> Result<Comparison, Exhausted> {
        if let AnswerForm::Inequality(other) = &candidate.form {
            return self.inequalities(gold, other);
        }
        // An order of numbers, given as their list.
        if let AnswerForm::List(others) = &candidate.form {
            return match self.ordered(gold)? {
                Some(members) => self.in_order(&members, others),
                None => Ok(mismatch()),
            };
        }
        let Some(region) = region_of(&candidate.form) else {
            return Ok(mismatch());
        };
        match self.solved(std::slice::from_ref(gold))? {
            Some((_, spans)) => {
                let other = self.spans(&region)?;
                self.same_spans(Some(spans), other)
            }
            None => Ok(mismatch()),
        }
    }

    /// Compares two inequalities, which say the same if they have the same solutions, or the same
    /// links.
    pub(super) fn inequalities(
        &mut self,
        gold: &Chain,
        other: &Chain,
    ) -> Result<Comparison, Exhausted> {
        if gold == other {
            return Ok(Comparison::equal("identical"));
        }
        let own = self.solved(std::slice::from_ref(gold))?;
        let theirs = self.solved(std::slice::from_ref(other))?;
        if let (Some((name, own)), Some((other_name, theirs))) = (own, theirs) {
            if name != other_name {
                return Ok(Comparison::different("variable_different"));
            }
            return Ok(match self.same_spans(Some(own), Some(theirs))? {
                Comparison::Equal(_) => Comparison::equal("inequality_equal"),
                Comparison::Different(_) => Comparison::different("inequality_different"),
                rest @ (Comparison::Incomparable(_) | Comparison::Undecided(_)) => rest,
            });
        }
        self.same_links(gold, other)
    }

    /// Decides whether every link of one chain has its equal in the other, up to a positive factor.
    fn same_links(&mut self, gold: &Chain, other: &Chain) -> Result<Comparison, Exhausted> {
        let own = self.links(gold)?;
        let mut free = self.links(other)?;
        if own.len() != free.len() {
            return Ok(Comparison::incomparable("inequality_no_rule"));
        }
        for link in own {
            let mut found = None;
            for (place, candidate) in free.iter().enumerate() {
                if self.is_same_link(link, *candidate)? {
                    found = Some(place);
                    break;
                }
            }
            match found {
                Some(place) => {
                    free.swap_remove(place);
                }
                None => return self.opposed(gold, other),
            }
        }
        Ok(Comparison::equal("inequality_equal"))
    }

    /// Proves single links different whose sides are proportional and whose relations differ.
    fn opposed(&mut self, gold: &Chain, other: &Chain) -> Result<Comparison, Exhausted> {
        let (own, theirs) = (self.links(gold)?, self.links(other)?);
        let ([own], [theirs]) = (own.as_slice(), theirs.as_slice()) else {
            return Ok(Comparison::incomparable("inequality_no_rule"));
        };
        let sides = self.proportional(own.difference, theirs.difference)?;
        Ok(match sides {
            Comparison::Equal(_) => Comparison::different("inequality_different"),
            Comparison::Different(_) | Comparison::Incomparable(_) | Comparison::Undecided(_) => {
                Comparison::incomparable("inequality_no_rule")
            }
        })
    }

    fn links(&mut self, chain: &Chain) -> Result<Vec<Link>, Exhausted> {
        let mut links = Vec::with_capacity(chain.rest.len());
        let mut left = chain.first;
        for (relation, right) in &chain.rest {
            let (small, large, relation) = match relation {
                Relation::Greater => (*right, left, Relation::Less),
                Relation::GreaterOrEqual => (*right, left, Relation::LessOrEqual),
                Relation::Equal | Relation::NotEqual | Relation::Less | Relation::LessOrEqual => {
                    (left, *right, *relation)
                }
            };
            links.push(Link { difference: self.ws.difference(small, large)?, relation });
            left = *right;
        }
        Ok(links)
    }

    fn is_same_link(&mut self, own: Link, other: Link) -> Result<bool, Exhausted> {
        if own.relation != other.relation
            || !self.proportional(own.difference, other.difference)?.is_equal()
        {
            return Ok(false);
        }
        match own.relation {
            Relation::Equal | Relation::NotEqual => Ok(true),
            Relation::Less
            | Relation::LessOrEqual
            | Relation::Greater
            | Relation::GreaterOrEqual => {
                let sign = self.factor_sign(own.difference, other.difference)?;
                Ok(sign == Some(Ordering::Greater))
            }
        }
    }

    /// Returns the sign of the constant factor between two expressions, from a point where neither
    /// is zero.
    fn factor_sign(&mut self, left: Expr, right: Expr) -> Result<Option<Ordering>, Exhausted> {
        let product = self.ws.product(vec![left, right])?;
        let names = algebra::variables(product, self.ws);
        for attempt in 1..=4i64 {
            let mut at_point = product;
            for (index, name) in (1i64..).zip(&names) {
                let value = RBig::from_parts((7 * attempt + 3 * index).into(), 5u8.into());
                let value = self.ws.number(value)?;
                at_point = algebra::substitute(at_point, *name, value, self.ws)?;
            }
            let sign = interval::sign(at_point, self.ws)?;
            if sign.is_some_and(|sign| sign != Ordering::Equal) {
                return Ok(sign);
            }
        }
        Ok(None)
    }

    /// Returns the variable of chains in one variable, and the numbers for which all of them hold.
    pub(super) fn solved(
        &mut self,
        chains: &[Chain],
    ) -> Result<Option<(Expr, Vec<NumberRange>)>, Exhausted> {
        let mut unknown = None;
        let mut all = vec![self.line()?];
        for chain in chains {
            for (relation, left, right) in chain_relations(chain) {
                let Some((own, spans)) = self.solved_pair(relation, left, right)? else {
                    return Ok(None);
                };
                if *unknown.get_or_insert(own) != own {
                    return Ok(None);
                }
                let Some(common) = self.common(&all, &spans)? else {
                    return Ok(None);
                };
                all = common;
            }
        }
        Ok(unknown.map(|unknown| (unknown, all)))
    }

    /// Returns the solutions of `left relation right` in its only unknown: a variable, or the value
    /// of an unknown function that stands alone.
    fn solved_pair(
        &mut self,
        relation: Relation,
        left: Expr,
        right: Expr,
    ) -> Result<Option<(Expr, Vec<NumberRange>)>, Exhausted> {
        for (side, other, relation) in [(left, right, relation), (right, left, mirrored(relation))]
        {
            let is_value = matches!(self.ws.node(side), Node::Apply(..) | Node::Symbol(_));
            if is_value && self.ws.is_closed(other)? {
                let spans = self.beyond(relation, other)?;
                return Ok(Some((side, spans)));
            }
            if let Node::Call(Function::Abs, arguments) = self.ws.node(side) {
                let inner = arguments[0];
                if self.ws.is_closed(other)? {
                    return self.solved_abs(relation, inner, other);
                }
            }
        }
        let difference = self.ws.difference(left, right)?;
        let names = algebra::variables(difference, self.ws);
        let [only] = names.as_slice() else {
            return Ok(None);
        };
        let Some(coefficients) = algebra::polynomial(difference, *only, self.ws)? else {
            return Ok(None);
        };
        let spans = self.solved_polynomial(relation, &coefficients)?;
        let unknown = self.ws.intern(Node::Symbol(*only))?;
        Ok(spans.map(|spans| (unknown, spans)))
    }

    /// Returns `|inner| relation bound`.
    fn solved_abs(
        &mut self,
        relation: Relation,
        inner: Expr,
        bound: Expr,
    ) -> Result<Option<(Expr, Vec<NumberRange>)>, Exhausted> {
        let below = self.ws.negated(bound)?;
        let zero = self.ws.integer(0)?;
        if !matches!(self.order(zero, bound)?, Some(Ordering::Less | Ordering::Equal)) {
            return Ok(None);
        }
        let upper = self.solved_pair(relation, inner, bound)?;
        let lower = self.solved_pair(mirrored(relation), inner, below)?;
        let (Some((unknown, upper)), Some((_, lower))) = (upper, lower) else {
            return Ok(None);
        };
        let spans = match relation {
            Relation::Less | Relation::LessOrEqual | Relation::NotEqual => {
                self.common(&upper, &lower)?
            }
            Relation::Greater | Relation::GreaterOrEqual | Relation::Equal => {
                self.merged([upper, lower].concat())?
            }
        };
        Ok(spans.map(|spans| (unknown, spans)))
    }

    /// Finds where a polynomial of degree 1 or 2 with constant coefficients, from degree 0 up, has
    /// the relation to 0.
    fn solved_polynomial(
        &mut self,
        relation: Relation,
        coefficients: &[Expr],
    ) -> Result<Spans, Exhausted> {
        for coefficient in coefficients {
            if !self.ws.is_closed(*coefficient)? {
                return Ok(None);
            }
        }
        let Some(lead) = coefficients.last() else {
            return Ok(None);
        };
        let Some(lead_sign) = interval::sign(*lead, self.ws)? else {
            return Ok(None);
        };
        // Dividing by a negative number turns the relation round.
        let relation = match lead_sign {
            Ordering::Less => mirrored(relation),
            Ordering::Greater => relation,
            Ordering::Equal => return Ok(None),
        };
        match coefficients {
            [start, slope] => {
                let root = self.ws.quotient(*start, *slope)?;
                let root = self.ws.negated(root)?;
                let root = self.simple(root)?;
                self.beyond(relation, root).map(Some)
            }
            [c, b, a] => self.solved_quadratic(relation, &Quadratic { a: *a, b: *b, c: *c }),
            _ => Ok(None),
        }
    }

    /// Finds where `a x^2 + b x + c`, divided by `a`, has the relation to 0.
    fn solved_quadratic(
        &mut self,
        relation: Relation,
        &Quadratic { a, b, c }: &Quadratic,
    ) -> Result<Spans, Exhausted> {
        let four = self.ws.integer(-4)?;
        let two = self.ws.integer(2)?;
        let square = self.ws.product(vec![b, b])?;
        let product = self.ws.product(vec![four, a, c])?;
        let discriminant = self.ws.sum(vec![square, product])?;
        let Some(sign) = interval::sign(discriminant, self.ws)? else {
            return Ok(None);
        };
        let twice = self.ws.product(vec![two, a])?;
        let minus_b = self.ws.negated(b)?;
        let centre = self.ws.quotient(minus_b, twice)?;
        let (first, last) = match sign {
            Ordering::Less => {
                let holds = match relation {
                    Relation::Greater | Relation::GreaterOrEqual | Relation::NotEqual => true,
                    Relation::Less | Relation::LessOrEqual | Relation::Equal => false,
                };
                let line = self.line()?;
                return Ok(Some(if holds { vec![line] } else { Vec::new() }));
            }
            Ordering::Equal => {
                let root = self.simple(centre)?;
                (root, root)
            }
            Ordering::Greater => {
                let one_half = self.ws.number(RBig::from_parts(1.into(), 2u8.into()))?;
                let root = self.ws.power(discriminant, one_half)?;
                let root = self.ws.quotient(root, twice)?;
                let (below, above) =
                    (self.ws.difference(centre, root)?, self.ws.sum(vec![centre, root])?);
                let (below, above) = (self.simple(below)?, self.simple(above)?);
                match self.order(below, above)? {
                    Some(Ordering::Less) => (below, above),
                    Some(Ordering::Greater) => (above, below),
                    Some(Ordering::Equal) | None => return Ok(None),
                }
            }
        };
        let inside = NumberRange {
            from: End { at: first, is_in: relation == Relation::LessOrEqual },
            to: End { at: last, is_in: relation == Relation::LessOrEqual },
        };
        match relation {
            Relation::Less | Relation::LessOrEqual => self.merged(vec![inside]),
            Relation::Equal => self.merged(vec![point(first), point(last)]),
            Relation::NotEqual => {
                let points = self.merged(vec![point(first), point(last)])?;
                match points {
                    Some(points) => self.complement(&points).map(Some),
                    None => Ok(None),
                }
            }
            Relation::Greater | Relation::GreaterOrEqual => {
                let closed = relation == Relation::Greater;
                let inside = NumberRange {
                    from: End { at: first, is_in: closed },
                    to: End { at: last, is_in: closed },
                };
                let inside = self.merged(vec![inside])?.unwrap_or_default();
                self.complement(&inside).map(Some)
            }
        }
    }

    /// Returns the numbers with the relation to `bound`.
    fn beyond(&mut self, relation: Relation, bound: Expr) -> Result<Vec<NumberRange>, Exhausted> {
        let line = self.line()?;
        let end = |is_in| End { at: bound, is_in };
        // `x < ∞` holds for every number.
        let is_infinite = value::infinity(self.ws, bound).is_some();
        let below = |is_in: bool| NumberRange { from: line.from, to: end(is_in && !is_infinite) };
        let above = |is_in: bool| NumberRange { from: end(is_in && !is_infinite), to: line.to };
        Ok(match relation {
            Relation::Less => vec![below(false)],
            Relation::LessOrEqual => vec![below(true)],
            Relation::Greater => vec![above(false)],
            Relation::GreaterOrEqual => vec![above(true)],
            Relation::Equal => vec![point(bound)],
            Relation::NotEqual => vec![below(false), above(false)],
        })
    }

    /// Returns `expr` as a number where it is rational.
    fn simple(&mut self, expr: Expr) -> Result<Expr, Exhausted> {
        match algebra::rational(expr, self.ws)? {
            Some(value) => self.ws.number(value),
            None => Ok(expr),
        }
    }
}

/// Returns `y = 2x + 1` as an equation: a value whose only subject is a variable or a function's
/// value.
pub(super) fn as_equation(answer: &Answer) -> Option<Equation> {
    let ([Subject::Expr(subject)], AnswerForm::Value(value)) =
        (answer.subjects.as_slice(), &answer.form)
    else {
        return None;
    };
    value.unit.is_none().then_some(Equation { left: *subject, right: value.expr })
}

/// Returns the relation read from right to left.
fn mirrored(relation: Relation) -> Relation {
    match relation {
        Relation::Less => Relation::Greater,
        Relation::LessOrEqual => Relation::GreaterOrEqual,
        Relation::Greater => Relation::Less,
        Relation::GreaterOrEqual => Relation::LessOrEqual,
        Relation::Equal | Relation::NotEqual => relation,
    }
}

/// Returns the links of a chain as written.
fn chain_relations(chain: &Chain) -> impl Iterator<Item = (Relation, Expr, Expr)> + '_ {
    let lefts = std::iter::once(chain.first).chain(chain.rest.iter().map(|(_, side)| *side));
    lefts.zip(&chain.rest).map(|(left, (relation, right))| (*relation, left, *right))
}
