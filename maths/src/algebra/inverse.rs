//! Inverse trigonometric and hyperbolic functions.

use dashu::base::Signed;
use dashu::rational::RBig;

use super::exponent::Exponent;
use super::poly::{Monomial, Poly};
use super::ring::{PI, Ring};
use super::stop::Stop;
use super::zero::Truth;
use crate::expr::Function;

/// Angles between 0 and a right angle whose sines and tangents are tried, as fractions of pi.
const ANGLES: [(i64, u8); 15] = [
    (1, 6),
    (1, 4),
    (1, 3),
    (1, 2),
    (1, 12),
    (5, 12),
    (1, 5),
    (2, 5),
    (1, 10),
    (3, 10),
    (1, 8),
    (3, 8),
    (1, 24),
    (5, 24),
    (7, 24),
];

impl Ring<'_, '_> {
    pub(super) fn inverse_circular(
        &mut self,
        function: Function,
        argument: &Poly,
    ) -> Result<Poly, Stop> {
        use Function as F;
        if matches!(function, F::Acos | F::Acot) {
            let inverse = if function == F::Acos { F::Asin } else { F::Atan };
            let angle = self.inverse_circular(inverse, argument)?;
            return self.complement(&angle);
        }
        if matches!(function, F::Asec | F::Acsc) {
            let inner = self.inverse(argument)?;
            let inverse = if function == F::Asec { F::Acos } else { F::Asin };
            return self.inverse_circular(inverse, &inner);
        }
        let Some(first) = argument.0.first() else {
            return Ok(Poly::default());
        };
        if first.coefficient.is_negative() {
            let angle = self.inverse_circular(function, &argument.clone().negated())?;
            return Ok(angle.negated());
        }
        match self.known_angle(function, argument)? {
            Some(angle) => Ok(angle),
            None => self.matched(function, argument.clone()),
        }
    }

    /// Returns `pi/2 - angle`.
    fn complement(&mut self, angle: &Poly) -> Result<Poly, Stop> {
        let right =
            Poly::term(RBig::from_parts(1.into(), 2u8.into()), Monomial::of(PI, Exponent::ONE));
        self.subtract(&right, angle)
    }

    /// Returns the angle among [`ANGLES`], of either sign, whose sine or tangent is `value`.
    fn known_angle(&mut self, function: Function, value: &Poly) -> Result<Option<Poly>, Stop> {
        if !self.is_algebraic(value) {
            return Ok(None);
        }
        let is_tangent = function == Function::Atan;
        let forward = if is_tangent { Function::Tan } else { Function::Sin };
        let is_rational = value.rational().is_some();
        for (above, below) in ANGLES {
            if is_rational && below > 6 || is_tangent && (above, below) == (1, 2) {
                continue;
            }
            let angle = Poly::term(
                RBig::from_parts(above.into(), below.into()),
                Monomial::of(PI, Exponent::ONE),
            );
            let sine = self.circular(forward, &angle)?;
            for angle in [angle.clone(), angle.negated()] {
                let sine = if angle.0[0].coefficient.is_negative() {
                    sine.clone().negated()
                } else {
                    sine.clone()
                };
                if self.are_the_same(&sine, value)? {
                    return Ok(Some(angle));
                }
            }
        }
        Ok(None)
    }

    fn are_the_same(&mut self, left: &Poly, right: &Poly) -> Result<bool, Stop> {
        if left == right {
            return Ok(true);
        }
        if self.is_canonical_number(left) && self.is_canonical_number(right) {
            return Ok(false);
        }
        let difference = self.subtract(left, right)?;
        Ok(self.deeper(|ring| ring.vanishes(&difference))? == Truth::Zero)
    }

    pub(super) fn inverse_hyperbolic(
        &mut self,
        function: Function,
        argument: &Poly,
    ) -> Result<Poly, Stop> {
        let one = Poly::one();
        let half = RBig::from_parts(1.into(), 2u8.into());
        if function == Function::Atanh {
            let above = self.add(&one, argument)?;
            let below = self.subtract(&one, argument)?;
            let above = self.logarithm(&above)?;
            let below = self.logarithm(&below)?;
            let difference = self.subtract(&above, &below)?;
            return self.scale(&difference, &half);
        }
        let square = self.times(argument, argument)?;
        let radicand = if function == Function::Asinh {
            self.add(&square, &one)?
        } else {
            self.subtract(&square, &one)?
        };
        let root = self.raised(&radicand, &half)?;
        let sum = self.add(argument, &root)?;
        self.logarithm(&sum)
    }
}
