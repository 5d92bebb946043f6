//! The body of a sum as terms that rules know.

use dashu::rational::RBig;

use super::polynomial::Polynomial;
use super::rational::Rational;
use crate::calculus::build::{depends, exact_number, linear, mul, power, small_power};
use crate::expr::{Expr, Function, Name, Node, Workspace};
use crate::fuel::Exhausted;

/// Most terms of a body.
const MAX_TERMS: usize = 16;

/// Largest number of factors by which two factorials of one term may differ.
const MAX_FACTORS: i64 = 8;

/// `coefficient * rational(k) * ratio^k`, times or by factorials.
#[derive(Debug, Clone)]
pub(super) struct Summand {
    /// Free of k.
    pub(super) coefficient: Expr,
    pub(super) rational: Rational,
    /// Free of k.
    pub(super) ratio: Expr,
    pub(super) factorials: Vec<Factorial>,
}

/// `(step k + offset)!`, or one over it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Factorial {
    pub(super) step: i64,
    pub(super) offset: i64,
    pub(super) is_below: bool,
}

impl Factorial {
    /// Returns the number whose factorial it is at `k`.
    pub(super) fn at(self, k: i64) -> i64 {
        self.step * k + self.offset
    }
}

/// Returns the terms whose sum is `body`, like ones joined; `None` if something in it has another
/// form.
pub(super) fn summands(
    body: Expr,
    x: Name,
    ws: &mut Workspace<'_>,
) -> Result<Option<Vec<Summand>>, Exhausted> {
    let parts = if let Node::Sum(terms) = ws.node(body) { terms.to_vec() } else { vec![body] };
    if parts.len() > MAX_TERMS {
        return Ok(None);
    }
    let mut summands: Vec<Summand> = Vec::new();
    for part in parts {
        let Some(own) = Summand::of(part, x, ws)? else {
            return Ok(None);
        };
        ws.fuel.spend(4)?;
        let is_like = |other: &&mut Summand| {
            (other.coefficient, other.ratio) == (own.coefficient, own.ratio)
                && other.factorials == own.factorials
        };
        match summands.iter_mut().find(is_like) {
            Some(like) => like.rational = like.rational.add(&own.rational),
            None => summands.push(own),
        }
    }
    Ok(Some(summands))
}

impl Summand {
    fn of(expr: Expr, x: Name, ws: &mut Workspace<'_>) -> Result<Option<Self>, Exhausted> {
        let one = ws.integer(1)?;
        let mut summand = Self {
            coefficient: one,
            rational: Rational::one(),
            ratio: one,
            factorials: Vec::new(),
        };
        if !summand.take(expr, 1, x, ws)? {
            return Ok(None);
        }
        summand.join_factorials();
        if let Some(number) = exact_number(summand.coefficient, ws) {
            let number = Polynomial::constant(number.clone());
            summand.rational = summand.rational.mul(&Rational::polynomial(number));
            summand.coefficient = one;
        }
        Ok(Some(summand))
    }

    /// Multiplies by `expr^times`. Returns false where it has another form.
    fn take(
        &mut self,
        expr: Expr,
        times: i64,
        x: Name,
        ws: &mut Workspace<'_>,
    ) -> Result<bool, Exhausted> {
        ws.fuel.spend(2)?;
        if !depends(expr, x, ws)? {
            let factor = small_power(expr, times, ws)?;
            self.coefficient = mul(self.coefficient, factor, ws)?;
            return Ok(true);
        }
        if let Some(rational) = Rational::of(expr, x, ws)? {
            let Some(factor) = rational.power(times, ws)? else {
                return Ok(false);
            };
            self.rational = self.rational.mul(&factor);
            return Ok(!self.rational.is_large());
        }
        match ws.node(expr).clone() {
            Node::Product(factors) => {
                for factor in factors {
                    if !self.take(factor, times, x, ws)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Node::Power(base, exponent) if depends(base, x, ws)? => {
                let times = exact_number(exponent, ws)
                    .filter(|value| value.is_int())
                    .and_then(|value| i64::try_from(value.numerator()).ok())
                    .and_then(|value| value.checked_mul(times));
                match times.filter(|times| times.unsigned_abs() <= MAX_TERMS as u64) {
                    Some(times) => self.take(base, times, x, ws),
                    None => Ok(false),
                }
            }
            Node::Power(base, exponent) => self.take_exponential((base, exponent), times, x, ws),
            Node::Call(Function::Factorial, arguments) => {
                let found = integer_form(arguments[0], x, ws)?;
                let Some((step @ (1 | 2), offset)) = found.filter(|_| times.abs() == 1) else {
                    return Ok(false);
                };
                self.factorials.push(Factorial { step, offset, is_below: times < 0 });
                Ok(true)
            }
            Node::Number(_)
            | Node::Symbol(_)
            | Node::Constant(_)
            | Node::Sum(_)
            | Node::Call(..)
            | Node::Apply(..)
            | Node::Bound(_) => Ok(false),
        }
    }

    fn take_exponential(
        &mut self,
        (base, exponent): (Expr, Expr),
        times: i64,
        x: Name,
        ws: &mut Workspace<'_>,
    ) -> Result<bool, Exhausted> {
        let Some((a, b)) = linear(exponent, x, ws)? else {
            return Ok(false);
        };
        let times = ws.integer(times)?;
        let (a, b) = (mul(a, times, ws)?, mul(b, times, ws)?);
        let (ratio, factor) = (power(base, a, ws)?, power(base, b, ws)?);
        self.ratio = mul(self.ratio, ratio, ws)?;
        self.coefficient = mul(self.coefficient, factor, ws)?;
        Ok(true)
    }

    /// Divides factorials whose quotient is a polynomial.
    fn join_factorials(&mut self) {
        let [one, other] = self.factorials.as_slice() else {
            return;
        };
        if one.step != other.step || one.is_below == other.is_below {
            return;
        }
        let (above, below) = if one.is_below { (*other, *one) } else { (*one, *other) };
        if (above.offset - below.offset).abs() > MAX_FACTORS {
            return;
        }
        let (least, most) = (above.offset.min(below.offset), above.offset.max(below.offset));
        let mut product = Polynomial::constant(RBig::ONE);
        for offset in least + 1..=most {
            let factor = Polynomial::new(vec![RBig::from(offset), RBig::from(above.step)]);
            product = product.mul(&factor);
        }
        let mut quotient = Rational::polynomial(product);
        if above.offset < below.offset {
            std::mem::swap(&mut quotient.above, &mut quotient.below);
        }
        self.rational = self.rational.mul(&quotient);
        self.factorials.clear();
    }
}

/// Returns `a` and `b` of `expr = a x + b`, where they are small integers.
fn integer_form(
    expr: Expr,
    x: Name,
    ws: &mut Workspace<'_>,
) -> Result<Option<(i64, i64)>, Exhausted> {
    let Some((a, b)) = linear(expr, x, ws)? else {
        return Ok(None);
    };
    let small = |expr: Expr| {
        let value = exact_number(expr, ws).filter(|value| value.is_int())?;
        i64::try_from(value.numerator()).ok().filter(|value| value.abs() <= 100)
    };
    Ok(small(a).zip(small(b)))
}
