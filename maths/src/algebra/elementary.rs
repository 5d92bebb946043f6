//! Exponentials, logarithms, and the trigonometric and hyperbolic functions by way of them.
//!
//! `sin u` is `(e^{iu} - e^{-iu}) / 2i`: with exponentials of different monomials as kernels, angle
//! sums, multiple angles and products to sums hold without a rule of their own.

use dashu::base::Signed;
use dashu::rational::RBig;

use super::exponent::Exponent;
use super::poly::{Kernel, Monomial, Poly, Term};
use super::ring::{KernelKind, PI, Ring, TURN};
use super::stop::Stop;
use crate::expr::Function;

/// Levels that the rules of functions may call each other.
const MAX_RULE_DEPTH: u16 = 48;

impl Ring<'_, '_> {
    /// Returns `e^poly`.
    pub(super) fn exponential(&mut self, poly: &Poly) -> Result<Poly, Stop> {
        let poly = self.without_shared_fractions(poly)?;
        let mut product = Poly::one();
        for term in &poly.0 {
            let factor = self.exponential_of(term)?;
            product = self.times(&product, &factor)?;
        }
        Ok(product)
    }

    fn exponential_of(&mut self, term: &Term) -> Result<Poly, Stop> {
        self.spend(1)?;
        let one = Exponent::ONE;
        if let [(TURN, half), (PI, power)] = term.monomial.0.as_slice()
            && *half == Exponent::HALF
            && *power == one
        {
            let two = RBig::from(2u8);
            let whole = RBig::from((&term.coefficient / &two).floor());
            let angle = &term.coefficient - whole * two;
            return self.turn(Exponent::from_rational(&angle)?);
        }
        let times = Exponent::from_rational(&term.coefficient)?;
        match term.monomial.0.as_slice() {
            [(kernel, power)] if *power == one => {
                if let KernelKind::Call(Function::Ln, arguments) = self.kind(*kernel) {
                    let base = arguments[0].clone();
                    return self.raised(&base, &term.coefficient);
                }
            }
            [(TURN, half), (kernel, power)]
                if *half == Exponent::HALF && *power == one && times.is_integer() =>
            {
                if let Some(unit) = self.unit_of_inverse(*kernel)? {
                    return self.integer_power(&unit, times.above());
                }
            }
            _ => {}
        }
        let kernel = self.kernel(KernelKind::Exp(term.monomial.clone()))?;
        self.factor(kernel, times)
    }

    /// Returns `e^{i kernel}` where the kernel is an inverse trigonometric function.
    fn unit_of_inverse(&mut self, kernel: Kernel) -> Result<Option<Poly>, Stop> {
        let KernelKind::Call(function, arguments) = self.kind(kernel) else {
            return Ok(None);
        };
        if !matches!(function, Function::Atan | Function::Asin) {
            return Ok(None);
        }
        let (function, argument) = (*function, arguments[0].clone());
        let square = self.times(&argument, &argument)?;
        let unit = self.imaginary();
        let sideways = self.multiply(&unit, &argument)?;
        if function == Function::Atan {
            let above = self.add(&Poly::one(), &sideways)?;
            let length = self.add(&Poly::one(), &square)?;
            let below = self.raised(&length, &RBig::from_parts((-1).into(), 2u8.into()))?;
            return self.multiply(&above, &below).map(Some);
        }
        let rest = self.subtract(&Poly::one(), &square)?;
        let cosine = self.raised(&rest, &RBig::from_parts(1.into(), 2u8.into()))?;
        self.add(&cosine, &sideways).map(Some)
    }

    /// Returns the natural logarithm, principal branch.
    pub(super) fn logarithm(&mut self, poly: &Poly) -> Result<Poly, Stop> {
        match poly.0.as_slice() {
            [] => Err(Stop::Undefined),
            [term] => self.logarithm_of_term(&term.clone()),
            [first, ..] => {
                let leading = first.coefficient.clone();
                let content = if leading.is_negative() { -leading } else { leading };
                let rest = self.scale(poly, &(RBig::ONE / &content))?;
                let outside = self.logarithm_of_number(&content)?;
                let inside = self.logarithm_of_sum(&rest)?;
                self.add(&outside, &inside)
            }
        }
    }

    /// Returns the logarithm of a number as a sum over primes.
    fn logarithm_of_number(&mut self, value: &RBig) -> Result<Poly, Stop> {
        let mut total = Poly::default();
        let above = value.numerator().clone().into_parts().1;
        for (part, sign) in [(above, 1), (value.denominator().clone(), -1)] {
            if part.is_one() {
                continue;
            }
            for (base, times) in self.prime_powers(&part)? {
                let base = Poly::constant(RBig::from(base));
                let kernel = self.element(KernelKind::Call(Function::Ln, Box::new([base])))?;
                let times = RBig::from(i64::from(times) * sign);
                let part = self.scale(&kernel, &times)?;
                total = self.add(&total, &part)?;
            }
        }
        Ok(total)
    }

    /// Returns a term that is one over sums, over the common denominator of nothing else: the
    /// logarithm of the sums with the other sign, where either is a real number.
    fn logarithm_of_inverse(&mut self, term: &Term) -> Result<Option<Poly>, Stop> {
        let mut groups = term.monomial.0.iter().filter(|(kernel, _)| {
            matches!(self.kind(*kernel), KernelKind::Group(_)) && !self.is_positive(*kernel)
        });
        let are_below = groups.clone().all(|(_, own)| own.is_integer() && own.is_negative());
        if groups.next().is_none() || !are_below {
            return Ok(None);
        }
        let inverse = self.inverse(&Poly(vec![term.clone()]))?;
        let cleared = self.cleared(&inverse)?;
        let logarithm = self.logarithm(&cleared)?;
        Ok(Some(logarithm.negated()))
    }

    fn logarithm_of_term(&mut self, term: &Term) -> Result<Poly, Stop> {
        if let Some(logarithm) = self.logarithm_of_inverse(term)? {
            return Ok(logarithm);
        }
        let is_negative = term.coefficient.is_negative();
        let magnitude =
            if is_negative { -term.coefficient.clone() } else { term.coefficient.clone() };
        let mut total = self.logarithm_of_number(&magnitude)?;
        let mut inside = Vec::new();
        for (kernel, exponent) in &term.monomial.0 {
            if self.is_positive(*kernel) {
                let part = self.logarithm_of_positive(*kernel, *exponent)?;
                total = self.add(&total, &part)?;
            } else {
                inside.push((*kernel, *exponent));
            }
        }
        let rest = match inside.as_slice() {
            [] if is_negative => half_turns(Exponent::ONE),
            [] => return Ok(total),
            [(TURN, angle)] => {
                let angle = if is_negative { angle.plus(Exponent::integer(-1))? } else { *angle };
                half_turns(angle)
            }
            [(kernel, exponent)] if !is_negative => self.logarithm_of_power(*kernel, *exponent)?,
            _ => {
                let sign = if is_negative { -RBig::ONE } else { RBig::ONE };
                self.matched(Function::Ln, Poly::term(sign, Monomial(inside)))?
            }
        };
        self.add(&total, &rest)
    }

    fn logarithm_of_positive(&mut self, kernel: Kernel, exponent: Exponent) -> Result<Poly, Stop> {
        let logarithm = match self.kind(kernel) {
            KernelKind::Exp(inner) => Poly::term(RBig::ONE, inner.clone()),
            KernelKind::Prime(prime) => {
                let prime = Poly::constant(RBig::from(prime.clone()));
                self.element(KernelKind::Call(Function::Ln, Box::new([prime])))?
            }
            KernelKind::Group(inner) => {
                let inner = inner.clone();
                self.logarithm(&inner)?
            }
            KernelKind::Turn
            | KernelKind::Pi
            | KernelKind::Symbol(_)
            | KernelKind::Abs(..)
            | KernelKind::Call(..)
            | KernelKind::Apply(..)
            | KernelKind::Opaque(_) => {
                let inner = Poly::term(RBig::ONE, Monomial::of(kernel, Exponent::ONE));
                self.matched(Function::Ln, inner)?
            }
        };
        self.scale(&logarithm, &exponent.to_rational())
    }

    /// Returns the logarithm of a power of a kernel that need not be positive.
    fn logarithm_of_power(&mut self, kernel: Kernel, exponent: Exponent) -> Result<Poly, Stop> {
        let is_even = exponent.is_integer() && exponent.above() % 2 == 0;
        if is_even && let Some(magnitude) = self.absolute_kernel(kernel)? {
            let logarithm = self.matched(Function::Ln, magnitude)?;
            return self.scale(&logarithm, &exponent.to_rational());
        }
        // Odd powers have the sign of the kernel: where one side is a real number, both are.
        let is_odd = exponent.is_integer() && exponent.above() % 2 != 0;
        let is_short = !exponent.is_negative() && exponent <= Exponent::ONE || is_odd;
        let own = if is_short { Exponent::ONE } else { exponent };
        let inner = match self.kind(kernel).group() {
            Some(inner) if own == Exponent::ONE => inner.clone(),
            Some(_) | None => Poly::term(RBig::ONE, Monomial::of(kernel, own)),
        };
        let logarithm = self.matched(Function::Ln, inner)?;
        let times = if is_short { exponent.to_rational() } else { RBig::ONE };
        self.scale(&logarithm, &times)
    }

    fn logarithm_of_sum(&mut self, poly: &Poly) -> Result<Poly, Stop> {
        if !self.is_constant(poly) {
            return self.matched(Function::Ln, poly.clone());
        }
        if let Some(sign) = self.sign(poly)? {
            return match sign {
                std::cmp::Ordering::Equal => Err(Stop::Undefined),
                std::cmp::Ordering::Greater => self.matched_logarithm(poly.clone()),
                std::cmp::Ordering::Less => {
                    let inside = self.matched_logarithm(poly.clone().negated())?;
                    let turn = half_turns(Exponent::ONE);
                    self.add(&inside, &turn)
                }
            };
        }
        self.matched(Function::Ln, poly.clone())
    }

    /// Returns the logarithm of a positive constant: a multiple of one that is there already, where
    /// their product or quotient is rational.
    fn matched_logarithm(&mut self, poly: Poly) -> Result<Poly, Stop> {
        let known: Vec<(Kernel, Poly)> = self
            .kinds()
            .filter_map(|(kernel, kind)| match kind.call()? {
                (Function::Ln, [argument]) if argument.len() > 1 => {
                    Some((kernel, argument.clone()))
                }
                _ => None,
            })
            .collect();
        for (kernel, other) in known.into_iter().rev().take(8) {
            if other == poly || !self.is_number(&other) || !self.is_number(&poly) {
                continue;
            }
            let logarithm = Poly::term(RBig::ONE, Monomial::of(kernel, Exponent::ONE));
            let inverse = self.inverse(&other)?;
            for (factor, times) in [(other.clone(), -1), (inverse, 1)] {
                let mut rest = poly.clone();
                for step in 1..=3i64 {
                    rest = self.multiply(&rest, &factor)?;
                    if let Some(value) = rest.rational() {
                        let outside = self.logarithm_of_number(&value)?;
                        let inside = self.scale(&logarithm, &RBig::from(times * step))?;
                        return self.add(&outside, &inside);
                    }
                }
            }
        }
        self.matched(Function::Ln, poly)
    }

    /// Builds trigonometric and hyperbolic functions.
    pub(super) fn circular(&mut self, function: Function, argument: &Poly) -> Result<Poly, Stop> {
        use Function as F;
        let is_hyperbolic =
            matches!(function, F::Sinh | F::Cosh | F::Tanh | F::Coth | F::Sech | F::Csch);
        let unit = self.imaginary();
        let angle = if is_hyperbolic { argument.clone() } else { self.multiply(&unit, argument)? };
        let forth = self.exponential(&angle)?;
        let back = self.exponential(&angle.negated())?;
        let half = RBig::from_parts(1.into(), 2u8.into());
        let sum = self.add(&forth, &back)?;
        let even = self.scale(&sum, &half)?;
        let difference = self.subtract(&forth, &back)?;
        let mut odd = self.scale(&difference, &half)?;
        if !is_hyperbolic {
            odd = self.multiply(&odd, &unit)?.negated();
        }
        if matches!(function, F::Sin | F::Sinh) {
            Ok(odd)
        } else if matches!(function, F::Cos | F::Cosh) {
            Ok(even)
        } else if matches!(function, F::Tan | F::Tanh) {
            self.divide(&odd, &even)
        } else if matches!(function, F::Cot | F::Coth) {
            self.divide(&even, &odd)
        } else if matches!(function, F::Sec | F::Sech) {
            self.inverse(&even)
        } else {
            self.inverse(&odd)
        }
    }

    /// Returns `left / right`.
    pub(super) fn divide(&mut self, left: &Poly, right: &Poly) -> Result<Poly, Stop> {
        let inverse = self.inverse(right)?;
        self.times(left, &inverse)
    }

    /// Runs a rule one level deeper in the rules of functions.
    pub(super) fn deeper<T>(
        &mut self,
        rule: impl FnOnce(&mut Self) -> Result<T, Stop>,
    ) -> Result<T, Stop> {
        if self.depth >= MAX_RULE_DEPTH {
            return Err(Stop::Costly);
        }
        self.depth += 1;
        let result = rule(self);
        self.depth -= 1;
        result
    }

    /// Returns the arguments of exponentials with fractions that can be split: `x/(x+1)` is
    /// `1 - 1/(x+1)`.
    fn without_shared_fractions(&mut self, poly: &Poly) -> Result<Poly, Stop> {
        let mut poly = poly.clone();
        for kernel in poly.kernels() {
            let KernelKind::Group(inner) = self.kind(kernel) else {
                continue;
            };
            let inner = inner.clone();
            poly = self.reduced(&poly, kernel, &inner)?;
        }
        Ok(poly)
    }

    /// Replaces the leading monomial of `group` over the group by what it leaves.
    fn reduced(&mut self, poly: &Poly, kernel: Kernel, group: &Poly) -> Result<Poly, Stop> {
        let Some(leading) = group.0.first() else {
            return Ok(poly.clone());
        };
        let group_element = Poly::term(RBig::ONE, Monomial::of(kernel, Exponent::ONE));
        let leading_element = Poly(vec![leading.clone()]);
        let rest = self.subtract(&leading_element, group)?;
        let replacement = self.add(&group_element, &rest)?;
        let mut settled = Vec::new();
        let mut open = poly.0.clone();
        while let Some(term) = open.pop() {
            self.spend(1)?;
            let own = term.monomial.exponent(kernel);
            let is_divisible = own.is_integer()
                && own.is_negative()
                && leading.monomial.0.iter().all(|(part, power)| {
                    !power.is_negative() && term.monomial.exponent(*part) >= *power
                });
            if !is_divisible || leading.monomial.is_one() {
                settled.push(term);
                continue;
            }
            let inverse = leading.monomial.power(Exponent::integer(-1))?;
            let quotient = Poly::term(
                &term.coefficient / &leading.coefficient,
                term.monomial.times(&inverse)?,
            );
            open.append(&mut self.multiply(&quotient, &replacement)?.0);
        }
        self.collected(settled)
    }
}

/// Returns `i pi times`.
fn half_turns(times: Exponent) -> Poly {
    let monomial = Monomial(vec![(TURN, Exponent::HALF), (PI, Exponent::ONE)]);
    Poly::term(times.to_rational(), monomial)
}
