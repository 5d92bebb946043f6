//! Rational functions of the index of a sum, and their partial fractions.

use dashu::base::BitTest;
use dashu::rational::RBig;

use super::polynomial::Polynomial;
use crate::calculus::build::exact_number;
use crate::expr::{Expr, Name, Node, Workspace};
use crate::fuel::Exhausted;

/// Highest degree of a numerator or denominator.
const MAX_DEGREE: usize = 16;

/// Most bits of a number that is written in a sum.
const MAX_BITS: usize = 256;

/// A quotient of polynomials; the divisor is not 0.
#[derive(Debug, Clone)]
pub(super) struct Rational {
    pub(super) above: Polynomial,
    pub(super) below: Polynomial,
}

/// `whole + sum of weight / (k + shift)^order`.
#[derive(Debug, Clone)]
pub(super) struct PartialFractions {
    pub(super) whole: Polynomial,
    pub(super) poles: Vec<Pole>,
}

/// `weight / (k + shift)^order`, with a weight that is not 0.
#[derive(Debug, Clone)]
pub(super) struct Pole {
    pub(super) shift: RBig,
    pub(super) order: usize,
    pub(super) weight: RBig,
}

impl Rational {
    pub(super) fn one() -> Self {
        Self::polynomial(Polynomial::constant(RBig::ONE))
    }

    pub(super) fn polynomial(above: Polynomial) -> Self {
        Self { above, below: Polynomial::constant(RBig::ONE) }
    }

    /// Returns `expr` as a rational function of `x`; `None` if it holds anything else or is large.
    pub(super) fn of(
        expr: Expr,
        x: Name,
        ws: &mut Workspace<'_>,
    ) -> Result<Option<Self>, Exhausted> {
        ws.fuel.spend(4)?;
        match ws.node(expr).clone() {
            Node::Number(value) => {
                let bits = value.numerator().bit_len() + value.denominator().bit_len();
                Ok((bits <= MAX_BITS).then(|| Self::polynomial(Polynomial::constant(value))))
            }
            Node::Symbol(name) => {
                Ok((name == x).then(|| Self::polynomial(Polynomial::linear(RBig::ZERO))))
            }
            Node::Sum(terms) => {
                let zero = Self::polynomial(Polynomial::constant(RBig::ZERO));
                Self::folded(&terms, zero, Self::add, x, ws)
            }
            Node::Product(factors) => Self::folded(&factors, Self::one(), Self::mul, x, ws),
            Node::Power(base, exponent) => {
                let exponent = exact_number(exponent, ws).filter(|value| value.is_int());
                let exponent = exponent.and_then(|value| i64::try_from(value.numerator()).ok());
                let (Some(exponent), Some(base)) = (exponent, Self::of(base, x, ws)?) else {
                    return Ok(None);
                };
                base.power(exponent, ws)
            }
            Node::Constant(_) | Node::Call(..) | Node::Apply(..) | Node::Bound(_) => Ok(None),
        }
    }

    fn folded(
        parts: &[Expr],
        start: Self,
        combine: fn(&Self, &Self) -> Self,
        x: Name,
        ws: &mut Workspace<'_>,
    ) -> Result<Option<Self>, Exhausted> {
        let mut total = start;
        for part in parts {
            let Some(part) = Self::of(*part, x, ws)? else {
                return Ok(None);
            };
            ws.fuel.spend(2 * (1 + total.size() * part.size()))?;
            total = combine(&total, &part);
            if total.is_large() {
                return Ok(None);
            }
        }
        Ok(Some(total))
    }

    fn size(&self) -> u64 {
        (self.above.degree() + self.below.degree()) as u64
    }

    pub(super) fn is_large(&self) -> bool {
        self.above.degree().max(self.below.degree()) > MAX_DEGREE
    }

    pub(super) fn add(&self, other: &Self) -> Self {
        if self.below == other.below {
            return Self { above: self.above.add(&other.above), below: self.below.clone() };
        }
        let (left, right) = (self.above.mul(&other.below), other.above.mul(&self.below));
        Self { above: left.add(&right), below: self.below.mul(&other.below) }
    }

    pub(super) fn mul(&self, other: &Self) -> Self {
        Self { above: self.above.mul(&other.above), below: self.below.mul(&other.below) }
    }

    /// Returns an integer power; `None` for a negative one of 0, and for large ones.
    pub(super) fn power(
        &self,
        exponent: i64,
        ws: &mut Workspace<'_>,
    ) -> Result<Option<Self>, Exhausted> {
        let times = exponent.unsigned_abs();
        if times > MAX_DEGREE as u64 || exponent < 0 && self.above.is_zero() {
            return Ok(None);
        }
        let base = if exponent < 0 {
            Self { above: self.below.clone(), below: self.above.clone() }
        } else {
            self.clone()
        };
        let mut power = Self::one();
        for _ in 0..times {
            ws.fuel.spend(2 * (1 + power.size() * base.size()))?;
            power = power.mul(&base);
            if power.is_large() {
                return Ok(None);
            }
        }
        Ok(Some(power))
    }

    /// Returns the partial fractions; `None` if a root of the denominator is not rational.
    pub(super) fn partial_fractions(
        &self,
        ws: &mut Workspace<'_>,
    ) -> Result<Option<PartialFractions>, Exhausted> {
        let (whole, rest) = self.above.divided(&self.below);
        let Some(roots) = self.below.roots(ws)? else {
            return Ok(None);
        };
        let mut poles = Vec::new();
        for (root, order) in roots {
            let length = self.below.coefficients().len() as u64;
            ws.fuel.spend(4 * length * length)?;
            // Near the root, `rest / below` is `t^-order` times this quotient of power series.
            let (above, below) = (rest.shifted(&root), self.below.shifted(&root));
            let below = &below.coefficients()[order..];
            let mut weights: Vec<RBig> = Vec::with_capacity(order);
            for place in 0..order {
                let own = above.coefficients().get(place).cloned().unwrap_or(RBig::ZERO);
                let known = weights.iter().enumerate().filter_map(|(at, weight)| {
                    below.get(place - at).map(|coefficient| weight * coefficient)
                });
                let weight = known.fold(own, |rest, product| rest - product) / &below[0];
                weights.push(weight);
            }
            for (place, weight) in weights.into_iter().enumerate() {
                if !weight.is_zero() {
                    poles.push(Pole { shift: -root.clone(), order: order - place, weight });
                }
            }
        }
        Ok(Some(PartialFractions { whole, poles }))
    }
}
