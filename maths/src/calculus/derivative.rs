//! Derivatives.

use super::build::{
    add, call, depends, div, is_zero, mul, neg, power, small_power, sub, substitute,
};
use crate::expr::{Bound, Constant, Expr, Function, Name, Node, Workspace};
use crate::fuel::Exhausted;

/// Most factors with the variable in one product: the rule has as many terms, of as many factors.
const MAX_FACTORS: usize = 64;

/// Returns the value of a derivative of the given order at the point that `bound` says.
///
/// A body without the variable but with others has none: these may depend on it.
pub(super) fn closed(
    bound: &Bound,
    order: u8,
    ws: &mut Workspace<'_>,
) -> Result<Option<Expr>, Exhausted> {
    let Some(at) = bound.from else {
        return Ok(None);
    };
    if !depends(bound.body, bound.variable, ws)? && !ws.is_closed(bound.body)? {
        return Ok(None);
    }
    let mut slope = bound.body;
    for _ in 0..order {
        match derivative(slope, bound.variable, ws)? {
            Some(next) => slope = next,
            None => return Ok(None),
        }
    }
    if *ws.node(at) == Node::Symbol(bound.variable) {
        return Ok(Some(slope));
    }
    substitute(slope, bound.variable, at, ws)
}

/// Returns the derivative of `expr` by `x`; `None` if something in it has no rule.
///
/// # Errors
/// [`Exhausted`] when the fuel is gone.
pub(crate) fn derivative(
    expr: Expr,
    x: Name,
    ws: &mut Workspace<'_>,
) -> Result<Option<Expr>, Exhausted> {
    if !depends(expr, x, ws)? {
        return ws.integer(0).map(Some);
    }
    match ws.node(expr).clone() {
        Node::Symbol(_) => ws.integer(1).map(Some),
        Node::Sum(terms) => {
            let mut slopes = Vec::with_capacity(terms.len());
            for term in terms {
                match derivative(term, x, ws)? {
                    Some(slope) if is_zero(slope, ws) => {}
                    Some(slope) => slopes.push(slope),
                    None => return Ok(None),
                }
            }
            ws.sum(slopes).map(Some)
        }
        Node::Product(factors) => of_product(&factors, x, ws),
        Node::Power(base, exponent) => of_power(expr, base, exponent, x, ws),
        Node::Call(function, arguments) => match arguments.as_ref() {
            [argument] => {
                let Some(outer) = of_function(function, expr, *argument, ws)? else {
                    return Ok(None);
                };
                let inner = derivative(*argument, x, ws)?;
                inner.map(|inner| mul(outer, inner, ws)).transpose()
            }
            [radicand, index] if function == Function::Root => {
                of_root(expr, *radicand, *index, x, ws)
            }
            [argument, base] if function == Function::Log && !depends(*base, x, ws)? => {
                let Some(inner) = derivative(*argument, x, ws)? else {
                    return Ok(None);
                };
                let logarithm = call(Function::Ln, *base, ws)?;
                let below = mul(*argument, logarithm, ws)?;
                div(inner, below, ws).map(Some)
            }
            [] | [_, _, ..] => Ok(None),
        },
        Node::Number(_) | Node::Constant(_) | Node::Apply(..) | Node::Bound(_) => Ok(None),
    }
}

/// Differentiates a product into flat sums and products, which nest no deeper than their parts.
fn of_product(
    factors: &[Expr],
    x: Name,
    ws: &mut Workspace<'_>,
) -> Result<Option<Expr>, Exhausted> {
    let mut terms = Vec::new();
    for (place, factor) in factors.iter().enumerate() {
        if !depends(*factor, x, ws)? {
            continue;
        }
        if terms.len() == MAX_FACTORS {
            return Ok(None);
        }
        let Some(slope) = derivative(*factor, x, ws)? else {
            return Ok(None);
        };
        let mut term = factors.to_vec();
        term[place] = slope;
        terms.push(ws.product(term)?);
    }
    ws.sum(terms).map(Some)
}

fn of_power(
    whole: Expr,
    base: Expr,
    exponent: Expr,
    x: Name,
    ws: &mut Workspace<'_>,
) -> Result<Option<Expr>, Exhausted> {
    if !depends(exponent, x, ws)? {
        // n f^(n-1) f'
        let Some(inner) = derivative(base, x, ws)? else {
            return Ok(None);
        };
        let one = ws.integer(1)?;
        let less = sub(exponent, one, ws)?;
        let lower = power(base, less, ws)?;
        let outer = mul(exponent, lower, ws)?;
        return mul(outer, inner, ws).map(Some);
    }
    let logarithm = if *ws.node(base) == Node::Constant(Constant::E) {
        ws.integer(1)?
    } else {
        call(Function::Ln, base, ws)?
    };
    // (exponent * ln base)' * whole
    let product = mul(exponent, logarithm, ws)?;
    let inner = derivative(product, x, ws)?;
    inner.map(|inner| mul(whole, inner, ws)).transpose()
}

fn of_root(
    whole: Expr,
    radicand: Expr,
    index: Expr,
    x: Name,
    ws: &mut Workspace<'_>,
) -> Result<Option<Expr>, Exhausted> {
    if depends(index, x, ws)? {
        return Ok(None);
    }
    let Some(inner) = derivative(radicand, x, ws)? else {
        return Ok(None);
    };
    let below = mul(index, radicand, ws)?;
    let quotient = div(whole, below, ws)?;
    mul(quotient, inner, ws).map(Some)
}

/// Returns the derivative of a function of one argument, at `u`; `whole` is the call.
fn of_function(
    function: Function,
    whole: Expr,
    u: Expr,
    ws: &mut Workspace<'_>,
) -> Result<Option<Expr>, Exhausted> {
    let one = ws.integer(1)?;
    let square = small_power(u, 2, ws)?;
    let slope = match function {
        Function::Sin => call(Function::Cos, u, ws)?,
        Function::Cos => {
            let sine = call(Function::Sin, u, ws)?;
            neg(sine, ws)?
        }
        Function::Tan | Function::Cot | Function::Tanh => {
            let square = small_power(whole, 2, ws)?;
            return of_tangent(function, square, ws).map(Some);
        }
        Function::Sec => {
            let tangent = call(Function::Tan, u, ws)?;
            mul(whole, tangent, ws)?
        }
        Function::Csc => {
            let cotangent = call(Function::Cot, u, ws)?;
            let product = mul(whole, cotangent, ws)?;
            neg(product, ws)?
        }
        Function::Asin | Function::Acos => {
            let under = sub(one, square, ws)?;
            let slope = inverse_root(under, ws)?;
            if function == Function::Asin { slope } else { neg(slope, ws)? }
        }
        Function::Atan => {
            let below = add(one, square, ws)?;
            div(one, below, ws)?
        }
        Function::Sinh => call(Function::Cosh, u, ws)?,
        Function::Cosh => call(Function::Sinh, u, ws)?,
        Function::Asinh => {
            let under = add(one, square, ws)?;
            inverse_root(under, ws)?
        }
        Function::Atanh => {
            let below = sub(one, square, ws)?;
            div(one, below, ws)?
        }
        Function::Ln => div(one, u, ws)?,
        // For real u, if it is not 0.
        Function::Abs if is_real(u, ws)? => call(Function::Sign, u, ws)?,
        Function::Abs
        | Function::Acot
        | Function::Asec
        | Function::Acsc
        | Function::Coth
        | Function::Sech
        | Function::Csch
        | Function::Acosh
        | Function::LogBare
        | Function::Log
        | Function::Root
        | Function::Sign
        | Function::Floor
        | Function::Ceiling
        | Function::Factorial
        | Function::DoubleFactorial
        | Function::Binomial
        | Function::Permutations
        | Function::Gcd
        | Function::Lcm
        | Function::Max
        | Function::Min
        | Function::Mod
        | Function::Re
        | Function::Im
        | Function::Conjugate
        | Function::Arg => return Ok(None),
    };
    Ok(Some(slope))
}

/// Decides whether `u` is made of integers and variables by addition, multiplication and integer
/// powers: these are real.
fn is_real(u: Expr, ws: &mut Workspace<'_>) -> Result<bool, Exhausted> {
    let has_other = ws.any(u, &mut |node| match node {
        Node::Number(value) => !value.is_int(),
        Node::Symbol(_) | Node::Sum(_) | Node::Product(_) | Node::Power(..) => false,
        Node::Constant(_) | Node::Call(..) | Node::Apply(..) | Node::Bound(_) => true,
    })?;
    Ok(!has_other)
}

/// Returns the derivative of a tangent, cotangent or hyperbolic tangent with the given square.
fn of_tangent(function: Function, square: Expr, ws: &mut Workspace<'_>) -> Result<Expr, Exhausted> {
    let one = ws.integer(1)?;
    if function == Function::Tanh {
        return sub(one, square, ws);
    }
    let slope = add(one, square, ws)?;
    if function == Function::Tan { Ok(slope) } else { neg(slope, ws) }
}

/// Returns `under^(-1/2)`.
fn inverse_root(under: Expr, ws: &mut Workspace<'_>) -> Result<Expr, Exhausted> {
    let half = ws.number(dashu::rational::RBig::from_parts((-1).into(), 2u8.into()))?;
    power(under, half, ws)
}
