//! Sums of binomial coefficients over their lower index.

use dashu::rational::RBig;

use super::polynomial::Polynomial;
use super::summand::{Summand, summands};
use crate::calculus::build::{add, exact_number, is_zero, mul, power, small_power, sub};
use crate::expr::{Bound, Expr, Function, Name, Node, Workspace};
use crate::fuel::Exhausted;

/// Returns the sum of `P(k) r^k binomial(n, k)` over all k up to n, or of `binomial(n, k)^2`, from 0
/// or 1 on.
pub(super) fn closed(
    bound: &Bound,
    start: i64,
    to: Expr,
    ws: &mut Workspace<'_>,
) -> Result<Option<Expr>, Exhausted> {
    let factors = match ws.node(bound.body) {
        Node::Product(factors) => factors.to_vec(),
        Node::Number(_)
        | Node::Symbol(_)
        | Node::Constant(_)
        | Node::Sum(_)
        | Node::Power(..)
        | Node::Call(..)
        | Node::Apply(..)
        | Node::Bound(_) => vec![bound.body],
    };
    let is_counted = |factor: &Expr| counted(*factor, bound.variable, to, ws).is_some();
    let (own, others): (Vec<Expr>, Vec<Expr>) = factors.into_iter().partition(is_counted);
    let [only] = own.as_slice() else {
        return Ok(None);
    };
    let is_square = counted(*only, bound.variable, to, ws) == Some(2);
    let rest = ws.product(others)?;
    let Some(rest) = summands(rest, bound.variable, ws)? else {
        return Ok(None);
    };
    let [rest] = rest.as_slice() else {
        return Ok(None);
    };
    let is_polynomial = rest.rational.below.degree() == 0 && rest.factorials.is_empty();
    if !is_polynomial || !(0..=1).contains(&start) {
        return Ok(None);
    }
    let scale = RBig::ONE / rest.rational.below.leading();
    let polynomial = rest.rational.above.scaled(&scale);
    let whole = if is_square {
        let is_plain = exact_number(rest.ratio, ws).is_some_and(RBig::is_one);
        if !is_plain || polynomial.degree() > 0 {
            return Ok(None);
        }
        let two = ws.integer(2)?;
        let double = mul(two, to, ws)?;
        let count = ws.call(Function::Binomial, vec![double, to])?;
        let factor = ws.number(polynomial.leading())?;
        mul(factor, count, ws)?
    } else {
        match generated(rest, &polynomial, to, ws)? {
            Some(whole) => whole,
            None => return Ok(None),
        }
    };
    // The term of k = 0.
    let first = ws.number(if start == 1 { polynomial.value(&RBig::ZERO) } else { RBig::ZERO })?;
    let sum = sub(whole, first, ws)?;
    mul(rest.coefficient, sum, ws).map(Some)
}

/// Returns the sum of `P(k) r^k binomial(n, k)`: with P as a sum of `d_i / i! k (k-1) … (k-i+1)`, it is
/// that of `d_i / i! n (n-1) … (n-i+1) r^i (1+r)^(n-i)`.
fn generated(
    summand: &Summand,
    polynomial: &Polynomial,
    n: Expr,
    ws: &mut Workspace<'_>,
) -> Result<Option<Expr>, Exhausted> {
    let (one, ratio) = (ws.integer(1)?, summand.ratio);
    let base = add(one, ratio, ws)?;
    if is_zero(base, ws) {
        return Ok(None);
    }
    let mut sum = ws.integer(0)?;
    let mut falling = one;
    let mut factor = RBig::ONE;
    for (order, difference) in (0i64..).zip(polynomial.differences(0)) {
        if order > 0 {
            factor /= RBig::from(order);
            let back = ws.integer(1 - order)?;
            let next = add(n, back, ws)?;
            falling = mul(falling, next, ws)?;
        }
        let coefficient = ws.number(difference * &factor)?;
        let back = ws.integer(-order)?;
        let exponent = add(n, back, ws)?;
        let (chosen, others) = (small_power(ratio, order, ws)?, power(base, exponent, ws)?);
        let term = mul(falling, chosen, ws)?;
        let term = mul(term, others, ws)?;
        let term = mul(coefficient, term, ws)?;
        sum = add(sum, term, ws)?;
    }
    Ok(Some(sum))
}

/// Returns the power to which `factor` is the number of choices of `x` out of `n`: 1 or 2.
fn counted(factor: Expr, x: Name, n: Expr, ws: &Workspace<'_>) -> Option<u8> {
    let is_choice = |expr: Expr| {
        matches!(ws.node(expr), Node::Call(Function::Binomial, arguments)
            if arguments[0] == n && ws.symbol_name(arguments[1]) == Some(x))
    };
    if is_choice(factor) {
        return Some(1);
    }
    let Node::Power(base, exponent) = ws.node(factor) else {
        return None;
    };
    let is_two = exact_number(*exponent, ws).is_some_and(|value| *value == RBig::from(2));
    (is_two && is_choice(*base)).then_some(2)
}
