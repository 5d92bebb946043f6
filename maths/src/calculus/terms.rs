//! A body as a sum of terms that calculus has rules for.

use dashu::base::Signed;
use dashu::rational::RBig;

use super::build::{add, depends, exact_number, is_zero, linear, mul, power};
use crate::expr::{Constant, Expr, Function, Name, Node, Workspace};
use crate::fuel::Exhausted;

/// Most terms that a body is expanded to.
const MAX_TERMS: usize = 64;

/// Sums are multiplied out up to this power.
const MAX_POWER: i64 = 16;

/// `coefficient * x^degree * shape`.
#[derive(Debug, Clone)]
pub(super) struct PowerTerm {
    /// Free of `x`.
    pub(super) coefficient: Expr,
    pub(super) degree: RBig,
    pub(super) shape: TermFactor,
}

/// The factor of a power of the variable. `a` and `b` are those of `a x + b`.
#[derive(Debug, Clone)]
pub(super) enum TermFactor {
    One,
    /// `base^(a x)`.
    Exponential {
        base: Expr,
        a: Expr,
    },
    Sine {
        a: Expr,
        b: Expr,
    },
    Cosine {
        a: Expr,
        b: Expr,
    },
    /// `(a x + b)^exponent`.
    Linear {
        a: Expr,
        b: Expr,
        exponent: RBig,
    },
    /// `1 / (a x^2 + c)`, both numbers and positive.
    Bell {
        a: RBig,
        c: RBig,
    },
    /// `ln(x)`.
    Logarithm,
}

/// Returns the terms whose sum is `expr`; `None` if it has another form.
pub(super) fn expand(
    expr: Expr,
    x: Name,
    ws: &mut Workspace<'_>,
) -> Result<Option<Vec<PowerTerm>>, Exhausted> {
    if !depends(expr, x, ws)? {
        return Ok(Some(vec![constant(expr)]));
    }
    match ws.node(expr).clone() {
        Node::Symbol(_) => Ok(Some(vec![plain_term(ws.integer(1)?, RBig::ONE)])),
        Node::Sum(list) => {
            let mut terms = Vec::new();
            for part in list {
                match expand(part, x, ws)? {
                    Some(more) if terms.len() + more.len() <= MAX_TERMS => terms.extend(more),
                    Some(_) | None => return Ok(None),
                }
            }
            Ok(Some(terms))
        }
        Node::Product(list) => {
            let mut terms = vec![constant(ws.integer(1)?)];
            for part in list {
                let Some(factor) = expand(part, x, ws)? else {
                    return Ok(None);
                };
                match product(&terms, &factor, ws)? {
                    Some(expanded) => terms = expanded,
                    None => return Ok(None),
                }
            }
            Ok(Some(terms))
        }
        Node::Power(base, exponent) => expand_power(base, exponent, x, ws),
        Node::Call(function, arguments) => expand_call(function, arguments[0], x, ws),
        Node::Number(_) | Node::Constant(_) | Node::Apply(..) | Node::Bound(_) => Ok(None),
    }
}

fn constant(coefficient: Expr) -> PowerTerm {
    plain_term(coefficient, RBig::ZERO)
}

fn plain_term(coefficient: Expr, degree: RBig) -> PowerTerm {
    PowerTerm { coefficient, degree, shape: TermFactor::One }
}

/// Returns a term that is nothing but a shape.
fn shaped(shape: TermFactor, coefficient: Expr) -> Vec<PowerTerm> {
    vec![PowerTerm { coefficient, degree: RBig::ZERO, shape }]
}

fn product(
    left: &[PowerTerm],
    right: &[PowerTerm],
    ws: &mut Workspace<'_>,
) -> Result<Option<Vec<PowerTerm>>, Exhausted> {
    if left.len() * right.len() > MAX_TERMS {
        return Ok(None);
    }
    let mut terms: Vec<PowerTerm> = Vec::new();
    for one in left {
        for other in right {
            ws.fuel.spend(4)?;
            let Some(shape) = shape_product(&one.shape, &other.shape, ws)? else {
                return Ok(None);
            };
            let coefficient = mul(one.coefficient, other.coefficient, ws)?;
            let degree = &one.degree + &other.degree;
            let same = terms.iter_mut().find(|term| {
                matches!((&term.shape, &shape), (TermFactor::One, TermFactor::One))
                    && term.degree == degree
            });
            match same {
                Some(term) => term.coefficient = add(term.coefficient, coefficient, ws)?,
                None => terms.push(PowerTerm { coefficient, degree, shape }),
            }
        }
    }
    Ok(Some(terms))
}

fn shape_product(
    left: &TermFactor,
    right: &TermFactor,
    ws: &mut Workspace<'_>,
) -> Result<Option<TermFactor>, Exhausted> {
    match (left, right) {
        (TermFactor::One, other) | (other, TermFactor::One) => Ok(Some(other.clone())),
        (
            TermFactor::Exponential { base, a },
            TermFactor::Exponential { base: other_base, a: other_a },
        ) => {
            if base == other_base {
                let a = add(*a, *other_a, ws)?;
                return Ok(Some(TermFactor::Exponential { base: *base, a }));
            }
            let (base, other) = (power(*base, *a, ws)?, power(*other_base, *other_a, ws)?);
            let base = mul(base, other, ws)?;
            let a = ws.integer(1)?;
            Ok(Some(TermFactor::Exponential { base, a }))
        }
        (
            TermFactor::Linear { a, b, exponent },
            TermFactor::Linear { a: other_a, b: other_b, exponent: other },
        ) if a == other_a && b == other_b => {
            Ok(Some(TermFactor::Linear { a: *a, b: *b, exponent: exponent + other }))
        }
        (
            TermFactor::Exponential { .. }
            | TermFactor::Sine { .. }
            | TermFactor::Cosine { .. }
            | TermFactor::Linear { .. }
            | TermFactor::Bell { .. }
            | TermFactor::Logarithm,
            _,
        ) => Ok(None),
    }
}

fn expand_call(
    function: Function,
    argument: Expr,
    x: Name,
    ws: &mut Workspace<'_>,
) -> Result<Option<Vec<PowerTerm>>, Exhausted> {
    let Some((a, b)) = linear(argument, x, ws)? else {
        return Ok(None);
    };
    let one = ws.integer(1)?;
    if function == Function::Sin {
        return Ok(Some(shaped(TermFactor::Sine { a, b }, one)));
    }
    if function == Function::Cos {
        return Ok(Some(shaped(TermFactor::Cosine { a, b }, one)));
    }
    if function == Function::Ln && a == one && is_zero(b, ws) {
        return Ok(Some(shaped(TermFactor::Logarithm, one)));
    }
    if function == Function::Root {
        // The index is the second argument, which the caller did not pass on.
        return Ok(None);
    }
    Ok(None)
}

fn expand_power(
    base: Expr,
    exponent: Expr,
    x: Name,
    ws: &mut Workspace<'_>,
) -> Result<Option<Vec<PowerTerm>>, Exhausted> {
    if !depends(base, x, ws)? {
        return exponential(base, exponent, x, ws);
    }
    let Some(exponent) = exact_number(exponent, ws).cloned() else {
        return Ok(None);
    };
    let one = ws.integer(1)?;
    if let Some((a, b)) = linear(base, x, ws)? {
        if is_zero(b, ws) && a == one {
            return Ok(Some(vec![plain_term(one, exponent)]));
        }
        if is_zero(b, ws) && exponent.denominator().is_one() {
            let degree = exponent.clone();
            let exponent = ws.number(exponent)?;
            return Ok(Some(vec![plain_term(power(a, exponent, ws)?, degree)]));
        }
        if exponent.is_negative() || !exponent.denominator().is_one() {
            return Ok(Some(shaped(TermFactor::Linear { a, b, exponent }, one)));
        }
    }
    let whole = i64::try_from(exponent.numerator()).unwrap_or(i64::MAX);
    let Some(terms) = expand(base, x, ws)? else {
        return Ok(None);
    };
    if exponent == RBig::NEG_ONE {
        return bell(&terms, one, ws);
    }
    if !exponent.denominator().is_one() || !(0..=MAX_POWER).contains(&whole) {
        return single_power(&terms, &exponent, ws);
    }
    let mut expanded = vec![constant(one)];
    for _ in 0..whole {
        match product(&expanded, &terms, ws)? {
            Some(more) => expanded = more,
            None => return Ok(None),
        }
    }
    Ok(Some(expanded))
}

/// Returns an integer power of a single power of the variable, or of an exponential function of it.
fn single_power(
    terms: &[PowerTerm],
    exponent: &RBig,
    ws: &mut Workspace<'_>,
) -> Result<Option<Vec<PowerTerm>>, Exhausted> {
    let [term] = terms else { return Ok(None) };
    if !exponent.denominator().is_one() || !term.degree.denominator().is_one() {
        return Ok(None);
    }
    let degree = &term.degree * exponent;
    let exponent = ws.number(exponent.clone())?;
    let shape = match &term.shape {
        TermFactor::One => TermFactor::One,
        TermFactor::Exponential { base, a } => {
            TermFactor::Exponential { base: *base, a: mul(*a, exponent, ws)? }
        }
        TermFactor::Sine { .. }
        | TermFactor::Cosine { .. }
        | TermFactor::Linear { .. }
        | TermFactor::Bell { .. }
        | TermFactor::Logarithm => return Ok(None),
    };
    let coefficient = power(term.coefficient, exponent, ws)?;
    Ok(Some(vec![PowerTerm { coefficient, degree, shape }]))
}

/// Returns `1 / (a x^2 + c)` for positive numbers.
fn bell(
    terms: &[PowerTerm],
    one: Expr,
    ws: &mut Workspace<'_>,
) -> Result<Option<Vec<PowerTerm>>, Exhausted> {
    if let [_] = terms {
        return single_power(terms, &RBig::NEG_ONE, ws);
    }
    let mut square = None;
    let mut rest = None;
    for term in terms {
        let value = exact_number(term.coefficient, ws).filter(|value| **value > RBig::ZERO);
        let (Some(value), TermFactor::One) = (value.cloned(), &term.shape) else {
            return Ok(None);
        };
        if term.degree == RBig::from(2) && square.is_none() {
            square = Some(value);
        } else if term.degree.is_zero() && rest.is_none() {
            rest = Some(value);
        } else {
            return Ok(None);
        }
    }
    Ok(match (square, rest) {
        (Some(a), Some(c)) => Some(shaped(TermFactor::Bell { a, c }, one)),
        (_, None) | (None, _) => None,
    })
}

/// Returns `base^(a x + b)`.
fn exponential(
    base: Expr,
    exponent: Expr,
    x: Name,
    ws: &mut Workspace<'_>,
) -> Result<Option<Vec<PowerTerm>>, Exhausted> {
    let Some((a, b)) = linear(exponent, x, ws)? else {
        return Ok(None);
    };
    let coefficient = power(base, b, ws)?;
    Ok(Some(shaped(TermFactor::Exponential { base, a }, coefficient)))
}

/// Decides whether `base` is certainly a positive number.
pub(super) fn is_positive(base: Expr, ws: &mut Workspace<'_>) -> Result<bool, Exhausted> {
    if *ws.node(base) == Node::Constant(Constant::E) {
        return Ok(true);
    }
    if let Some(value) = exact_number(base, ws) {
        return Ok(*value > RBig::ZERO);
    }
    let sign = crate::interval::sign(base, ws)?;
    Ok(sign == Some(std::cmp::Ordering::Greater))
}
