//! Infinite sums of rational functions, of such times powers, and of powers over factorials.

use std::cmp::Ordering;

use dashu::base::Signed;
use dashu::rational::RBig;

use super::polynomial::Polynomial;
use super::ratio::may_converge;
use super::rational::{PartialFractions, Pole};
use super::summand::{Factorial, Summand};
use super::zeta::ZetaSum;
use crate::calculus::build::{add, call, div, exact_number, mul, neg, power, small_power, sub};
use crate::expr::{Constant, Expr, Function, Node, Workspace};
use crate::fuel::Exhausted;
use crate::interval;

/// Most terms that are taken off a series.
const MAX_TERMS: i64 = 100;

/// Most factors that move an offset of a factorial.
const MAX_SHIFT: i64 = 4;

/// Returns the sum of `summand` over all integers from `start` on.
pub(super) fn infinite(
    summand: &Summand,
    start: i64,
    ws: &mut Workspace<'_>,
) -> Result<Option<Expr>, Exhausted> {
    let value = match summand.factorials.as_slice() {
        [] => without_factorials(summand, start, ws)?,
        [only] if only.is_below => exponential(summand, *only, start, ws)?,
        [_, ..] => None,
    };
    value.map(|value| mul(summand.coefficient, value, ws)).transpose()
}

fn without_factorials(
    summand: &Summand,
    start: i64,
    ws: &mut Workspace<'_>,
) -> Result<Option<Expr>, Exhausted> {
    let Some(fractions) = summand.rational.partial_fractions(ws)? else {
        return Ok(None);
    };
    let ratio = exact_number(summand.ratio, ws);
    let is_plain = ratio.is_some_and(RBig::is_one);
    let is_alternating = ratio == Some(&RBig::NEG_ONE);
    if !is_plain && !is_alternating {
        return geometric(&fractions, summand.ratio, start, ws);
    }
    if !fractions.whole.is_zero() {
        return Ok(None);
    }
    let two = RBig::from(2);
    let mut sum = ZetaSum::default();
    for Pole { shift, order, weight } in &fractions.poles {
        let first = RBig::from(start) + shift;
        let is_finite = if is_plain {
            sum.add(weight, *order, &first, ws)?
        } else {
            // Terms of even and of odd places apart, which have steps of two.
            let weight = weight / two.pow(isize::try_from(*order).unwrap_or(0));
            let weight = if start % 2 == 0 { weight } else { -weight };
            let (even, odd) = (&first / &two, (&first + RBig::ONE) / &two);
            sum.add(&weight, *order, &even, ws)? && sum.add(&-weight, *order, &odd, ws)?
        };
        if !is_finite {
            return Ok(None);
        }
    }
    sum.closed(ws)
}

/// Returns the sum of rational functions times powers of `ratio`.
fn geometric(
    fractions: &PartialFractions,
    ratio: Expr,
    start: i64,
    ws: &mut Workspace<'_>,
) -> Result<Option<Expr>, Exhausted> {
    if !may_converge(ratio, ws)? {
        return Ok(None);
    }
    let one = ws.integer(1)?;
    let below = sub(one, ratio, ws)?;
    // With differences d of the polynomial: sum of d_i r^i / (1-r)^(i+1), times r^start.
    let mut sum = ws.integer(0)?;
    for (place, difference) in (0i64..).zip(fractions.whole.differences(start)) {
        let above = small_power(ratio, place, ws)?;
        let below = small_power(below, place + 1, ws)?;
        let quotient = div(above, below, ws)?;
        let difference = ws.number(difference)?;
        let term = mul(difference, quotient, ws)?;
        sum = add(sum, term, ws)?;
    }
    let first = small_power(ratio, start, ws)?;
    let mut sum = mul(first, sum, ws)?;
    for Pole { shift, order, weight } in &fractions.poles {
        let from = RBig::from(start) + shift;
        let part = match (*order, u8::try_from(shift.denominator())) {
            (1, Ok(1)) => logarithmic(ratio, &from, ws)?,
            (1, Ok(2)) => inverse_tangent(ratio, &(from - RBig::ONE / RBig::from(2)), ws)?,
            _ => None,
        };
        let Some(part) = part else {
            return Ok(None);
        };
        // Both are sums from the index 0 or 1 of their own.
        let index = i64::try_from(shift.floor()).unwrap_or(i64::MAX);
        let back = small_power(ratio, index.saturating_neg(), ws)?;
        let weight = ws.number(weight.clone())?;
        let part = mul(back, part, ws)?;
        let part = mul(weight, part, ws)?;
        sum = add(sum, part, ws)?;
    }
    Ok(Some(sum))
}

/// Returns the sum of `ratio^i / i` from `from` on: `-ln(1 - ratio)` without the terms before.
fn logarithmic(
    ratio: Expr,
    from: &RBig,
    ws: &mut Workspace<'_>,
) -> Result<Option<Expr>, Exhausted> {
    let Some(from) = small(from).filter(|from| *from >= 1) else {
        return Ok(None);
    };
    let one = ws.integer(1)?;
    let below = sub(one, ratio, ws)?;
    let logarithm = call(Function::Ln, below, ws)?;
    let mut sum = neg(logarithm, ws)?;
    for index in 1..from {
        let (power, index) = (small_power(ratio, index, ws)?, ws.integer(index)?);
        let term = div(power, index, ws)?;
        sum = sub(sum, term, ws)?;
    }
    Ok(Some(sum))
}

/// Returns twice the sum of `ratio^i / (2i + 1)` from `from` on: an inverse tangent over its
/// argument without the terms before.
fn inverse_tangent(
    ratio: Expr,
    from: &RBig,
    ws: &mut Workspace<'_>,
) -> Result<Option<Expr>, Exhausted> {
    let Some(from) = small(from).filter(|from| *from >= 0) else {
        return Ok(None);
    };
    let Some((root, is_negative)) = square_root(ratio, ws)? else {
        return Ok(None);
    };
    let (one, two) = (ws.integer(1)?, ws.integer(2)?);
    let value = if is_negative {
        let angle = call(Function::Atan, root, ws)?;
        mul(two, angle, ws)?
    } else {
        let (above, below) = (add(one, root, ws)?, sub(one, root, ws)?);
        let quotient = div(above, below, ws)?;
        call(Function::Ln, quotient, ws)?
    };
    let mut sum = div(value, root, ws)?;
    for index in 0..from {
        let (power, below) = (small_power(ratio, index, ws)?, ws.integer(2 * index + 1)?);
        let power = mul(two, power, ws)?;
        let term = div(power, below, ws)?;
        sum = sub(sum, term, ws)?;
    }
    Ok(Some(sum))
}

/// Returns the sum of a polynomial times powers over factorials.
fn exponential(
    summand: &Summand,
    factorial: Factorial,
    start: i64,
    ws: &mut Workspace<'_>,
) -> Result<Option<Expr>, Exhausted> {
    if factorial.step == 2 {
        return hyperbolic(summand, factorial.offset, start, ws);
    }
    let Some((polynomial, offset)) = over_factorial(summand, factorial.offset) else {
        return Ok(None);
    };
    // With j = k + offset: sum of P(j) r^j / j! from j = start + offset on, over r^offset.
    let first = start.saturating_add(offset);
    if !(0..=MAX_TERMS).contains(&first) {
        return Ok(None);
    }
    let polynomial = polynomial.shifted(&RBig::from(-offset));
    let ratio = summand.ratio;
    let mut bracket = ws.integer(0)?;
    let mut factor = RBig::ONE;
    for (order, difference) in (0i64..).zip(polynomial.differences(0)) {
        if order > 0 {
            factor /= RBig::from(order);
        }
        // d_i / i! is the coefficient of j (j-1) … (j-i+1).
        let power = small_power(ratio, order, ws)?;
        let coefficient = ws.number(difference * &factor)?;
        let term = mul(coefficient, power, ws)?;
        bracket = add(bracket, term, ws)?;
    }
    let e = ws.constant(Constant::E)?;
    let whole = power(e, ratio, ws)?;
    let mut sum = mul(bracket, whole, ws)?;
    let mut factor = RBig::ONE;
    for index in 0..first {
        ws.fuel.spend(8)?;
        if index > 0 {
            factor /= RBig::from(index);
        }
        let value = polynomial.value(&RBig::from(index)) * &factor;
        let (value, power) = (ws.number(value)?, small_power(ratio, index, ws)?);
        let term = mul(value, power, ws)?;
        sum = sub(sum, term, ws)?;
    }
    let back = small_power(ratio, -offset, ws)?;
    mul(back, sum, ws).map(Some)
}

/// Returns `P` and `b` of `rational(k) / (k + offset)! = P(k) / (k + b)!`.
fn over_factorial(summand: &Summand, offset: i64) -> Option<(Polynomial, i64)> {
    let (mut above, below) = (summand.rational.above.clone(), &summand.rational.below);
    for shift in 0..=MAX_SHIFT {
        if shift > 0 {
            above = above.mul(&Polynomial::linear(RBig::from(offset + shift)));
        }
        let (quotient, rest) = above.divided(below);
        if rest.is_zero() {
            return Some((quotient, offset + shift));
        }
    }
    None
}

/// Returns the sum of a number times powers over `(2k + offset)!`.
fn hyperbolic(
    summand: &Summand,
    offset: i64,
    start: i64,
    ws: &mut Workspace<'_>,
) -> Result<Option<Expr>, Exhausted> {
    let (above, below) = (&summand.rational.above, &summand.rational.below);
    if above.degree() > 0 || below.degree() > 0 {
        return Ok(None);
    }
    let (moved, odd) = (offset.div_euclid(2), offset.rem_euclid(2));
    let first = start.saturating_add(moved);
    let Some((root, is_negative)) = square_root(summand.ratio, ws)? else {
        return Ok(None);
    };
    if !(0..=MAX_TERMS).contains(&first) {
        return Ok(None);
    }
    let function = match (is_negative, odd) {
        (true, 0) => Function::Cos,
        (true, _) => Function::Sin,
        (false, 0) => Function::Cosh,
        (false, _) => Function::Sinh,
    };
    let mut sum = call(function, root, ws)?;
    if odd == 1 {
        sum = div(sum, root, ws)?;
    }
    let mut factor = RBig::ONE;
    for index in 0..first {
        ws.fuel.spend(8)?;
        let last = 2 * index + odd;
        for step in [last - 1, last] {
            if step > 0 {
                factor /= RBig::from(step);
            }
        }
        let (value, power) = (ws.number(factor.clone())?, small_power(summand.ratio, index, ws)?);
        let term = mul(value, power, ws)?;
        sum = sub(sum, term, ws)?;
    }
    let back = small_power(summand.ratio, -moved, ws)?;
    let factor = ws.number(above.leading() / below.leading())?;
    let sum = mul(back, sum, ws)?;
    mul(factor, sum, ws).map(Some)
}

/// Returns a number whose square is `expr` or, where the flag is set, `-expr`.
fn square_root(expr: Expr, ws: &mut Workspace<'_>) -> Result<Option<(Expr, bool)>, Exhausted> {
    let half = ws.number(RBig::ONE / RBig::from(2))?;
    if let Node::Product(factors) = ws.node(expr) {
        let factors = factors.clone();
        let (mut root, mut flips) = (ws.integer(1)?, false);
        for factor in factors {
            let Some((own, is_negative)) = square_root(factor, ws)? else {
                return Ok(None);
            };
            root = mul(root, own, ws)?;
            flips ^= is_negative;
        }
        return Ok(Some((root, flips)));
    }
    if let Node::Power(base, exponent) = *ws.node(expr) {
        let even = exact_number(exponent, ws)
            .filter(|value| value.is_int())
            .and_then(|value| i64::try_from(value.numerator()).ok())
            .filter(|value| value % 2 == 0);
        if let Some(even) = even {
            return Ok(Some((small_power(base, even / 2, ws)?, false)));
        }
    }
    if let Some(value) = exact_number(expr, ws).cloned() {
        let is_negative = value.is_negative();
        let size = ws.number(if is_negative { -value } else { value })?;
        if exact_number(size, ws).is_some_and(RBig::is_one) {
            return Ok(Some((size, is_negative)));
        }
        return Ok(Some((power(size, half, ws)?, is_negative)));
    }
    if !ws.is_closed(expr)? {
        return Ok(None);
    }
    match interval::sign(expr, ws)? {
        Some(Ordering::Greater) => Ok(Some((power(expr, half, ws)?, false))),
        Some(Ordering::Less) => {
            let size = neg(expr, ws)?;
            Ok(Some((power(size, half, ws)?, true)))
        }
        Some(Ordering::Equal) | None => Ok(None),
    }
}

fn small(value: &RBig) -> Option<i64> {
    let whole = value.is_int().then(|| i64::try_from(value.numerator()).ok()).flatten();
    whole.filter(|value| value.abs() <= MAX_TERMS)
}
