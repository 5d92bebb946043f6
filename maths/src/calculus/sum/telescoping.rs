//! Sums and products whose terms cancel.

use dashu::base::Signed;
use dashu::rational::RBig;

use super::polynomial::Polynomial;
use super::powers::power_sum;
use super::rational::{Pole, Rational};
use super::summand::{Factorial, Summand};
use crate::calculus::build::{
    add, call, div, exact_number, is_zero, mul, power, small_power, sub, substitute,
};
use crate::calculus::{ZeroTest, limit};
use crate::expr::{Binder, Bound, Constant, Direction, Expr, Function, Node, Workspace};
use crate::fuel::Exhausted;

/// Most terms that are left of a sum whose terms cancel.
const MAX_LEFT: i64 = 64;

/// Largest step between arguments of inverse tangents that cancel.
const MAX_STEP: i64 = 4;

/// `weight * g(k + shift)`.
#[derive(Debug, Clone)]
struct Shifted {
    shift: RBig,
    weight: RBig,
}

/// `weight * (g(start + shift) - g(to + 1 + shift))`: what is left of a sum from start to an end.
#[derive(Debug, Clone)]
struct Left {
    shift: RBig,
    weight: RBig,
}

/// Returns what is left where the weights of all terms with shifts an integer apart cancel; `None`
/// where they do not, and where g may have no value at `start` or later: at 0.
fn cancelled(mut terms: Vec<Shifted>, start: i64) -> Option<Vec<Left>> {
    let first = |term: &Shifted| RBig::from(start) + &term.shift;
    if terms.iter().any(|term| term.shift.is_int() && !first(term).is_positive()) {
        return None;
    }
    let mut all = Vec::new();
    while let Some(class) = terms.first().map(|term| fraction(&term.shift)) {
        let (mut own, others): (Vec<Shifted>, Vec<Shifted>) =
            terms.into_iter().partition(|term| fraction(&term.shift) == class);
        terms = others;
        own.sort_by(|one, other| one.shift.cmp(&other.shift));
        let mut sum = RBig::ZERO;
        for pair in own.windows(2) {
            sum += &pair[0].weight;
            let steps = i64::try_from((&pair[1].shift - &pair[0].shift).floor()).ok()?;
            if steps > MAX_LEFT {
                return None;
            }
            for step in (0..steps).filter(|_| !sum.is_zero()) {
                let shift = &pair[0].shift + RBig::from(step);
                all.push(Left { shift, weight: sum.clone() });
            }
        }
        sum += &own.last()?.weight;
        if !sum.is_zero() {
            return None;
        }
    }
    Some(all)
}

fn fraction(value: &RBig) -> RBig {
    value - RBig::from(value.floor())
}

/// Returns the sum of `summand` from `start` to `to`.
pub(super) fn finite(
    summand: &Summand,
    start: i64,
    to: Expr,
    ws: &mut Workspace<'_>,
) -> Result<Option<Expr>, Exhausted> {
    if !exact_number(summand.ratio, ws).is_some_and(RBig::is_one) {
        return Ok(None);
    }
    let value = match summand.factorials.as_slice() {
        [] => rational(&summand.rational, start, to, ws)?,
        [only] => with_factorial(&summand.rational, *only, start, to, ws)?,
        [_, ..] => None,
    };
    value.map(|value| mul(summand.coefficient, value, ws)).transpose()
}

fn rational(
    rational: &Rational,
    start: i64,
    to: Expr,
    ws: &mut Workspace<'_>,
) -> Result<Option<Expr>, Exhausted> {
    let Some(fractions) = rational.partial_fractions(ws)? else {
        return Ok(None);
    };
    let before = ws.integer(start.saturating_sub(1))?;
    let mut sum = ws.integer(0)?;
    for (degree, coefficient) in fractions.whole.coefficients().iter().enumerate() {
        let (upper, lower) = (power_sum(degree, to, ws)?, power_sum(degree, before, ws)?);
        let coefficient = ws.number(coefficient.clone())?;
        let difference = sub(upper, lower, ws)?;
        let part = mul(coefficient, difference, ws)?;
        sum = add(sum, part, ws)?;
    }
    let mut poles = fractions.poles;
    while let Some(order) = poles.first().map(|pole| pole.order) {
        let (own, others): (Vec<Pole>, Vec<Pole>) =
            poles.into_iter().partition(|pole| pole.order == order);
        poles = others;
        let terms = own
            .into_iter()
            .map(|pole| Shifted { shift: pole.shift, weight: pole.weight })
            .collect();
        let Some(left) = cancelled(terms, start) else {
            return Ok(None);
        };
        let exponent = -i64::try_from(order).unwrap_or(0);
        for Left { shift, weight } in left {
            let from = ws.number(RBig::from(start) + &shift)?;
            let beyond = ws.number(shift + RBig::ONE)?;
            let beyond = add(to, beyond, ws)?;
            let first = small_power(from, exponent, ws)?;
            let last = small_power(beyond, exponent, ws)?;
            let difference = sub(first, last, ws)?;
            let weight = ws.number(weight)?;
            let part = mul(weight, difference, ws)?;
            sum = add(sum, part, ws)?;
        }
    }
    Ok(Some(sum))
}

/// Returns the sum of `P(k) / (k + b)!` or `P(k) (k + b)!`, where it is a difference of such terms:
/// of `Q(k) / (k + b - 1)!` with `Q(k) (k + b) - Q(k + 1) = P(k)`, or of `Q(k) (k + b)!` with
/// `Q(k + 1) (k + b + 1) - Q(k) = P(k)`.
fn with_factorial(
    rational: &Rational,
    factorial: Factorial,
    start: i64,
    to: Expr,
    ws: &mut Workspace<'_>,
) -> Result<Option<Expr>, Exhausted> {
    let Factorial { step, offset, is_below } = factorial;
    if step != 1 || rational.below.degree() > 0 || start.saturating_add(offset) < 1 {
        return Ok(None);
    }
    let one = RBig::ONE;
    let mut rest = rational.above.scaled(&(&one / rational.below.leading()));
    let mut found = Polynomial::constant(RBig::ZERO);
    while rest.degree() > 0 {
        ws.fuel.spend(16)?;
        let mut coefficients = vec![RBig::ZERO; rest.degree() - 1];
        coefficients.push(rest.leading());
        let term = Polynomial::new(coefficients);
        let (next, minus) = (term.shifted(&one), RBig::NEG_ONE);
        let made = if is_below {
            term.mul(&Polynomial::linear(RBig::from(offset))).add(&next.scaled(&minus))
        } else {
            next.mul(&Polynomial::linear(RBig::from(offset + 1))).add(&term.scaled(&minus))
        };
        found = found.add(&term);
        rest = rest.add(&made.scaled(&minus));
    }
    if !rest.is_zero() {
        return Ok(None);
    }
    let at = |index: Expr, ws: &mut Workspace<'_>| -> Result<Expr, Exhausted> {
        let shift = ws.integer(if is_below { offset - 1 } else { offset })?;
        let argument = add(index, shift, ws)?;
        let factorial = call(Function::Factorial, argument, ws)?;
        let mut value = ws.integer(0)?;
        for (degree, coefficient) in (0i64..).zip(found.coefficients()) {
            let coefficient = ws.number(coefficient.clone())?;
            let power = if degree == 0 { ws.integer(1)? } else { small_power(index, degree, ws)? };
            let term = mul(coefficient, power, ws)?;
            value = add(value, term, ws)?;
        }
        if is_below { div(value, factorial, ws) } else { mul(value, factorial, ws) }
    };
    let (from, one) = (ws.integer(start)?, ws.integer(1)?);
    let beyond = add(to, one, ws)?;
    let (first, last) = (at(from, ws)?, at(beyond, ws)?);
    if is_below { sub(first, last, ws) } else { sub(last, first, ws) }.map(Some)
}

/// Returns the product of a rational function from `start` to `to`, or without end where that is
/// `None`.
pub(super) fn product(
    rational: &Rational,
    start: i64,
    to: Option<Expr>,
    ws: &mut Workspace<'_>,
) -> Result<Option<Expr>, Exhausted> {
    let mut terms = Vec::new();
    for (polynomial, sign) in [(&rational.above, RBig::ONE), (&rational.below, RBig::NEG_ONE)] {
        let Some(roots) = polynomial.roots(ws)? else {
            return Ok(None);
        };
        terms.extend(
            roots
                .into_iter()
                .map(|(root, order)| Shifted { shift: -root, weight: &sign * RBig::from(order) }),
        );
    }
    let Some(left) = cancelled(terms, start) else {
        return Ok(None);
    };
    let leading = rational.above.leading() / rational.below.leading();
    if leading.is_zero() {
        return Ok(None);
    }
    // Each factor that is left is about the index to the power of its weight.
    let total = left.iter().fold(RBig::ZERO, |sum, left| sum + &left.weight);
    if to.is_none() && !(leading.is_one() && total.is_zero()) {
        return Ok(None);
    }
    let mut product = ws.integer(1)?;
    for Left { shift, weight } in left {
        let exponent = ws.number(weight.clone())?;
        let from = ws.number(RBig::from(start) + &shift)?;
        let first = power(from, exponent, ws)?;
        product = mul(product, first, ws)?;
        if let Some(to) = to {
            let beyond = ws.number(shift + RBig::ONE)?;
            let beyond = add(to, beyond, ws)?;
            let exponent = ws.number(-weight)?;
            let last = power(beyond, exponent, ws)?;
            product = mul(product, last, ws)?;
        }
    }
    if let Some(to) = to {
        let (leading, before) = (ws.number(leading)?, ws.integer(1 - start)?);
        let count = add(to, before, ws)?;
        let scale = power(leading, count, ws)?;
        product = mul(scale, product, ws)?;
    }
    Ok(Some(product))
}

/// Returns the sum of logarithms of a rational function: the logarithm of its product, where all
/// factors are positive.
pub(super) fn logarithms(
    bound: &Bound,
    start: i64,
    to: Option<Expr>,
    ws: &mut Workspace<'_>,
) -> Result<Option<Expr>, Exhausted> {
    let Node::Call(Function::Ln, arguments) = ws.node(bound.body) else {
        return Ok(None);
    };
    let argument = arguments[0];
    let Some(argument) = Rational::of(argument, bound.variable, ws)? else {
        return Ok(None);
    };
    for polynomial in [&argument.above, &argument.below] {
        let Some(roots) = polynomial.roots(ws)? else {
            return Ok(None);
        };
        let is_positive = polynomial.leading().is_positive();
        if !is_positive || roots.iter().any(|(root, _)| *root >= RBig::from(start)) {
            return Ok(None);
        }
    }
    let product = product(&argument, start, to, ws)?;
    product.map(|product| call(Function::Ln, product, ws)).transpose()
}

/// Returns the sum of `coefficient * atan(c / (a k^2 + b k + d))` from `start` on, where that is the
/// difference of the inverse tangents of `f(k + step)` and `f(k)` for a linear f.
pub(super) fn inverse_tangents(
    bound: &Bound,
    start: i64,
    to: Option<Expr>,
    ws: &mut Workspace<'_>,
) -> Result<Option<Expr>, Exhausted> {
    let Node::Call(Function::Atan, arguments) = ws.node(bound.body) else {
        return Ok(None);
    };
    let argument = arguments[0];
    let Some(argument) = Rational::of(argument, bound.variable, ws)? else {
        return Ok(None);
    };
    let ([c], [d, b, a]) = (argument.above.coefficients(), argument.below.coefficients()) else {
        return Ok(None);
    };
    let (one, two) = (RBig::ONE, RBig::from(2));
    for step in 1..=MAX_STEP {
        ws.fuel.spend(16)?;
        let step_size = RBig::from(step);
        // f(k) = slope k + at: slope step = scale c, 1 + f(k) f(k + step) = scale (a k^2 + b k + d).
        let slope = a * &step_size / c;
        let scale = &slope * &step_size / c;
        let at = (&scale * b / &slope - &slope * &step_size) / &two;
        let constant = &one + &at * &at + &slope * &step_size * &at;
        if constant != &scale * d || !is_positive_from(start, [a, b, d], &scale) {
            continue;
        }
        let linear = |index: Expr, ws: &mut Workspace<'_>| -> Result<Expr, Exhausted> {
            let (slope, at) = (ws.number(slope.clone())?, ws.number(at.clone())?);
            let product = mul(slope, index, ws)?;
            let argument = add(product, at, ws)?;
            if is_zero(argument, ws) { Ok(argument) } else { call(Function::Atan, argument, ws) }
        };
        let mut sum = ws.integer(0)?;
        for place in 0..step {
            let first = ws.integer(start.saturating_add(place))?;
            let first = linear(first, ws)?;
            let last = if let Some(to) = to {
                let beyond = ws.integer(1 + place)?;
                let beyond = add(to, beyond, ws)?;
                linear(beyond, ws)?
            } else {
                let pi = ws.constant(Constant::Pi)?;
                let half = if slope.is_positive() { &one / &two } else { -(&one / &two) };
                let half = ws.number(half)?;
                mul(half, pi, ws)?
            };
            let difference = sub(last, first, ws)?;
            sum = add(sum, difference, ws)?;
        }
        return Ok(Some(sum));
    }
    Ok(None)
}

/// Returns whether `scale (a k^2 + b k + d)` is positive for all integers k from `start` on. The
/// product of `scale` and `a` is positive.
fn is_positive_from(start: i64, [a, b, d]: [&RBig; 3], scale: &RBig) -> bool {
    let vertex = (-b.clone() / (RBig::from(2) * a)).floor();
    let Ok(vertex) = i64::try_from(vertex) else {
        return false;
    };
    [vertex, vertex.saturating_add(1)].into_iter().all(|k| {
        let k = RBig::from(k.max(start));
        (scale * (a * &k * &k + b * &k + d)).is_positive()
    })
}

/// Returns the sum of two terms `g(k + 1) - g(k)` or `g(k) - g(k + 1)`.
pub(super) fn difference(
    bound: &Bound,
    (from, to): (Expr, Option<Expr>),
    vanishes: ZeroTest,
    ws: &mut Workspace<'_>,
) -> Result<Option<Expr>, Exhausted> {
    let Node::Sum(terms) = ws.node(bound.body) else {
        return Ok(None);
    };
    let [one, other] = *terms.as_ref() else {
        return Ok(None);
    };
    let (index, unit) = (ws.intern(Node::Symbol(bound.variable))?, ws.integer(1)?);
    let next = add(index, unit, ws)?;
    for (early, late) in [(one, other), (other, one)] {
        let Some(moved) = substitute(early, bound.variable, next, ws)? else {
            return Ok(None);
        };
        let rest = add(moved, late, ws)?;
        if !is_zero(rest, ws) && vanishes(rest, ws)? != Some(true) {
            continue;
        }
        // The sum is early(from) - early(to + 1).
        let last = if let Some(to) = to {
            let beyond = add(to, unit, ws)?;
            substitute(early, bound.variable, beyond, ws)?
        } else {
            let at = ws.constant(Constant::Infinity)?;
            let direction = Direction::Both;
            let binder = Binder::Limit(direction);
            let bound = Bound { binder, from: Some(at), to: None, body: early, ..bound.clone() };
            let last = limit::closed(&bound, direction, vanishes, ws)?;
            let is_infinite = |node: &Node| *node == Node::Constant(Constant::Infinity);
            match last {
                Some(last) if !ws.any(last, &mut |node| is_infinite(node))? => Some(last),
                Some(_) | None => None,
            }
        };
        let first = substitute(early, bound.variable, from, ws)?;
        return match (first, last) {
            (Some(first), Some(last)) => sub(first, last, ws).map(Some),
            (_, None) | (None, _) => Ok(None),
        };
    }
    Ok(None)
}
