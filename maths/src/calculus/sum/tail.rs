//! Enclosures of infinite sums without a closed form: their first terms and a proven bound of the
//! rest.

use dashu::base::{Abs, BitTest};
use dashu::integer::IBig;
use dashu::rational::RBig;

use super::polynomial::{Polynomial, common_denominator};
use super::rational::Rational;
use super::summand::{Summand, summands};
use crate::calculus::build::{exact_number, whole_number};
use crate::expr::{Binder, Bound, Constant, Node, Workspace};
use crate::fuel::Exhausted;

/// Terms of a sum of a rational function, with or without signs in turn, that are added.
const SLOW_TERMS: i64 = 1000;

/// Terms of a sum with another ratio or with factorials that are added.
const FAST_TERMS: i64 = 60;

/// Bits after the point to which terms are rounded down.
const PLACES: usize = 96;

/// Most bits of a ratio.
const MAX_RATIO_BITS: usize = 64;

/// The lower and upper end of a range that a number is proven to lie in.
type Range = (RBig, RBig);

/// Returns a range that the value of an infinite sum certainly lies in; `None` if no rule gives
/// one.
pub(crate) fn enclosure(bound: &Bound, ws: &mut Workspace<'_>) -> Result<Option<Range>, Exhausted> {
    let (Some(from), Some(to)) = (bound.from, bound.to) else {
        return Ok(None);
    };
    let is_infinite = *ws.node(to) == Node::Constant(Constant::Infinity);
    let (true, true, Some(start)) =
        (bound.binder == Binder::Sum, is_infinite, whole_number(from, ws))
    else {
        return Ok(None);
    };
    let Some(summands) = summands(bound.body, bound.variable, ws)? else {
        return Ok(None);
    };
    let (mut lower, mut upper) = (RBig::ZERO, RBig::ZERO);
    for summand in &summands {
        let is_number = exact_number(summand.coefficient, ws).is_some_and(RBig::is_one);
        let ratio = exact_number(summand.ratio, ws).cloned();
        let (true, Some(ratio)) = (is_number, ratio) else {
            return Ok(None);
        };
        let Some((low, high)) = enclosed(summand, &ratio, start, ws)? else {
            return Ok(None);
        };
        lower += low;
        upper += high;
    }
    Ok(Some((lower, upper)))
}

fn enclosed(
    summand: &Summand,
    ratio: &RBig,
    start: i64,
    ws: &mut Workspace<'_>,
) -> Result<Option<Range>, Exhausted> {
    let bits = ratio.numerator().bit_len() + ratio.denominator().bit_len();
    let factorial = match summand.factorials.as_slice() {
        [] => None,
        [only] if only.is_below && only.at(start) >= 0 => Some(*only),
        [_, ..] => return Ok(None),
    };
    if bits > MAX_RATIO_BITS || start < 0 {
        return Ok(None);
    }
    let size = ratio.clone().abs();
    let is_slow = factorial.is_none() && size.is_one();
    let count = if is_slow { SLOW_TERMS } else { FAST_TERMS };
    let end = start + count;
    let Some(total) = first_terms(summand, ratio, (start, end), ws)? else {
        return Ok(None);
    };
    // Each term is rounded by less than one unit of the last place.
    let (scale, error) = (RBig::from(IBig::ONE << PLACES), IBig::from(count));
    let lower = RBig::from(&total - &error) / &scale;
    let upper = RBig::from(total + error) / scale;
    let rational = &summand.rational;
    let rest = match factorial {
        Some(factorial) => {
            let last = factorial.at(end);
            let shrinks = &size / RBig::from(last + 1);
            let whole = (1..=last).fold(IBig::ONE, |product, factor| product * IBig::from(factor));
            bound_of_fast(rational, (&size, &shrinks), end).map(|rest| rest / RBig::from(whole))
        }
        None if !is_slow => bound_of_fast(rational, (&size, &size), end),
        None if ratio > &RBig::ZERO => bound_of_slow(rational, end),
        None => {
            // Two terms with other signs make one that falls faster.
            let next = Rational {
                above: rational.above.shifted(&RBig::ONE).scaled(&RBig::NEG_ONE),
                below: rational.below.shifted(&RBig::ONE),
            };
            let falls = rational.below.degree() > rational.above.degree();
            falls.then(|| bound_of_slow(&rational.add(&next), end)).flatten()
        }
    };
    Ok(rest.map(|rest| (lower - &rest, upper + rest)))
}

/// Returns the sum of the terms from `start` up to and without `end`, in units of the last place;
/// `None` if one has no value. Each term is rounded towards 0.
fn first_terms(
    summand: &Summand,
    ratio: &RBig,
    (start, end): (i64, i64),
    ws: &mut Workspace<'_>,
) -> Result<Option<IBig>, Exhausted> {
    let Rational { above, below } = &summand.rational;
    let all = above.coefficients().iter().chain(below.coefficients());
    let common = RBig::from(common_denominator(all));
    let integers = |polynomial: &Polynomial| -> Vec<IBig> {
        let scaled = polynomial.scaled(&common);
        scaled.coefficients().iter().map(|value| value.numerator().clone()).collect()
    };
    let (above, below) = (integers(above), integers(below));
    let (up, down) = (ratio.numerator().clone(), IBig::from(ratio.denominator().clone()));
    let exponent = usize::try_from(start).unwrap_or(0);
    let (mut up_power, mut down_power) = (up.pow(exponent), down.pow(exponent));
    let mut factorial = IBig::ONE;
    let mut last_factor = 0;
    let mut total = IBig::ZERO;
    for k in start..end {
        ws.fuel.spend(if down.is_one() { 4 } else { 12 })?;
        if let Some(own) = summand.factorials.first() {
            for factor in last_factor + 1..=own.at(k) {
                factorial *= IBig::from(factor);
            }
            last_factor = own.at(k);
        }
        let divisor = value(&below, k);
        if divisor.is_zero() {
            return Ok(None);
        }
        let divisor = divisor * &down_power * &factorial;
        total += ((value(&above, k) * &up_power) << PLACES) / divisor;
        up_power *= &up;
        down_power *= &down;
    }
    Ok(Some(total))
}

/// Returns the value of a polynomial with integer coefficients.
fn value(coefficients: &[IBig], k: i64) -> IBig {
    let k = IBig::from(k);
    coefficients.iter().rev().fold(IBig::ZERO, |sum, coefficient| sum * &k + coefficient)
}

/// Returns `C` and `e` such that a rational function is no larger than `C k^e` from `end` on.
fn growth(rational: &Rational, end: i64) -> Option<(RBig, i64)> {
    let Rational { above, below } = rational;
    let size = |value: &RBig| value.clone().abs();
    let most = above.coefficients().iter().fold(RBig::ZERO, |sum, value| sum + size(value));
    let others = &below.coefficients()[..below.degree()];
    let lost = others.iter().fold(RBig::ZERO, |sum, value| sum + size(value)) / RBig::from(end);
    let least = size(&below.leading()) - lost;
    let exponent = i64::try_from(above.degree()).ok()? - i64::try_from(below.degree()).ok()?;
    (least > RBig::ZERO).then(|| (most / least, exponent))
}

/// Returns a bound of the sum of a rational function from `end` on: that of the integral of a power
/// above it.
fn bound_of_slow(rational: &Rational, end: i64) -> Option<RBig> {
    let (factor, exponent) = growth(rational, end)?;
    if exponent > -2 {
        return None;
    }
    let power = RBig::from(end - 1).pow(isize::try_from(exponent + 1).ok()?);
    Some(factor * power / RBig::from(-exponent - 1))
}

/// Returns a bound of the sum of a rational function times powers of `size` from `end` on, where
/// each term's power and factorial is at most `shrinks` times those of the one before: a geometric
/// sum.
fn bound_of_fast(rational: &Rational, (size, shrinks): (&RBig, &RBig), end: i64) -> Option<RBig> {
    let (factor, exponent) = growth(rational, end)?;
    let step =
        (RBig::ONE + RBig::ONE / RBig::from(end)).pow(isize::try_from(exponent.max(0)).ok()?);
    let ratio = shrinks * step;
    if ratio >= RBig::ONE {
        return None;
    }
    let power = RBig::from(end).pow(isize::try_from(exponent).ok()?);
    let first = factor * power * size.pow(isize::try_from(end).ok()?);
    Some(first / (RBig::ONE - ratio))
}
