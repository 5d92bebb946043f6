//! Polynomials in the index of a sum, over the rational numbers.

use dashu::base::{Gcd, Signed, UnsignedAbs};
use dashu::integer::{IBig, UBig};
use dashu::rational::RBig;

use crate::expr::Workspace;
use crate::fuel::Exhausted;

/// Largest first and last coefficient whose divisors are tried for roots.
const MAX_END: u64 = 1_000_000;

/// Coefficients from degree 0 on, the last of them not 0; none for the polynomial 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Polynomial(Vec<RBig>);

impl Polynomial {
    pub(super) fn new(mut coefficients: Vec<RBig>) -> Self {
        while coefficients.last().is_some_and(RBig::is_zero) {
            coefficients.pop();
        }
        Self(coefficients)
    }

    pub(super) fn constant(value: RBig) -> Self {
        Self::new(vec![value])
    }

    /// Returns `k + shift`.
    pub(super) fn linear(shift: RBig) -> Self {
        Self::new(vec![shift, RBig::ONE])
    }

    pub(super) fn is_zero(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn coefficients(&self) -> &[RBig] {
        &self.0
    }

    /// Returns the degree; 0 for the polynomial 0.
    pub(super) fn degree(&self) -> usize {
        self.0.len().saturating_sub(1)
    }

    pub(super) fn leading(&self) -> RBig {
        self.0.last().cloned().unwrap_or(RBig::ZERO)
    }

    pub(super) fn add(&self, other: &Self) -> Self {
        let len = self.0.len().max(other.0.len());
        let at = |list: &[RBig], place: usize| list.get(place).cloned().unwrap_or(RBig::ZERO);
        Self::new((0..len).map(|place| at(&self.0, place) + at(&other.0, place)).collect())
    }

    pub(super) fn mul(&self, other: &Self) -> Self {
        if self.is_zero() || other.is_zero() {
            return Self(Vec::new());
        }
        let mut product = vec![RBig::ZERO; self.0.len() + other.0.len() - 1];
        for (left, own) in self.0.iter().enumerate() {
            for (right, factor) in other.0.iter().enumerate() {
                product[left + right] += own * factor;
            }
        }
        Self::new(product)
    }

    pub(super) fn scaled(&self, factor: &RBig) -> Self {
        Self::new(self.0.iter().map(|coefficient| coefficient * factor).collect())
    }

    pub(super) fn value(&self, at: &RBig) -> RBig {
        self.0.iter().rev().fold(RBig::ZERO, |sum, coefficient| sum * at + coefficient)
    }

    /// Returns the polynomial in `k` whose value is that of this one at `k + by`.
    pub(super) fn shifted(&self, by: &RBig) -> Self {
        let mut coefficients = self.0.clone();
        for lowest in 0..coefficients.len() {
            for place in (lowest..coefficients.len() - 1).rev() {
                let carried = &coefficients[place + 1] * by;
                coefficients[place] += carried;
            }
        }
        Self::new(coefficients)
    }

    /// Returns quotient and remainder; the divisor is not 0.
    pub(super) fn divided(&self, by: &Self) -> (Self, Self) {
        let mut rest = self.0.clone();
        let length = by.0.len();
        let mut quotient = vec![RBig::ZERO; (rest.len() + 1).saturating_sub(length)];
        let leading = by.leading();
        for place in (0..quotient.len()).rev() {
            let factor = &rest[place + length - 1] / &leading;
            for (offset, coefficient) in by.0.iter().enumerate() {
                rest[place + offset] -= &factor * coefficient;
            }
            quotient[place] = factor;
        }
        rest.truncate(length - 1);
        (Self::new(quotient), Self::new(rest))
    }

    /// Returns the differences of orders 0 to the degree of the values at `start`, `start + 1`, ….
    pub(super) fn differences(&self, start: i64) -> Vec<RBig> {
        let mut values: Vec<RBig> = (0..self.0.len())
            .map(|step| self.value(&(RBig::from(start) + RBig::from(step))))
            .collect();
        for order in 1..values.len() {
            for place in (order..values.len()).rev() {
                let before = values[place - 1].clone();
                values[place] -= before;
            }
        }
        values
    }

    /// Returns all roots with their orders; `None` if one of them is not found or not rational.
    pub(super) fn roots(
        &self,
        ws: &mut Workspace<'_>,
    ) -> Result<Option<Vec<(RBig, usize)>>, Exhausted> {
        let mut rest = self.clone();
        let mut roots: Vec<(RBig, usize)> = Vec::new();
        while rest.degree() > 0 {
            ws.fuel.spend(4 * self.0.len() as u64)?;
            let Some(root) = rest.rational_root(ws)? else {
                return Ok(None);
            };
            rest = rest.divided(&Self::linear(-root.clone())).0;
            match roots.iter_mut().find(|(known, _)| *known == root) {
                Some((_, order)) => *order += 1,
                None => roots.push((root, 1)),
            }
        }
        Ok(Some(roots))
    }

    fn rational_root(&self, ws: &mut Workspace<'_>) -> Result<Option<RBig>, Exhausted> {
        match self.0.as_slice() {
            [] | [_] => return Ok(None),
            [first, ..] if first.is_zero() => return Ok(Some(RBig::ZERO)),
            [first, last] => return Ok(Some(-(first / last))),
            _ => {}
        }
        let integers = self.primitive();
        if let [c, b, a] = integers.as_slice() {
            return Ok(quadratic_root(a, b, c));
        }
        let small = |value: Option<&IBig>| {
            let value = u64::try_from(value?.clone().unsigned_abs()).ok()?;
            (value <= MAX_END).then_some(value)
        };
        let (Some(first), Some(last)) = (small(integers.first()), small(integers.last())) else {
            return Ok(None);
        };
        ws.fuel.spend(20)?;
        for below in divisors(last) {
            for above in divisors(first) {
                for above in [IBig::from(above), -IBig::from(above)] {
                    ws.fuel.spend(1 + self.0.len() as u64 / 2)?;
                    let root = RBig::from_parts(above, UBig::from(below));
                    if self.value(&root).is_zero() {
                        return Ok(Some(root));
                    }
                }
            }
        }
        Ok(None)
    }

    /// Returns the integer coefficients without a common divisor of a multiple.
    fn primitive(&self) -> Vec<IBig> {
        let common = common_denominator(self.0.iter());
        let scaled: Vec<IBig> = self
            .0
            .iter()
            .map(|coefficient| (coefficient * RBig::from(common.clone())).numerator().clone())
            .collect();
        let divisor = scaled.iter().fold(UBig::ZERO, |divisor, value| {
            let value = value.clone().unsigned_abs();
            if divisor.is_zero() {
                value
            } else if value.is_zero() {
                divisor
            } else {
                divisor.gcd(value)
            }
        });
        let divisor = IBig::from(divisor);
        scaled.into_iter().map(|value| value / &divisor).collect()
    }
}

/// Returns the least number whose products with all of `values` are integers.
pub(super) fn common_denominator<'v>(values: impl Iterator<Item = &'v RBig>) -> UBig {
    values.fold(UBig::ONE, |common, value| {
        let below = value.denominator();
        let divisor = (&common).gcd(below);
        common * below / divisor
    })
}

/// Returns a root of `a x^2 + b x + c` that is rational.
fn quadratic_root(a: &IBig, b: &IBig, c: &IBig) -> Option<RBig> {
    let discriminant = b * b - IBig::from(4) * a * c;
    if discriminant.is_negative() {
        return None;
    }
    let square = discriminant.unsigned_abs();
    let root = square.nth_root(2);
    if root.pow(2) != square {
        return None;
    }
    Some(RBig::from(IBig::from(root) - b) / RBig::from(IBig::from(2) * a))
}

/// Returns the divisors of a number up to [`MAX_END`].
fn divisors(value: u64) -> Vec<u64> {
    let mut found = Vec::new();
    for divisor in (1..).take_while(|divisor| divisor * divisor <= value) {
        if value.is_multiple_of(divisor) {
            found.push(divisor);
            if divisor * divisor != value {
                found.push(value / divisor);
            }
        }
    }
    found
}
