//! Sets of real numbers: intervals, unions, complements.
//!
//! A region is brought to *spans*: sorted, disjoint, none empty, none touching. Two regions are the
//! same when their spans are. Sorting takes proofs about the order of their ends; where one fails,
//! there are no spans.

use std::cmp::Ordering;

use super::{Comparer, Comparison, bare, mismatch, region_of, text_compare};
use crate::algebra;
use crate::answer::{Answer, AnswerForm, Brackets, Chain, Region, Relation};
use crate::expr::{Constant, Expr, Node};
use crate::fuel::Exhausted;

/// Spans in one region: sorting them takes proofs.
const MAX_SPANS: usize = 64;

/// One side of a span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct End {
    pub(super) at: Expr,
    /// Whether the number itself belongs to the span; never of an infinite end.
    pub(super) is_in: bool,
}

/// The numbers between two ends; a single number where both are equal and in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NumberRange {
    pub(super) from: End,
    pub(super) to: End,
}

/// Spans, or `None` if the order of their ends is not known.
pub(super) type Spans = Option<Vec<NumberRange>>;

/// Returns the interval that a pair in brackets may be.
pub(super) fn of_pair(brackets: Brackets, members: &[Answer]) -> Option<Region> {
    let [from, to] = members else {
        return None;
    };
    let end = |answer: &Answer| {
        let AnswerForm::Value(value) = &answer.form else {
            return None;
        };
        (value.unit.is_none() && answer.subjects.is_empty()).then_some(value.expr)
    };
    let is_in = match brackets {
        Brackets::Round => false,
        Brackets::Square => true,
        Brackets::Angle => return None,
    };
    Some(Region::Interval { from: end(from)?, to: end(to)?, has_from: is_in, has_to: is_in })
}

impl Comparer<'_, '_> {
    /// Compares a bounded gold interval with "48.04 to 51.96": by its ends.
    pub(super) fn for_range(
        &mut self,
        gold: &Answer,
        candidate: &Answer,
    ) -> Result<Option<Comparison>, Exhausted> {
        let Some(ends) = text_compare::range(candidate) else {
            return Ok(None);
        };
        if let AnswerForm::Ratio(terms) = &gold.form {
            let [from, to] = ends;
            let ends = [self.ws.number(from)?, self.ws.number(to)?];
            return self.ratios(terms, &ends).map(Some);
        }
        let own = match region_of(&gold.form) {
            Some(Region::Interval { from, to, .. }) => [from, to],
            Some(_) | None => return Ok(None),
        };
        for (own, end) in own.into_iter().zip(ends) {
            let end = self.ws.number(end)?;
            let outcome = self.exprs(own, end)?;
            if !outcome.is_equal() {
                return Ok(Some(outcome));
            }
        }
        Ok(Some(Comparison::equal("region_equal")))
    }

    /// Compares with a gold region.
    pub(super) fn for_region(
        &mut self,
        gold: &Region,
        candidate: &Answer,
    ) -> Result<Comparison, Exhausted> {
        if let AnswerForm::Inequality(chain) = &candidate.form {
            return self.interval_by_inequality(gold, chain);
        }
        match region_of(&candidate.form) {
            Some(other)
                if !self.policy.inequality_as_interval && states(&other) && !states(gold) =>
            {
                Ok(mismatch())
            }
            Some(other) => self.regions(gold, &other),
            None => Ok(mismatch()),
        }
    }

    /// Compares an inequality with a gold interval, if the policy allows it.
    pub(super) fn interval_by_inequality(
        &mut self,
        gold: &Region,
        chain: &Chain,
    ) -> Result<Comparison, Exhausted> {
        if !self.policy.inequality_as_interval {
            return Ok(mismatch());
        }
        match self.solved(std::slice::from_ref(chain))? {
            Some((_, spans)) => {
                let own = self.spans(gold)?;
                self.same_spans(own, Some(spans))
            }
            None => match self.range_of_quantity(chain)? {
                Some(range) => self.regions(gold, &range),
                None => Ok(mismatch()),
            },
        }
    }

    /// Returns the interval in which `1 \le x^2 - xy + y^2 \le 9` says that a quantity lies, which
    /// is no variable and not solved for one.
    fn range_of_quantity(&mut self, chain: &Chain) -> Result<Option<Region>, Exhausted> {
        let [(first, middle), (second, last)] = chain.rest.as_slice() else {
            return Ok(None);
        };
        let is_less =
            |relation: Relation| matches!(relation, Relation::Less | Relation::LessOrEqual);
        let is_more =
            |relation: Relation| matches!(relation, Relation::Greater | Relation::GreaterOrEqual);
        let is_closed = self.ws.is_closed(chain.first)? && self.ws.is_closed(*last)?;
        let has_several = algebra::variables(*middle, self.ws).len() > 1
            || self.ws.any(*middle, &mut |node| matches!(node, Node::Apply(..)))?;
        let has = |relation: Relation| {
            matches!(relation, Relation::LessOrEqual | Relation::GreaterOrEqual)
        };
        let (has_first, has_last) = (has(*first), has(*second));
        if !is_closed || !has_several {
            return Ok(None);
        }
        Ok(if is_less(*first) && is_less(*second) {
            let (from, to) = (chain.first, *last);
            Some(Region::Interval { from, to, has_from: has_first, has_to: has_last })
        } else if is_more(*first) && is_more(*second) {
            let (from, to) = (*last, chain.first);
            Some(Region::Interval { from, to, has_from: has_last, has_to: has_first })
        } else {
            None
        })
    }

    /// Decides whether two regions are the same set.
    pub(super) fn regions(
        &mut self,
        gold: &Region,
        other: &Region,
    ) -> Result<Comparison, Exhausted> {
        if gold == other {
            return Ok(Comparison::equal("identical"));
        }
        let (own_spans, other_spans) = (self.spans(gold)?, self.spans(other)?);
        if own_spans.is_some() && other_spans.is_some() {
            return self.same_spans(own_spans, other_spans);
        }
        if let (Some(own), Some(other)) = (interval(gold), interval(other)) {
            return self.same_ends(own, other);
        }
        if self.are_same_conditions(gold, other)? {
            return Ok(Comparison::equal("region_equal"));
        }
        let are_named = [gold, other].map(is_named);
        Ok(match are_named {
            // Two of the named sets, or one and an interval: never the same.
            [true, true] => Comparison::different("region_different"),
            [true, false] if other_spans.is_some() => Comparison::different("region_different"),
            [false, true] if own_spans.is_some() => Comparison::different("region_different"),
            [true | false, true | false] => Comparison::incomparable("region_no_rule"),
        })
    }

    /// Decides whether two regions are made of the same conditions in the same way. It bounds
    /// nothing that they nest no deeper than their text.
    fn are_same_conditions(&mut self, gold: &Region, other: &Region) -> Result<bool, Exhausted> {
        self.ws.fuel.spend(1)?;
        let (own, theirs) = match (gold, other) {
            (Region::Union(own), Region::Union(theirs))
            | (Region::Intersection(own), Region::Intersection(theirs))
            | (Region::Joined(own), Region::Joined(theirs)) => (own, theirs),
            (Region::Where(name, own), Region::Where(other_name, theirs)) => {
                if name != other_name || own.len() != theirs.len() {
                    return Ok(false);
                }
                for (own, theirs) in own.iter().zip(theirs) {
                    if !self.inequalities(own, theirs)?.is_equal() {
                        return Ok(false);
                    }
                }
                return Ok(true);
            }
            _ => return Ok(gold == other),
        };
        if own.len() != theirs.len() || own.len() > MAX_SPANS {
            return Ok(false);
        }
        let mut free: Vec<&Region> = theirs.iter().collect();
        for part in own {
            let mut found = None;
            for (place, candidate) in free.iter().enumerate() {
                if self.are_same_conditions(part, candidate)? {
                    found = Some(place);
                    break;
                }
            }
            let Some(place) = found else {
                return Ok(false);
            };
            free.swap_remove(place);
        }
        Ok(true)
    }

    pub(super) fn same_spans(&mut self, own: Spans, other: Spans) -> Result<Comparison, Exhausted> {
        let (Some(own), Some(other)) = (own, other) else {
            return Ok(Comparison::incomparable("region_no_rule"));
        };
        if own.len() != other.len() {
            return Ok(Comparison::different("region_different"));
        }
        let mut open = None;
        for (index, (own, other)) in own.iter().zip(&other).enumerate() {
            match self.same_ends(*own, *other)? {
                Comparison::Equal(_) => {}
                Comparison::Different(ground) => return Ok(Comparison::Different(ground).at(index)),
                rest @ (Comparison::Incomparable(_) | Comparison::Undecided(_)) => {
                    open = open.or(Some(rest));
                }
            }
        }
        Ok(open.unwrap_or(Comparison::equal("region_equal")))
    }

    fn same_ends(&mut self, own: NumberRange, other: NumberRange) -> Result<Comparison, Exhausted> {
        let mut open = None;
        for (own, other) in [(own.from, other.from), (own.to, other.to)] {
            let is_alike = own.is_in == other.is_in;
            let (own, other) = (bare(own.at), bare(other.at));
            match self.answers(&own, &other, None)? {
                Comparison::Equal(_) if is_alike => {}
                Comparison::Equal(_) => return Ok(Comparison::different("end_bracket_different")),
                Comparison::Different(_) => return Ok(Comparison::different("region_different")),
                rest @ (Comparison::Incomparable(_) | Comparison::Undecided(_)) => {
                    open = open.or(Some(rest));
                }
            }
        }
        Ok(open.unwrap_or(Comparison::equal("region_equal")))
    }

    /// Returns the spans of a region of real numbers.
    pub(super) fn spans(&mut self, region: &Region) -> Result<Spans, Exhausted> {
        match region {
            Region::Interval { .. } => {
                let span = interval(region).expect("it is an interval");
                self.merged(vec![span])
            }
            Region::Points(points) => {
                let spans = points.iter().map(|at| point(*at)).collect();
                self.merged(spans)
            }
            Region::Empty => Ok(Some(Vec::new())),
            Region::Reals => self.line().map(|line| Some(vec![line])),
            Region::Integers | Region::Naturals | Region::Rationals | Region::Complexes => Ok(None),
            Region::Union(parts) => {
                let mut all = Vec::new();
                for part in parts {
                    let Some(spans) = self.spans(part)? else {
                        return Ok(None);
                    };
                    all.extend(spans);
                }
                self.merged(all)
            }
            Region::Intersection(parts) => {
                let mut all = vec![self.line()?];
                for part in parts {
                    let Some(spans) = self.spans(part)? else {
                        return Ok(None);
                    };
                    let Some(common) = self.common(&all, &spans)? else {
                        return Ok(None);
                    };
                    all = common;
                }
                Ok(Some(all))
            }
            Region::Difference(whole, without) => {
                let (Some(whole), Some(without)) = (self.spans(whole)?, self.spans(without)?)
                else {
                    return Ok(None);
                };
                let rest = self.complement(&without)?;
                self.common(&whole, &rest)
            }
            Region::Where(_, chains) => Ok(self.solved(chains)?.map(|(_, spans)| spans)),
            Region::Joined(parts) => {
                let all = self.spans(&Region::Intersection(parts.clone()))?;
                match all {
                    Some(spans) if spans.is_empty() => self.spans(&Region::Union(parts.clone())),
                    found => Ok(found),
                }
            }
        }
    }

    /// Returns all real numbers.
    pub(super) fn line(&mut self) -> Result<NumberRange, Exhausted> {
        let at = self.ws.constant(Constant::Infinity)?;
        let below = self.ws.negated(at)?;
        let end = |at| End { at, is_in: false };
        Ok(NumberRange { from: end(below), to: end(at) })
    }

    /// Sorts spans, leaves empty ones out and joins what touches.
    pub(super) fn merged(&mut self, spans: Vec<NumberRange>) -> Result<Spans, Exhausted> {
        if spans.len() > MAX_SPANS {
            return Ok(None);
        }
        let mut sorted: Vec<NumberRange> = Vec::with_capacity(spans.len());
        for span in spans {
            match self.order(span.from.at, span.to.at)? {
                None => return Ok(None),
                Some(Ordering::Greater) => continue,
                Some(Ordering::Equal) if !(span.from.is_in && span.to.is_in) => continue,
                Some(Ordering::Equal | Ordering::Less) => {}
            }
            let mut place = sorted.len();
            while place > 0 {
                match self.starts(sorted[place - 1].from, span.from)? {
                    None => return Ok(None),
                    Some(Ordering::Greater) => place -= 1,
                    Some(Ordering::Less | Ordering::Equal) => break,
                }
            }
            sorted.insert(place, span);
        }
        let mut merged: Vec<NumberRange> = Vec::with_capacity(sorted.len());
        for span in sorted {
            let Some(last) = merged.last().copied() else {
                merged.push(span);
                continue;
            };
            let Some(gap) = self.order(last.to.at, span.from.at)? else {
                return Ok(None);
            };
            let touches = gap == Ordering::Equal && (last.to.is_in || span.from.is_in);
            if gap != Ordering::Greater && !touches {
                merged.push(span);
                continue;
            }
            match self.stops(last.to, span.to)? {
                None => return Ok(None),
                Some(Ordering::Less) => merged.last_mut().expect("one is there").to = span.to,
                Some(Ordering::Equal | Ordering::Greater) => {}
            }
        }
        Ok(Some(merged))
    }

    /// Decides which of two starts comes first; a start that is in comes before one that is not.
    fn starts(&mut self, a: End, b: End) -> Result<Option<Ordering>, Exhausted> {
        let order = self.order(a.at, b.at)?;
        Ok(order.map(|order| order.then(b.is_in.cmp(&a.is_in))))
    }

    /// Decides which of two ends comes first; an end that is in comes after one that is not.
    fn stops(&mut self, a: End, b: End) -> Result<Option<Ordering>, Exhausted> {
        let order = self.order(a.at, b.at)?;
        Ok(order.map(|order| order.then(a.is_in.cmp(&b.is_in))))
    }

    /// Returns what two lists of spans have in common.
    pub(super) fn common(
        &mut self,
        left: &[NumberRange],
        right: &[NumberRange],
    ) -> Result<Spans, Exhausted> {
        let mut all = Vec::new();
        for a in left {
            for b in right {
                let (Some(start), Some(stop)) =
                    (self.starts(a.from, b.from)?, self.stops(a.to, b.to)?)
                else {
                    return Ok(None);
                };
                all.push(NumberRange {
                    from: if start == Ordering::Less { b.from } else { a.from },
                    to: if stop == Ordering::Less { a.to } else { b.to },
                });
            }
        }
        self.merged(all)
    }

    /// Returns the real numbers outside sorted, disjoint spans.
    pub(super) fn complement(
        &mut self,
        spans: &[NumberRange],
    ) -> Result<Vec<NumberRange>, Exhausted> {
        let line = self.line()?;
        let flipped = |end: End| End { is_in: !end.is_in, ..end };
        let mut rest = Vec::with_capacity(spans.len() + 1);
        let mut from = line.from;
        for span in spans {
            if span.from.at != line.from.at {
                let to = flipped(span.from);
                rest.push(NumberRange { from, to });
            }
            from = flipped(span.to);
        }
        if from.at != line.to.at {
            rest.push(NumberRange { from, to: line.to });
        }
        Ok(rest)
    }
}

/// Returns one number.
pub(super) fn point(at: Expr) -> NumberRange {
    let end = End { at, is_in: true };
    NumberRange { from: end, to: end }
}

/// Returns a region that is one interval.
fn interval(region: &Region) -> Option<NumberRange> {
    let Region::Interval { from, to, has_from, has_to } = region else {
        return None;
    };
    let end = |at: Expr, is_in: bool| End { at, is_in };
    Some(NumberRange { from: end(*from, *has_from), to: end(*to, *has_to) })
}

/// Whether a region is given by conditions on a variable.
fn states(region: &Region) -> bool {
    match region {
        Region::Where(..) => true,
        Region::Union(parts) | Region::Intersection(parts) | Region::Joined(parts) => {
            parts.iter().any(states)
        }
        Region::Difference(whole, without) => states(whole) || states(without),
        Region::Interval { .. }
        | Region::Points(_)
        | Region::Empty
        | Region::Integers
        | Region::Naturals
        | Region::Rationals
        | Region::Reals
        | Region::Complexes => false,
    }
}

/// A set of numbers with a name that is no set of spans.
fn is_named(region: &Region) -> bool {
    match region {
        Region::Integers | Region::Naturals | Region::Rationals | Region::Complexes => true,
        Region::Interval { .. }
        | Region::Points(_)
        | Region::Empty
        | Region::Reals
        | Region::Union(_)
        | Region::Intersection(_)
        | Region::Difference(..)
        | Region::Where(..)
        | Region::Joined(_) => false,
    }
}
