//! Sums and products over the integers of a range.

mod binomial;
mod infinite;
mod polynomial;
mod powers;
mod ratio;
mod rational;
mod summand;
mod tail;
mod telescoping;
mod zeta;

use dashu::rational::RBig;

use self::powers::power_sum;
use self::ratio::{may_converge, may_differ_from_one};
use self::rational::Rational;
use super::ZeroTest;
use super::build::{
    add, call, div, exact_number, mul, power, small_power, sub, substitute, whole_number,
};
use super::terms::{PowerTerm, TermFactor, expand};
use crate::expr::{Binder, Bound, Constant, Expr, Function, Node, Workspace};
use crate::fuel::Exhausted;

pub(crate) use self::tail::enclosure;

/// Most terms that are written out.
const MAX_COUNT: i64 = 500;

/// Sums of powers up to this degree have a closed form here.
const MAX_DEGREE: usize = 24;

/// Returns the value of a sum or product.
pub(super) fn closed(
    bound: &Bound,
    is_zero: ZeroTest,
    ws: &mut Workspace<'_>,
) -> Result<Option<Expr>, Exhausted> {
    let (Some(from), Some(to)) = (bound.from, bound.to) else {
        return Ok(None);
    };
    let is_sum = bound.binder == Binder::Sum;
    let count = match (exact_number(from, ws), exact_number(to, ws)) {
        (Some(from), Some(to)) => count(from, to),
        (None, _) | (_, None) => None,
    };
    if count == Some(0) {
        return ws.integer(i64::from(!is_sum)).map(Some);
    }
    if is_sum {
        let by_rule = by_terms(bound, from, to, ws)?;
        if by_rule.is_some() {
            return Ok(by_rule);
        }
    }
    match count {
        Some(count) if count <= MAX_COUNT => written_out(bound, from, count, ws),
        Some(_) | None if is_sum => by_cancelling(bound, (from, to), is_zero, ws),
        Some(_) | None => match symbolic_product(bound, from, to, ws)? {
            Some(product) => Ok(Some(product)),
            None => cancelling_product(bound, from, to, ws),
        },
    }
}

/// Returns a sum that is infinite, or whose ends are far apart or not known: of partial fractions,
/// of powers over factorials, of binomial coefficients, and of differences.
fn by_cancelling(
    bound: &Bound,
    (from, to): (Expr, Expr),
    is_zero: ZeroTest,
    ws: &mut Workspace<'_>,
) -> Result<Option<Expr>, Exhausted> {
    let end = (*ws.node(to) != Node::Constant(Constant::Infinity)).then_some(to);
    let Some(start) = whole_number(from, ws) else {
        return telescoping::difference(bound, (from, end), is_zero, ws);
    };
    if let Some(summands) = summand::summands(bound.body, bound.variable, ws)? {
        let mut sum = ws.integer(0)?;
        for summand in &summands {
            let part = match end {
                Some(to) => telescoping::finite(summand, start, to, ws)?,
                None => infinite::infinite(summand, start, ws)?,
            };
            let Some(part) = part else {
                return Ok(None);
            };
            sum = add(sum, part, ws)?;
        }
        return Ok(Some(sum));
    }
    if let Some(sum) = telescoping::logarithms(bound, start, end, ws)? {
        return Ok(Some(sum));
    }
    if let Some(sum) = telescoping::inverse_tangents(bound, start, end, ws)? {
        return Ok(Some(sum));
    }
    if let Some(to) = end
        && let Some(sum) = binomial::closed(bound, start, to, ws)?
    {
        return Ok(Some(sum));
    }
    telescoping::difference(bound, (from, end), is_zero, ws)
}

/// Returns a product of a rational function whose factors cancel.
fn cancelling_product(
    bound: &Bound,
    from: Expr,
    to: Expr,
    ws: &mut Workspace<'_>,
) -> Result<Option<Expr>, Exhausted> {
    let end = (*ws.node(to) != Node::Constant(Constant::Infinity)).then_some(to);
    let Some(start) = whole_number(from, ws) else {
        return Ok(None);
    };
    match Rational::of(bound.body, bound.variable, ws)? {
        Some(factor) => telescoping::product(&factor, start, end, ws),
        None => Ok(None),
    }
}

/// Counts how many integers there are from one to the other.
fn count(from: &RBig, to: &RBig) -> Option<i64> {
    if !from.denominator().is_one() || !to.denominator().is_one() {
        return None;
    }
    let span = i64::try_from(to.numerator() - from.numerator()).ok()?;
    Some(span.checked_add(1)?.max(0))
}

fn written_out(
    bound: &Bound,
    from: Expr,
    count: i64,
    ws: &mut Workspace<'_>,
) -> Result<Option<Expr>, Exhausted> {
    let is_sum = bound.binder == Binder::Sum;
    let mut total = ws.integer(i64::from(!is_sum))?;
    let mut parts = Vec::new();
    for step in 0..count {
        let step = ws.integer(step)?;
        let index = add(from, step, ws)?;
        let Some(term) = substitute(bound.body, bound.variable, index, ws)? else {
            return Ok(None);
        };
        if exact_number(term, ws).is_none() {
            parts.push(term);
        } else if is_sum {
            total = add(total, term, ws)?;
        } else {
            total = mul(total, term, ws)?;
        }
    }
    parts.push(total);
    // Numbers that are too large to fold end up nested: a flat list nests no deeper than its parts.
    let whole = if is_sum { ws.sum(parts)? } else { ws.product(parts)? };
    Ok(Some(whole))
}

/// Products of the index and of constants.
fn symbolic_product(
    bound: &Bound,
    from: Expr,
    to: Expr,
    ws: &mut Workspace<'_>,
) -> Result<Option<Expr>, Exhausted> {
    if *ws.node(to) == Node::Constant(Constant::Infinity) {
        return Ok(None);
    }
    let Some(terms) = expand(bound.body, bound.variable, ws)? else {
        return Ok(None);
    };
    let [term] = terms.as_slice() else {
        return Ok(None);
    };
    let one = ws.integer(1)?;
    let is_plain = matches!(term.shape, TermFactor::One);
    if !is_plain || from != one || !term.degree.denominator().is_one() {
        return Ok(None);
    }
    let constants = power(term.coefficient, to, ws)?;
    let factorial = call(Function::Factorial, to, ws)?;
    let degree = ws.number(term.degree.clone())?;
    let indices = power(factorial, degree, ws)?;
    mul(constants, indices, ws).map(Some)
}

/// Returns the sum, term by term.
fn by_terms(
    bound: &Bound,
    from: Expr,
    to: Expr,
    ws: &mut Workspace<'_>,
) -> Result<Option<Expr>, Exhausted> {
    let Some(terms) = expand(bound.body, bound.variable, ws)? else {
        return Ok(None);
    };
    let is_infinite = *ws.node(to) == Node::Constant(Constant::Infinity);
    let mut sum = ws.integer(0)?;
    for term in &terms {
        let part =
            if is_infinite { infinite(term, from, ws)? } else { finite(term, from, to, ws)? };
        let Some(part) = part else { return Ok(None) };
        let part = mul(term.coefficient, part, ws)?;
        sum = add(sum, part, ws)?;
    }
    Ok(Some(sum))
}

/// Returns the sum of `term` without its coefficient.
fn finite(
    term: &PowerTerm,
    from: Expr,
    to: Expr,
    ws: &mut Workspace<'_>,
) -> Result<Option<Expr>, Exhausted> {
    let degree = usize::try_from(term.degree.numerator()).unwrap_or(usize::MAX);
    if !term.degree.denominator().is_one() || degree > MAX_DEGREE {
        return Ok(None);
    }
    let one = ws.integer(1)?;
    let before = sub(from, one, ws)?;
    match &term.shape {
        TermFactor::One => {
            let (upper, lower) = (power_sum(degree, to, ws)?, power_sum(degree, before, ws)?);
            sub(upper, lower, ws).map(Some)
        }
        TermFactor::Exponential { base, a } if degree == 0 => {
            let ratio = power(*base, *a, ws)?;
            if !may_differ_from_one(ratio, ws)? {
                return Ok(None);
            }
            // (r^from - r^(to + 1)) / (1 - r)
            let after = add(to, one, ws)?;
            let (first, last) = (power(ratio, from, ws)?, power(ratio, after, ws)?);
            let above = sub(first, last, ws)?;
            let below = sub(one, ratio, ws)?;
            div(above, below, ws).map(Some)
        }
        TermFactor::Exponential { base, a } if degree == 1 => {
            let ratio = power(*base, *a, ws)?;
            if !may_differ_from_one(ratio, ws)? {
                return Ok(None);
            }
            let upper = weighted(ratio, to, ws)?;
            let lower = weighted(ratio, before, ws)?;
            sub(upper, lower, ws).map(Some)
        }
        TermFactor::Exponential { .. }
        | TermFactor::Sine { .. }
        | TermFactor::Cosine { .. }
        | TermFactor::Linear { .. }
        | TermFactor::Bell { .. }
        | TermFactor::Logarithm => Ok(None),
    }
}

/// Returns `sum of k r^k` from 1 to `n`: `r (1 - (n+1) r^n + n r^(n+1)) / (1-r)^2`.
fn weighted(ratio: Expr, n: Expr, ws: &mut Workspace<'_>) -> Result<Expr, Exhausted> {
    let one = ws.integer(1)?;
    let after = add(n, one, ws)?;
    let (last, next) = (power(ratio, n, ws)?, power(ratio, after, ws)?);
    let (last, next) = (mul(after, last, ws)?, mul(n, next, ws)?);
    let difference = sub(next, last, ws)?;
    let bracket = add(one, difference, ws)?;
    let below = sub(one, ratio, ws)?;
    let below = small_power(below, 2, ws)?;
    let above = mul(ratio, bracket, ws)?;
    div(above, below, ws)
}

/// Returns the sum of `term`, without its coefficient, from `from` on.
fn infinite(
    term: &PowerTerm,
    from: Expr,
    ws: &mut Workspace<'_>,
) -> Result<Option<Expr>, Exhausted> {
    let start = exact_number(from, ws).and_then(|from| u32::try_from(from.numerator()).ok());
    let one = ws.integer(1)?;
    if !term.degree.denominator().is_one() {
        return Ok(None);
    }
    let degree = i64::try_from(term.degree.numerator()).unwrap_or(i64::MAX);
    match (&term.shape, degree) {
        (TermFactor::One, -8..=-2) if start.is_some_and(|start| (1..=50).contains(&start)) => {
            zeta(degree, start.unwrap_or(1), ws)
        }
        (TermFactor::Exponential { base, a }, 0) => {
            let ratio = power(*base, *a, ws)?;
            if !may_converge(ratio, ws)? {
                return Ok(None);
            }
            let first = power(ratio, from, ws)?;
            let below = sub(one, ratio, ws)?;
            div(first, below, ws).map(Some)
        }
        (TermFactor::Exponential { base, a }, 1 | 2) if matches!(start, Some(0 | 1)) => {
            let ratio = power(*base, *a, ws)?;
            if !may_converge(ratio, ws)? {
                return Ok(None);
            }
            // r / (1-r)^2 and r (1+r) / (1-r)^3
            let below = sub(one, ratio, ws)?;
            let below = small_power(below, degree + 1, ws)?;
            let above = if degree == 1 {
                ratio
            } else {
                let sum = add(one, ratio, ws)?;
                mul(ratio, sum, ws)?
            };
            div(above, below, ws).map(Some)
        }
        (TermFactor::Exponential { base, a }, -1) if start == Some(1) => {
            // -ln(1 - r), at -1 too.
            let ratio = power(*base, *a, ws)?;
            let is_alternating = exact_number(ratio, ws) == Some(&RBig::NEG_ONE);
            if !is_alternating && !may_converge(ratio, ws)? {
                return Ok(None);
            }
            let below = sub(one, ratio, ws)?;
            let logarithm = call(Function::Ln, below, ws)?;
            super::build::neg(logarithm, ws).map(Some)
        }
        (
            TermFactor::One
            | TermFactor::Exponential { .. }
            | TermFactor::Sine { .. }
            | TermFactor::Cosine { .. }
            | TermFactor::Linear { .. }
            | TermFactor::Bell { .. }
            | TermFactor::Logarithm,
            _,
        ) => Ok(None),
    }
}

/// Returns `sum of k^degree` from `start` on, for -2, -4, -6 and -8.
fn zeta(degree: i64, start: u32, ws: &mut Workspace<'_>) -> Result<Option<Expr>, Exhausted> {
    let below: u16 = match degree {
        -2 => 6,
        -4 => 90,
        -6 => 945,
        -8 => 9450,
        _ => return Ok(None),
    };
    let pi = ws.constant(Constant::Pi)?;
    let raised = small_power(pi, -degree, ws)?;
    let scale = ws.number(RBig::ONE / RBig::from(below))?;
    let mut sum = mul(scale, raised, ws)?;
    let exponent = isize::try_from(degree).expect("a small number");
    for k in 1..start {
        let term = ws.number(-RBig::from(k).pow(exponent))?;
        sum = add(sum, term, ws)?;
    }
    Ok(Some(sum))
}
