//! Piecewise answers, whatever the order of their pieces.

use super::region::NumberRange;
use super::{Comparer, Comparison};
use crate::algebra;
use crate::answer::Condition;
use crate::expr::{Expr, Node};
use crate::fuel::Exhausted;

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
        if let (Some((name, own)), Some((other_name, theirs))) =
            (self.ranges(pieces)?, self.ranges(others)?)
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
            return Ok(match whole {
                Comparison::Undecided(doubt) => Comparison::Undecided(doubt),
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
