//! Integrals, by antiderivatives of terms.

use std::cmp::Ordering;

use dashu::base::Signed;
use dashu::rational::RBig;

use super::build::{add, call, div, exact_number, is_zero, mul, power, small_power, sub};
use super::end::End;
use super::terms::{PowerTerm, TermFactor, expand, is_positive};
use crate::expr::{Bound, Constant, Expr, Function, Node, Workspace};
use crate::fuel::Exhausted;
use crate::interval;

/// Integrals by parts go down from this degree.
const MAX_DEGREE: i64 = 12;

/// Returns the value of an integral, or an antiderivative where it is indefinite: the constant is
/// left out.
pub(super) fn closed(bound: &Bound, ws: &mut Workspace<'_>) -> Result<Option<Expr>, Exhausted> {
    let Some(terms) = expand(bound.body, bound.variable, ws)? else {
        return Ok(None);
    };
    let ends = match (bound.from, bound.to) {
        (Some(from), Some(to)) => Some((from, to)),
        (None, None) => None,
        (Some(_), None) | (None, Some(_)) => return Ok(None),
    };
    let mut sum = ws.integer(0)?;
    for term in &terms {
        let part = if let Some((from, to)) = ends {
            definite(term, from, to, ws)?
        } else {
            let x = ws.intern(Node::Symbol(bound.variable))?;
            antiderivative(term, x, true, ws)?
        };
        let Some(part) = part else { return Ok(None) };
        sum = add(sum, part, ws)?;
    }
    Ok(Some(sum))
}

fn definite(
    term: &PowerTerm,
    from: Expr,
    to: Expr,
    ws: &mut Workspace<'_>,
) -> Result<Option<Expr>, Exhausted> {
    let (Some(from), Some(to)) = (End::of(from, ws), End::of(to, ws)) else {
        return Ok(None);
    };
    if !is_regular(term, from, to, ws)? {
        return Ok(None);
    }
    let (Some(lower), Some(upper)) = (primitive_at(term, from, ws)?, primitive_at(term, to, ws)?)
    else {
        return Ok(None);
    };
    sub(upper, lower, ws).map(Some)
}

/// Decides whether `term` is continuous from one end to the other, or has at most an end where it
/// can be integrated all the same.
fn is_regular(
    term: &PowerTerm,
    from: End,
    to: End,
    ws: &mut Workspace<'_>,
) -> Result<bool, Exhausted> {
    if !is_power_regular(&term.degree, from, to, ws)? {
        return Ok(false);
    }
    match &term.shape {
        TermFactor::One
        | TermFactor::Sine { .. }
        | TermFactor::Cosine { .. }
        | TermFactor::Bell { .. } => Ok(true),
        TermFactor::Exponential { base, .. } => is_positive(*base, ws),
        TermFactor::Linear { a, b, exponent } => {
            let (End::At(from), End::At(to)) = (from, to) else {
                return Ok(false);
            };
            let at = |x: Expr, ws: &mut Workspace<'_>| -> Result<End, Exhausted> {
                let product = mul(*a, x, ws)?;
                Ok(End::At(add(product, *b, ws)?))
            };
            let (from, to) = (at(from, ws)?, at(to, ws)?);
            is_power_regular(exponent, from, to, ws)
        }
        TermFactor::Logarithm => {
            let signs = (sign(from, ws)?, sign(to, ws)?);
            Ok(signs == (Some(Ordering::Greater), Some(Ordering::Greater)))
        }
    }
}

fn sign(end: End, ws: &mut Workspace<'_>) -> Result<Option<Ordering>, Exhausted> {
    match end {
        End::At(expr) => interval::sign(expr, ws),
        End::PlusInfinity => Ok(Some(Ordering::Greater)),
        End::MinusInfinity => Ok(Some(Ordering::Less)),
    }
}

/// Decides whether a power of a variable that runs from one end to the other can be integrated.
fn is_power_regular(
    degree: &RBig,
    from: End,
    to: End,
    ws: &mut Workspace<'_>,
) -> Result<bool, Exhausted> {
    let is_whole = degree.denominator().is_one();
    if is_whole && !degree.is_negative() {
        return Ok(true);
    }
    let reaches_zero = *degree > RBig::NEG_ONE;
    let (Some(from), Some(to)) = (sign(from, ws)?, sign(to, ws)?) else {
        return Ok(false);
    };
    let is_fine = |sign: Ordering| match sign {
        Ordering::Greater => true,
        Ordering::Equal => reaches_zero,
        Ordering::Less => false,
    };
    let is_below = is_whole && from == Ordering::Less && to == Ordering::Less;
    Ok(is_below || is_fine(from) && is_fine(to))
}

/// Returns the antiderivative at an end, or its limit there.
fn primitive_at(
    term: &PowerTerm,
    end: End,
    ws: &mut Workspace<'_>,
) -> Result<Option<Expr>, Exhausted> {
    let is_upper = match end {
        End::At(x) => return antiderivative(term, x, false, ws),
        End::PlusInfinity => true,
        End::MinusInfinity => false,
    };
    match &term.shape {
        TermFactor::One if term.degree < RBig::NEG_ONE => ws.integer(0).map(Some),
        TermFactor::Exponential { base, a } => {
            // It vanishes where a ln(base) has the other sign.
            let logarithm = call(Function::Ln, *base, ws)?;
            let rate = mul(*a, logarithm, ws)?;
            let wanted = if is_upper { Ordering::Less } else { Ordering::Greater };
            let vanishes = interval::sign(rate, ws)? == Some(wanted);
            let is_polynomial = term.degree.denominator().is_one() && !term.degree.is_negative();
            if vanishes && is_polynomial { ws.integer(0).map(Some) } else { Ok(None) }
        }
        TermFactor::Bell { a, c } if term.degree.is_zero() => {
            let factor = bell_factor(a, c, ws)?;
            let pi = ws.constant(Constant::Pi)?;
            let half = RBig::from_parts(if is_upper { 1 } else { -1 }.into(), 2u8.into());
            let half = ws.number(half)?;
            let angle = mul(half, pi, ws)?;
            let value = mul(factor, angle, ws)?;
            mul(term.coefficient, value, ws).map(Some)
        }
        TermFactor::One
        | TermFactor::Bell { .. }
        | TermFactor::Sine { .. }
        | TermFactor::Cosine { .. }
        | TermFactor::Linear { .. }
        | TermFactor::Logarithm => Ok(None),
    }
}

/// Returns an antiderivative of `term` with `x` in the place of its variable. Logarithms are of
/// absolute values where `is_indefinite`, or of what the range leaves positive.
fn antiderivative(
    term: &PowerTerm,
    x: Expr,
    is_indefinite: bool,
    ws: &mut Workspace<'_>,
) -> Result<Option<Expr>, Exhausted> {
    let one = ws.integer(1)?;
    let zero = ws.integer(0)?;
    let value = match &term.shape {
        TermFactor::One => power_rule((one, zero), x, &term.degree, is_indefinite, ws)?,
        TermFactor::Linear { a, b, exponent } if term.degree.is_zero() => {
            power_rule((*a, *b), x, exponent, is_indefinite, ws)?
        }
        TermFactor::Bell { a, c } if term.degree.is_zero() => {
            let factor = bell_factor(a, c, ws)?;
            // x sqrt(a / c)
            let ratio = ws.number(a / c)?;
            let root = square_root(ratio, ws)?;
            let argument = mul(root, x, ws)?;
            let angle = call(Function::Atan, argument, ws)?;
            mul(factor, angle, ws)?
        }
        TermFactor::Logarithm => return logarithm_rule(term, x, ws),
        TermFactor::Exponential { .. } | TermFactor::Sine { .. } | TermFactor::Cosine { .. } => {
            let degree = i64::try_from(term.degree.numerator()).unwrap_or(i64::MAX);
            if !term.degree.denominator().is_one() || !(0..=MAX_DEGREE).contains(&degree) {
                return Ok(None);
            }
            match by_parts(&term.shape, degree, x, ws)? {
                Some(value) => value,
                None => return Ok(None),
            }
        }
        TermFactor::Linear { .. } | TermFactor::Bell { .. } => return Ok(None),
    };
    mul(term.coefficient, value, ws).map(Some)
}

/// Integrates `(a x + b)^degree`.
fn power_rule(
    (a, b): (Expr, Expr),
    x: Expr,
    degree: &RBig,
    is_indefinite: bool,
    ws: &mut Workspace<'_>,
) -> Result<Expr, Exhausted> {
    let product = mul(a, x, ws)?;
    let inner = add(product, b, ws)?;
    if *degree == RBig::NEG_ONE {
        let size = match exact_number(inner, ws) {
            Some(value) if *value > RBig::ZERO && !is_indefinite => inner,
            Some(_) | None => call(Function::Abs, inner, ws)?,
        };
        let logarithm = call(Function::Ln, size, ws)?;
        return div(logarithm, a, ws);
    }
    let above = degree + RBig::ONE;
    let exponent = ws.number(above)?;
    // A positive power of 0 is 0, which the constructor leaves alone.
    let raised = if is_zero(inner, ws) { inner } else { power(inner, exponent, ws)? };
    let below = mul(a, exponent, ws)?;
    div(raised, below, ws)
}

/// Returns `1 / sqrt(a c)`.
fn bell_factor(a: &RBig, c: &RBig, ws: &mut Workspace<'_>) -> Result<Expr, Exhausted> {
    let product = ws.number(RBig::ONE / (a * c))?;
    square_root(product, ws)
}

fn square_root(expr: Expr, ws: &mut Workspace<'_>) -> Result<Expr, Exhausted> {
    let half = ws.number(RBig::from_parts(1.into(), 2u8.into()))?;
    power(expr, half, ws)
}

/// Integrates `x^n ln x`: `x^(n+1) (ln x / (n+1) - 1 / (n+1)^2)`.
fn logarithm_rule(
    term: &PowerTerm,
    x: Expr,
    ws: &mut Workspace<'_>,
) -> Result<Option<Expr>, Exhausted> {
    if term.degree == RBig::NEG_ONE {
        return Ok(None);
    }
    let above = &term.degree + RBig::ONE;
    let exponent = ws.number(above)?;
    let logarithm = call(Function::Ln, x, ws)?;
    let first = div(logarithm, exponent, ws)?;
    let square = small_power(exponent, -2, ws)?;
    let bracket = sub(first, square, ws)?;
    let raised = power(x, exponent, ws)?;
    let value = mul(raised, bracket, ws)?;
    mul(term.coefficient, value, ws).map(Some)
}

/// Integrates `x^degree` times an exponential, a sine or a cosine.
fn by_parts(
    shape: &TermFactor,
    degree: i64,
    x: Expr,
    ws: &mut Workspace<'_>,
) -> Result<Option<Expr>, Exhausted> {
    let mut shape = shape.clone();
    let mut factor = ws.integer(1)?;
    let mut sum = ws.integer(0)?;
    // u v' with u = x^n: u V - u' VV + u'' VVV …
    for n in (0..=degree).rev() {
        let Some((scale, inner, next)) = integrated(&shape, x, ws)? else {
            return Ok(None);
        };
        factor = mul(factor, scale, ws)?;
        let raised = if n == 0 { ws.integer(1)? } else { small_power(x, n, ws)? };
        let part = mul(raised, inner, ws)?;
        let part = mul(factor, part, ws)?;
        sum = add(sum, part, ws)?;
        let down = ws.integer(-n)?;
        factor = mul(factor, down, ws)?;
        shape = next;
    }
    Ok(Some(sum))
}

/// Returns an antiderivative as a factor, its value at `x`, and its shape.
fn integrated(
    shape: &TermFactor,
    x: Expr,
    ws: &mut Workspace<'_>,
) -> Result<Option<(Expr, Expr, TermFactor)>, Exhausted> {
    let one = ws.integer(1)?;
    match shape {
        TermFactor::Exponential { base, a } => {
            let rate = if *ws.node(*base) == Node::Constant(Constant::E) {
                *a
            } else {
                let logarithm = call(Function::Ln, *base, ws)?;
                mul(*a, logarithm, ws)?
            };
            if is_zero(rate, ws) || exact_number(*base, ws).is_some_and(RBig::is_one) {
                return Ok(None);
            }
            let exponent = mul(*a, x, ws)?;
            let value = power(*base, exponent, ws)?;
            Ok(Some((div(one, rate, ws)?, value, shape.clone())))
        }
        TermFactor::Sine { a, b } | TermFactor::Cosine { a, b } => {
            if is_zero(*a, ws) {
                return Ok(None);
            }
            let is_sine = matches!(shape, TermFactor::Sine { .. });
            let product = mul(*a, x, ws)?;
            let angle = add(product, *b, ws)?;
            let scale = div(one, *a, ws)?;
            if is_sine {
                let value = call(Function::Cos, angle, ws)?;
                let scale = super::build::neg(scale, ws)?;
                Ok(Some((scale, value, TermFactor::Cosine { a: *a, b: *b })))
            } else {
                let value = call(Function::Sin, angle, ws)?;
                Ok(Some((scale, value, TermFactor::Sine { a: *a, b: *b })))
            }
        }
        TermFactor::One
        | TermFactor::Linear { .. }
        | TermFactor::Bell { .. }
        | TermFactor::Logarithm => Ok(None),
    }
}
