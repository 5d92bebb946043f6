//! Linear forms in logarithms and in angles of algebraic numbers: their exponentials are algebraic,
//! where the zero test is exact.

use dashu::base::Gcd;
use dashu::integer::IBig;
use dashu::rational::RBig;

use super::exponent::Exponent;
use super::poly::{Kernel, Monomial, Poly, Term};
use super::ring::{KernelKind, PI, Ring};
use super::stop::Stop;
use super::zero::Truth;
use crate::expr::Function;
use crate::interval;

/// Multiples of a logarithm or an angle above this are left alone.
const MAX_MULTIPLE: i64 = 48;

/// Kernels with an algebraic exponential.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Nature {
    /// A number over roots, without a kernel of the other natures.
    Number,
    /// The kernel itself: the logarithm of a positive number.
    Logarithm,
    /// `i` times the kernel: an inverse trigonometric function, or pi.
    Angle,
}

impl Ring<'_, '_> {
    /// Decides whether the linear forms in `poly`, each with the same factors beside it, all
    /// vanish.
    pub(super) fn linear_forms_vanish(&mut self, poly: &Poly) -> Result<bool, Stop> {
        let mut forms: Vec<(Nature, Monomial, Poly)> = Vec::new();
        for term in &poly.0 {
            let (nature, kernel) = self.nature(&term.monomial);
            let (rest, form) = match kernel {
                Some(kernel) => {
                    let form = Monomial::of(kernel, Exponent::ONE);
                    (term.monomial.without(kernel).0, form)
                }
                None => (Monomial::default(), term.monomial.clone()),
            };
            let form = Term { monomial: form, coefficient: term.coefficient.clone() };
            let known = forms.iter_mut().find(|(n, r, _)| *n == nature && *r == rest);
            match known {
                Some((_, _, poly)) => poly.0.push(form),
                None => forms.push((nature, rest, Poly(vec![form]))),
            }
        }
        for (nature, _, form) in forms {
            let form = Poly::collect(form.0);
            let vanishes = match nature {
                Nature::Number => self.vanishes_by_parts(&form)? == Truth::Zero,
                Nature::Logarithm | Nature::Angle if form.single().is_some() => false,
                Nature::Logarithm => self.exponential_is_one(&form)?,
                Nature::Angle => self.angles_vanish(&form)?,
            };
            if !vanishes {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns the first factor whose exponential is known, if it has the exponent 1.
    fn nature(&self, monomial: &Monomial) -> (Nature, Option<Kernel>) {
        for (kernel, exponent) in &monomial.0 {
            if *exponent != Exponent::ONE {
                continue;
            }
            match self.kind(*kernel) {
                KernelKind::Pi => return (Nature::Angle, Some(PI)),
                KernelKind::Call(Function::Ln, arguments) if self.is_algebraic(&arguments[0]) => {
                    return (Nature::Logarithm, Some(*kernel));
                }
                KernelKind::Call(Function::Atan | Function::Asin, arguments)
                    if self.is_algebraic(&arguments[0]) =>
                {
                    return (Nature::Angle, Some(*kernel));
                }
                KernelKind::Turn
                | KernelKind::Prime(_)
                | KernelKind::Symbol(_)
                | KernelKind::Exp(_)
                | KernelKind::Group(_)
                | KernelKind::Abs(..)
                | KernelKind::Call(..)
                | KernelKind::Apply(..)
                | KernelKind::Opaque(_) => {}
            }
        }
        (Nature::Number, None)
    }

    /// Decides whether `e^form` is 1, after denominators are cleared: for a real form, that it is
    /// zero.
    fn exponential_is_one(&mut self, form: &Poly) -> Result<bool, Stop> {
        let Some(cleared) = self.with_integers(form)? else {
            return Ok(false);
        };
        for term in &form.0 {
            let kernel = Poly::term(RBig::ONE, term.monomial.clone());
            if !self.is_real(&kernel)? && self.transcendental_sign(&kernel)?.is_none() {
                return Ok(false);
            }
        }
        let power = self.exponential(&cleared)?;
        let rest = self.subtract(&power, &Poly::one())?;
        Ok(self.deeper(|ring| ring.vanishes(&rest))? == Truth::Zero)
    }

    /// Decides whether a sum of angles is zero: it is a multiple of a whole turn, and smaller than
    /// one.
    fn angles_vanish(&mut self, form: &Poly) -> Result<bool, Stop> {
        let Some(cleared) = self.with_integers(form)? else {
            return Ok(false);
        };
        let unit = self.imaginary();
        let turned = self.multiply(&cleared, &unit)?;
        let power = self.exponential(&turned)?;
        let rest = self.subtract(&power, &Poly::one())?;
        if self.deeper(|ring| ring.vanishes(&rest))? != Truth::Zero {
            return Ok(false);
        }
        let expr = self.render(&cleared)?;
        let Some(interval) = interval::enclose(expr, 64, self.ws)? else {
            return Ok(false);
        };
        Ok(interval.lower() > -RBig::ONE && interval.upper() < RBig::ONE)
    }

    /// Returns `form` times the least number that makes its coefficients integers, where these are
    /// small.
    fn with_integers(&mut self, form: &Poly) -> Result<Option<Poly>, Stop> {
        let mut common = dashu::integer::UBig::ONE;
        for term in &form.0 {
            let below = term.coefficient.denominator();
            let divisor = (&common).gcd(below);
            common = common * below / divisor;
        }
        let cleared = self.scale(form, &RBig::from(common))?;
        let limit = IBig::from(MAX_MULTIPLE);
        let are_small = cleared.0.iter().all(|term| {
            let above = term.coefficient.numerator();
            // A multiple of pi is a root of unity, of whatever size.
            term.monomial.exponent(PI) == Exponent::ONE || *above <= limit && *above >= -&limit
        });
        Ok(are_small.then_some(cleared))
    }
}
