//! Truncated power series with expressions for coefficients.

use std::cmp::Ordering;

use dashu::rational::RBig;

use super::ZeroTest;
use super::build::{add, call, depends, div, exact_number, is_zero, mul, neg, power, small_power};
use super::end::End;
use crate::expr::{Constant, Expr, Function, Name, Node, Workspace};
use crate::fuel::Exhausted;
use crate::interval;

/// Coefficients that a series keeps.
const TERMS: usize = 8;

/// `t^start * (c0 + c1 t + …)`, up to as many terms as there are coefficients.
#[derive(Debug, Clone)]
pub(super) struct Series {
    pub(super) start: i64,
    pub(super) coefficients: Vec<Expr>,
}

/// Expands expressions at one target of one variable.
#[derive(Clone, Copy)]
pub(super) struct Expander {
    pub(super) variable: Name,
    pub(super) target: End,
    pub(super) is_zero: ZeroTest,
}

impl Series {
    fn constant(expr: Expr, ws: &mut Workspace<'_>) -> Result<Self, Exhausted> {
        let mut coefficients = vec![ws.integer(0)?; TERMS];
        coefficients[0] = expr;
        Ok(Self { start: 0, coefficients })
    }

    /// Returns `x` near its target: `a + t`, or plus or minus `1/t`.
    fn variable(target: End, ws: &mut Workspace<'_>) -> Result<Self, Exhausted> {
        let one = ws.integer(1)?;
        let mut series = Self::constant(one, ws)?;
        match target {
            End::At(at) => {
                series.coefficients[0] = at;
                series.coefficients[1] = one;
            }
            End::PlusInfinity => series.start = -1,
            End::MinusInfinity => {
                series.start = -1;
                series.coefficients[0] = ws.integer(-1)?;
            }
        }
        Ok(series)
    }

    fn add(&self, other: &Self, ws: &mut Workspace<'_>) -> Result<Self, Exhausted> {
        let end = |series: &Self| {
            series.start + i64::try_from(series.coefficients.len()).expect("a short list")
        };
        let start = self.start.min(other.start);
        let end = end(self).min(end(other));
        let mut coefficients = Vec::new();
        let zero = ws.integer(0)?;
        for place in start..end {
            let at = |series: &Self| {
                let index = usize::try_from(place - series.start).ok();
                index.and_then(|index| series.coefficients.get(index)).copied()
            };
            let (left, right) = (at(self).unwrap_or(zero), at(other).unwrap_or(zero));
            coefficients.push(add(left, right, ws)?);
        }
        coefficients.truncate(TERMS);
        Ok(Self { start, coefficients })
    }

    fn mul(&self, other: &Self, ws: &mut Workspace<'_>) -> Result<Self, Exhausted> {
        let len = self.coefficients.len().min(other.coefficients.len());
        let mut coefficients = Vec::with_capacity(len);
        for place in 0..len {
            let mut sum = ws.integer(0)?;
            for left in 0..=place {
                ws.fuel.spend(1)?;
                let product = mul(self.coefficients[left], other.coefficients[place - left], ws)?;
                sum = add(sum, product, ws)?;
            }
            coefficients.push(sum);
        }
        Ok(Self { start: self.start + other.start, coefficients })
    }

    fn scaled(&self, factor: Expr, ws: &mut Workspace<'_>) -> Result<Self, Exhausted> {
        let mut coefficients = Vec::with_capacity(self.coefficients.len());
        for coefficient in &self.coefficients {
            coefficients.push(mul(factor, *coefficient, ws)?);
        }
        Ok(Self { start: self.start, coefficients })
    }

    /// Returns the constant term and the rest of a series without a pole.
    fn split(&self, ws: &mut Workspace<'_>) -> Result<Option<(Expr, Self)>, Exhausted> {
        let zero = ws.integer(0)?;
        if self.start < 0 {
            return Ok(None);
        }
        if self.start > 0 {
            return Ok(Some((zero, self.clone())));
        }
        let Some(constant) = self.coefficients.first().copied() else {
            return Ok(None);
        };
        let rest = Self { start: 1, coefficients: self.coefficients[1..].to_vec() };
        Ok(Some((constant, rest)))
    }

    /// Returns `sum of factors[j] * self^j`, for a series without a constant term.
    fn composed(&self, factors: &[RBig], ws: &mut Workspace<'_>) -> Result<Self, Exhausted> {
        let zero = ws.integer(0)?;
        let mut sum = Self::constant(zero, ws)?;
        sum.coefficients.truncate(self.coefficients.len() + 1);
        let one = ws.integer(1)?;
        let mut raised = Self::constant(one, ws)?;
        for factor in factors {
            let factor = ws.number(factor.clone())?;
            let term = raised.scaled(factor, ws)?;
            sum = sum.add(&term, ws)?;
            raised = raised.mul(self, ws)?;
        }
        Ok(sum)
    }
}

impl Expander {
    /// Decides whether `expr` is 0, if that is proven either way.
    fn vanishes(&self, expr: Expr, ws: &mut Workspace<'_>) -> Result<Option<bool>, Exhausted> {
        match exact_number(expr, ws) {
            Some(value) => Ok(Some(value.is_zero())),
            None => (self.is_zero)(expr, ws),
        }
    }

    /// Drops leading zeros: the series with a first coefficient that is proven not to be 0; `None`
    /// if there is none.
    pub(super) fn normal(
        &self,
        mut series: Series,
        ws: &mut Workspace<'_>,
    ) -> Result<Option<Series>, Exhausted> {
        while let Some(first) = series.coefficients.first() {
            match self.vanishes(*first, ws)? {
                Some(true) => {
                    series.coefficients.remove(0);
                    series.start += 1;
                }
                Some(false) => return Ok(Some(series)),
                None => return Ok(None),
            }
        }
        Ok(None)
    }

    /// Takes off leading zeros if they are proven; `None` for a series that may have a pole.
    fn without_zeros(
        &self,
        mut series: Series,
        ws: &mut Workspace<'_>,
    ) -> Result<Option<Series>, Exhausted> {
        while series.start < 0 {
            let Some(first) = series.coefficients.first() else {
                return Ok(None);
            };
            if self.vanishes(*first, ws)? != Some(true) {
                return Ok(None);
            }
            series.coefficients.remove(0);
            series.start += 1;
        }
        Ok(Some(series))
    }

    /// Returns the series of `expr` near the target; `None` if there is none or no rule for it.
    pub(super) fn expand(
        &self,
        expr: Expr,
        ws: &mut Workspace<'_>,
    ) -> Result<Option<Series>, Exhausted> {
        if !depends(expr, self.variable, ws)? {
            return Series::constant(expr, ws).map(Some);
        }
        match ws.node(expr).clone() {
            Node::Symbol(_) => Series::variable(self.target, ws).map(Some),
            Node::Sum(terms) => {
                let mut sum: Option<Series> = None;
                for term in terms {
                    let Some(term) = self.expand(term, ws)? else {
                        return Ok(None);
                    };
                    sum = Some(match sum {
                        Some(sum) => sum.add(&term, ws)?,
                        None => term,
                    });
                }
                Ok(sum)
            }
            Node::Product(factors) => {
                let mut product: Option<Series> = None;
                for factor in factors {
                    let Some(factor) = self.expand(factor, ws)? else {
                        return Ok(None);
                    };
                    product = Some(match product {
                        Some(product) => product.mul(&factor, ws)?,
                        None => factor,
                    });
                }
                Ok(product)
            }
            Node::Power(base, exponent) => self.expand_power(base, exponent, ws),
            Node::Call(function, arguments) => match arguments.as_ref() {
                [argument] => {
                    let Some(inner) = self.expand(*argument, ws)? else {
                        return Ok(None);
                    };
                    self.of_function(function, &inner, ws)
                }
                [radicand, index] if function == Function::Root => {
                    let Some(index) =
                        exact_number(*index, ws).filter(|index| !index.is_zero()).cloned()
                    else {
                        return Ok(None);
                    };
                    let exponent = RBig::ONE / index;
                    let Some(inner) = self.expand(*radicand, ws)? else {
                        return Ok(None);
                    };
                    self.constant_power(inner, &exponent, ws)
                }
                [] | [_, _, ..] => Ok(None),
            },
            Node::Number(_) | Node::Constant(_) | Node::Apply(..) | Node::Bound(_) => Ok(None),
        }
    }

    fn expand_power(
        &self,
        base: Expr,
        exponent: Expr,
        ws: &mut Workspace<'_>,
    ) -> Result<Option<Series>, Exhausted> {
        if let Some(exponent) = exact_number(exponent, ws).cloned() {
            let Some(base) = self.expand(base, ws)? else {
                return Ok(None);
            };
            return self.constant_power(base, &exponent, ws);
        }
        let Some(exponent) = self.expand(exponent, ws)? else {
            return Ok(None);
        };
        if *ws.node(base) == Node::Constant(Constant::E) {
            return exponential(&exponent, ws);
        }
        let Some(base) = self.expand(base, ws)? else {
            return Ok(None);
        };
        let Some(logarithm) = self.of_function(Function::Ln, &base, ws)? else {
            return Ok(None);
        };
        let product = exponent.mul(&logarithm, ws)?;
        let Some(product) = self.without_zeros(product, ws)? else {
            return Ok(None);
        };
        exponential(&product, ws)
    }

    /// Returns `c^q t^(start q) (1 + u)^q`.
    fn constant_power(
        &self,
        base: Series,
        exponent: &RBig,
        ws: &mut Workspace<'_>,
    ) -> Result<Option<Series>, Exhausted> {
        let whole = i64::try_from(exponent.numerator()).unwrap_or(i64::MAX);
        let is_whole = exponent.denominator().is_one();
        if is_whole && (0..=12).contains(&whole) {
            let one = ws.integer(1)?;
            let mut raised = Series::constant(one, ws)?;
            raised.coefficients.truncate(base.coefficients.len().max(1));
            for _ in 0..whole {
                raised = raised.mul(&base, ws)?;
            }
            return Ok(Some(raised));
        }
        let Some(base) = self.normal(base, ws)? else {
            return Ok(None);
        };
        let start = RBig::from(base.start) * exponent;
        let Ok(start) = i64::try_from(start.numerator().clone()) else {
            return Ok(None);
        };
        let first = base.coefficients[0];
        if !is_whole {
            let is_exact = (RBig::from(base.start) * exponent).denominator().is_one();
            let is_positive = interval::sign(first, ws)? == Some(Ordering::Greater);
            // With a pole or a zero, the root of t is not a power of t, or has two signs.
            if !is_exact || !is_positive || base.start != 0 {
                return Ok(None);
            }
        }
        let one = ws.integer(1)?;
        let inverse = div(one, first, ws)?;
        let ratio = base.scaled(inverse, ws)?;
        let rest = Series { start: 1, coefficients: ratio.coefficients[1..].to_vec() };
        // The binomial series.
        let mut factors = vec![RBig::ONE];
        for j in 0..TERMS - 1 {
            let next = &factors[j] * (exponent - RBig::from(j)) / RBig::from(j + 1);
            factors.push(next);
        }
        let mut raised = rest.composed(&factors, ws)?;
        raised.start += start;
        let exponent = ws.number(exponent.clone())?;
        let leading = power(first, exponent, ws)?;
        raised.scaled(leading, ws).map(Some)
    }

    fn of_function(
        &self,
        function: Function,
        inner: &Series,
        ws: &mut Workspace<'_>,
    ) -> Result<Option<Series>, Exhausted> {
        if function == Function::Ln {
            return self.logarithm(inner, ws);
        }
        let Some((constant, rest)) = inner.split(ws)? else {
            return Ok(None);
        };
        let is_sine = function == Function::Sin;
        if is_sine || function == Function::Cos {
            let sine = rest.composed(&circular_factors(true), ws)?;
            let cosine = rest.composed(&circular_factors(false), ws)?;
            return rotated(constant, is_sine, &sine, &cosine, ws).map(Some);
        }
        if function == Function::Tan {
            let (Some(sine), Some(cosine)) = (
                self.of_function(Function::Sin, inner, ws)?,
                self.of_function(Function::Cos, inner, ws)?,
            ) else {
                return Ok(None);
            };
            let inverse = self.constant_power(cosine, &RBig::NEG_ONE, ws)?;
            return inverse.map(|inverse| sine.mul(&inverse, ws)).transpose();
        }
        if function == Function::Atan && is_zero(constant, ws) {
            let mut factors = vec![RBig::ZERO; TERMS];
            for j in (1..TERMS).step_by(2) {
                let factor = RBig::ONE / RBig::from(j);
                factors[j] = if j % 4 == 1 { factor } else { -factor };
            }
            return rest.composed(&factors, ws).map(Some);
        }
        Ok(None)
    }

    /// Returns `ln c + ln(1 + u)`.
    fn logarithm(
        &self,
        inner: &Series,
        ws: &mut Workspace<'_>,
    ) -> Result<Option<Series>, Exhausted> {
        let Some(inner) = self.normal(inner.clone(), ws)? else {
            return Ok(None);
        };
        if inner.start != 0 {
            return Ok(None);
        }
        let first = inner.coefficients[0];
        if interval::sign(first, ws)? != Some(Ordering::Greater) {
            return Ok(None);
        }
        let inverse = small_power(first, -1, ws)?;
        let ratio = inner.scaled(inverse, ws)?;
        let rest = Series { start: 1, coefficients: ratio.coefficients[1..].to_vec() };
        let mut factors = vec![RBig::ZERO];
        for j in 1..TERMS {
            let factor = RBig::ONE / RBig::from(j);
            factors.push(if j % 2 == 1 { factor } else { -factor });
        }
        let series = rest.composed(&factors, ws)?;
        let constant = if exact_number(first, ws).is_some_and(RBig::is_one) {
            ws.integer(0)?
        } else {
            call(Function::Ln, first, ws)?
        };
        let constant = Series::constant(constant, ws)?;
        series.add(&constant, ws).map(Some)
    }
}

/// Returns `1, 1/1!, 1/2!, …`
fn inverse_factorials() -> Vec<RBig> {
    let mut factors = vec![RBig::ONE];
    for j in 1..TERMS {
        let next = &factors[j - 1] / RBig::from(j);
        factors.push(next);
    }
    factors
}

fn exponential(inner: &Series, ws: &mut Workspace<'_>) -> Result<Option<Series>, Exhausted> {
    let Some((constant, rest)) = inner.split(ws)? else {
        return Ok(None);
    };
    let series = rest.composed(&inverse_factorials(), ws)?;
    let e = ws.constant(Constant::E)?;
    let leading = power(e, constant, ws)?;
    series.scaled(leading, ws).map(Some)
}

/// Returns the factors of the sine's series, or of the cosine's.
fn circular_factors(is_sine: bool) -> Vec<RBig> {
    let mut factors = inverse_factorials();
    for (j, factor) in factors.iter_mut().enumerate() {
        if (j % 2 == 1) != is_sine {
            *factor = RBig::ZERO;
        } else if j % 4 >= 2 {
            *factor = -factor.clone();
        }
    }
    factors
}

/// Returns the sine or cosine of a constant plus an angle with the given sine and cosine.
fn rotated(
    constant: Expr,
    is_sine: bool,
    sine: &Series,
    cosine: &Series,
    ws: &mut Workspace<'_>,
) -> Result<Series, Exhausted> {
    if is_zero(constant, ws) {
        return Ok(if is_sine { sine.clone() } else { cosine.clone() });
    }
    let (s, c) = (call(Function::Sin, constant, ws)?, call(Function::Cos, constant, ws)?);
    let (of_cosine, of_sine) = if is_sine { (s, c) } else { (c, neg(s, ws)?) };
    let (left, right) = (cosine.scaled(of_cosine, ws)?, sine.scaled(of_sine, ws)?);
    left.add(&right, ws)
}
