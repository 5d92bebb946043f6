//! Constructors that fold exact numbers, so that what calculus builds stays small.

use dashu::base::BitTest;
use dashu::rational::RBig;

use crate::expr::{Expr, Function, Name, Node, Workspace, children};
use crate::fuel::Exhausted;

/// Bits that a folded number may have.
const MAX_BITS: usize = 4096;

/// Returns the exact number that `expr` is written as.
pub(super) fn exact_number<'w>(expr: Expr, ws: &'w Workspace<'_>) -> Option<&'w RBig> {
    match ws.node(expr) {
        Node::Number(value) => Some(value),
        Node::Symbol(_)
        | Node::Constant(_)
        | Node::Sum(_)
        | Node::Product(_)
        | Node::Power(..)
        | Node::Call(..)
        | Node::Apply(..)
        | Node::Bound(_) => None,
    }
}

/// Returns the integer up to 1000, of either sign, that `expr` is written as.
pub(super) fn whole_number(expr: Expr, ws: &Workspace<'_>) -> Option<i64> {
    let value = exact_number(expr, ws).filter(|value| value.is_int())?;
    i64::try_from(value.numerator()).ok().filter(|value| value.abs() <= 1000)
}

pub(super) fn is_zero(expr: Expr, ws: &Workspace<'_>) -> bool {
    exact_number(expr, ws).is_some_and(RBig::is_zero)
}

fn is_one(expr: Expr, ws: &Workspace<'_>) -> bool {
    exact_number(expr, ws).is_some_and(RBig::is_one)
}

fn fits(value: &RBig) -> bool {
    value.numerator().bit_len() + value.denominator().bit_len() <= MAX_BITS
}

pub(super) fn add(left: Expr, right: Expr, ws: &mut Workspace<'_>) -> Result<Expr, Exhausted> {
    if is_zero(left, ws) {
        return Ok(right);
    }
    if is_zero(right, ws) {
        return Ok(left);
    }
    let folded = match (exact_number(left, ws), exact_number(right, ws)) {
        (Some(left), Some(right)) => Some(left + right),
        (None, _) | (_, None) => None,
    };
    match folded {
        Some(sum) if fits(&sum) => {
            ws.fuel.spend(8)?;
            ws.number(sum)
        }
        Some(_) | None => ws.sum(vec![left, right]),
    }
}

pub(super) fn mul(left: Expr, right: Expr, ws: &mut Workspace<'_>) -> Result<Expr, Exhausted> {
    if is_zero(left, ws) || is_one(right, ws) {
        return Ok(left);
    }
    if is_zero(right, ws) || is_one(left, ws) {
        return Ok(right);
    }
    let folded = match (exact_number(left, ws), exact_number(right, ws)) {
        (Some(left), Some(right)) => Some(left * right),
        (None, _) | (_, None) => None,
    };
    match folded {
        Some(product) if fits(&product) => {
            ws.fuel.spend(8)?;
            ws.number(product)
        }
        Some(_) | None => ws.product(vec![left, right]),
    }
}

pub(super) fn neg(expr: Expr, ws: &mut Workspace<'_>) -> Result<Expr, Exhausted> {
    let minus_one = ws.integer(-1)?;
    mul(minus_one, expr, ws)
}

pub(super) fn sub(left: Expr, right: Expr, ws: &mut Workspace<'_>) -> Result<Expr, Exhausted> {
    let right = neg(right, ws)?;
    add(left, right, ws)
}

/// Returns the quotient; of a division by a written zero the power of it, which has no value.
pub(super) fn div(left: Expr, right: Expr, ws: &mut Workspace<'_>) -> Result<Expr, Exhausted> {
    let inverse = match exact_number(right, ws) {
        Some(value) if !value.is_zero() => {
            let inverse = RBig::ONE / value;
            ws.number(inverse)?
        }
        Some(_) | None => {
            let minus_one = ws.integer(-1)?;
            ws.power(right, minus_one)?
        }
    };
    mul(left, inverse, ws)
}

pub(super) fn power(base: Expr, exponent: Expr, ws: &mut Workspace<'_>) -> Result<Expr, Exhausted> {
    if is_one(exponent, ws) {
        return Ok(base);
    }
    if is_zero(exponent, ws) && !is_zero(base, ws) {
        return ws.integer(1);
    }
    let folded = match (exact_number(base, ws), exact_number(exponent, ws)) {
        (Some(base), Some(exponent)) if exponent.denominator().is_one() && !base.is_zero() => {
            let exponent = isize::try_from(exponent.numerator()).unwrap_or(isize::MAX);
            let bits = base.numerator().bit_len() + base.denominator().bit_len();
            let is_small = bits.saturating_mul(exponent.unsigned_abs()) <= MAX_BITS;
            is_small.then(|| base.pow(exponent))
        }
        (_, _) => None,
    };
    match folded {
        Some(power) => {
            ws.fuel.spend(16)?;
            ws.number(power)
        }
        None => ws.power(base, exponent),
    }
}

/// Returns `base^exponent` for a small exponent.
pub(super) fn small_power(
    base: Expr,
    exponent: i64,
    ws: &mut Workspace<'_>,
) -> Result<Expr, Exhausted> {
    let exponent = ws.integer(exponent)?;
    power(base, exponent, ws)
}

/// Returns a call of a function with one argument.
pub(super) fn call(
    function: Function,
    argument: Expr,
    ws: &mut Workspace<'_>,
) -> Result<Expr, Exhausted> {
    ws.call(function, vec![argument])
}

/// Decides whether `variable` occurs free in `expr`.
pub(super) fn depends(
    expr: Expr,
    variable: Name,
    ws: &mut Workspace<'_>,
) -> Result<bool, Exhausted> {
    ws.fuel.spend(1)?;
    let node = ws.node(expr);
    match node {
        Node::Number(_) | Node::Constant(_) => Ok(false),
        Node::Symbol(name) => Ok(*name == variable),
        Node::Sum(_) | Node::Product(_) | Node::Power(..) | Node::Call(..) | Node::Apply(..) => {
            let inner: Vec<Expr> = children(node).into_iter().collect();
            for child in inner {
                if depends(child, variable, ws)? {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        Node::Bound(bound) => {
            let bound = bound.clone();
            for end in [bound.from, bound.to].into_iter().flatten() {
                if depends(end, variable, ws)? {
                    return Ok(true);
                }
            }
            Ok(bound.variable != variable && depends(bound.body, variable, ws)?)
        }
    }
}

/// Returns `expr` with `by` in the place of `variable`; `None` if a bound variable would capture
/// it.
pub(super) fn substitute(
    expr: Expr,
    variable: Name,
    by: Expr,
    ws: &mut Workspace<'_>,
) -> Result<Option<Expr>, Exhausted> {
    ws.fuel.spend(1)?;
    let node = ws.node(expr).clone();
    let each = |list: &[Expr], ws: &mut Workspace<'_>| -> Result<Option<Vec<Expr>>, Exhausted> {
        let mut replaced = Vec::with_capacity(list.len());
        for child in list {
            match substitute(*child, variable, by, ws)? {
                Some(child) => replaced.push(child),
                None => return Ok(None),
            }
        }
        Ok(Some(replaced))
    };
    match node {
        Node::Number(_) | Node::Constant(_) => Ok(Some(expr)),
        Node::Symbol(name) => Ok(Some(if name == variable { by } else { expr })),
        Node::Sum(terms) => {
            let Some(terms) = each(&terms, ws)? else {
                return Ok(None);
            };
            let mut sum = ws.integer(0)?;
            for term in terms {
                sum = add(sum, term, ws)?;
            }
            Ok(Some(sum))
        }
        Node::Product(factors) => {
            let Some(factors) = each(&factors, ws)? else {
                return Ok(None);
            };
            product(factors, ws).map(Some)
        }
        Node::Power(base, exponent) => {
            let Some(both) = each(&[base, exponent], ws)? else {
                return Ok(None);
            };
            power(both[0], both[1], ws).map(Some)
        }
        Node::Call(function, arguments) => {
            let arguments = each(&arguments, ws)?;
            arguments.map(|list| ws.call(function, list)).transpose()
        }
        Node::Apply(name, arguments) => {
            let arguments = each(&arguments, ws)?;
            let node = arguments.map(|list| Node::Apply(name, list.into()));
            node.map(|node| ws.intern(node)).transpose()
        }
        Node::Bound(_) => {
            let is_free = !depends(expr, variable, ws)?;
            Ok(is_free.then_some(expr))
        }
    }
}

/// Returns the product of `factors` with its numbers folded. A zero stays beside what may have no
/// value.
fn product(factors: Vec<Expr>, ws: &mut Workspace<'_>) -> Result<Expr, Exhausted> {
    let mut folded = ws.integer(1)?;
    let mut others = Vec::with_capacity(factors.len());
    for factor in factors {
        if exact_number(factor, ws).is_some() {
            folded = mul(folded, factor, ws)?;
        } else {
            others.push(factor);
        }
    }
    if !is_one(folded, ws) || others.is_empty() {
        others.insert(0, folded);
    }
    ws.product(others)
}

/// Returns `a` and `b` of `expr = a x + b`, both free of `x`.
pub(super) fn linear(
    expr: Expr,
    variable: Name,
    ws: &mut Workspace<'_>,
) -> Result<Option<(Expr, Expr)>, Exhausted> {
    let zero = ws.integer(0)?;
    if !depends(expr, variable, ws)? {
        return Ok(Some((zero, expr)));
    }
    match ws.node(expr).clone() {
        Node::Symbol(_) => Ok(Some((ws.integer(1)?, zero))),
        Node::Sum(terms) => {
            let mut sum = (zero, zero);
            for term in terms {
                let Some((a, b)) = linear(term, variable, ws)? else {
                    return Ok(None);
                };
                sum = (add(sum.0, a, ws)?, add(sum.1, b, ws)?);
            }
            Ok(Some(sum))
        }
        Node::Product(factors) => {
            let mut product = (zero, ws.integer(1)?);
            for factor in factors {
                let Some((a, b)) = linear(factor, variable, ws)? else {
                    return Ok(None);
                };
                if !is_zero(a, ws) && !is_zero(product.0, ws) {
                    return Ok(None);
                }
                let (left, right) = (mul(product.0, b, ws)?, mul(product.1, a, ws)?);
                product = (add(left, right, ws)?, mul(product.1, b, ws)?);
            }
            Ok(Some(product))
        }
        Node::Number(_)
        | Node::Constant(_)
        | Node::Power(..)
        | Node::Call(..)
        | Node::Apply(..)
        | Node::Bound(_) => Ok(None),
    }
}
