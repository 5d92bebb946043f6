//! Functions of arguments in normal form.

use std::cmp::Ordering;

use dashu::base::Signed;
use dashu::rational::RBig;

use super::exact::small;
use super::exponent::Exponent;
use super::poly::{Kernel, Monomial, Poly, Term};
use super::ring::{KernelKind, PI, Ring};
use super::stop::Stop;
use super::zero::Truth;
use crate::expr::{Function, Name};

/// The most factors that a shifted factorial is written with.
const MAX_SHIFT: i64 = 64;

impl Ring<'_, '_> {
    /// Returns `function(arguments)`, which are as many as it takes.
    pub(super) fn call(&mut self, function: Function, arguments: Vec<Poly>) -> Result<Poly, Stop> {
        let rationals: Option<Vec<RBig>> = arguments.iter().map(Poly::rational).collect();
        if let Some(values) = rationals
            && let Some(value) = self.exact().apply(function, &values)?
        {
            return Ok(Poly::constant(value));
        }
        self.deeper(|ring| ring.dispatch(function, arguments))
    }

    fn dispatch(&mut self, function: Function, arguments: Vec<Poly>) -> Result<Poly, Stop> {
        use Function as F;
        match (function, arguments.as_slice()) {
            (
                F::Sin
                | F::Cos
                | F::Tan
                | F::Cot
                | F::Sec
                | F::Csc
                | F::Sinh
                | F::Cosh
                | F::Tanh
                | F::Coth
                | F::Sech
                | F::Csch,
                [argument],
            ) => self.circular(function, argument),
            (F::Asin | F::Acos | F::Atan | F::Acot | F::Asec | F::Acsc, [argument]) => {
                self.inverse_circular(function, argument)
            }
            (F::Asinh | F::Acosh | F::Atanh, [argument]) => {
                self.inverse_hyperbolic(function, argument)
            }
            (F::Ln, [argument]) => self.logarithm(argument),
            (F::Log, [argument, base]) => {
                let above = self.logarithm(argument)?;
                let below = self.logarithm(base)?;
                self.divide(&above, &below)
            }
            (F::Root, [radicand, index]) => match index.rational().as_ref().and_then(small) {
                Some(0) => Err(Stop::Undefined),
                Some(index) if index > 0 => self.indexed_root(radicand, index),
                Some(_) | None => {
                    let exponent = self.inverse(index)?;
                    if let Some(exponent) = exponent.rational() {
                        return self.raised(radicand, &exponent);
                    }
                    let logarithm = self.logarithm(radicand)?;
                    let product = self.multiply(&exponent, &logarithm)?;
                    self.exponential(&product)
                }
            },
            (F::Abs, [argument]) => self.absolute(argument),
            (F::Sign, [argument]) => self.signum(argument),
            (F::Floor | F::Ceiling, [argument]) => self.rounded(function, argument),
            (F::Mod, [value, modulus]) => {
                let quotient = self.divide(value, modulus)?;
                let whole = self.rounded(F::Floor, &quotient)?;
                let product = self.times(&whole, modulus)?;
                self.subtract(value, &product)
            }
            (F::Max | F::Min, [_] | [_, _]) => self.extremum(function, arguments),
            (F::Min, _) => {
                let negated = arguments.into_iter().map(Poly::negated).collect();
                Ok(self.dispatch(F::Max, negated)?.negated())
            }
            (F::Max | F::Gcd | F::Lcm, _) => {
                let mut arguments = arguments;
                arguments.sort_by(Poly::order);
                arguments.dedup();
                self.matched_call(function, arguments)
            }
            (F::Factorial, [argument]) => self.factorial(argument),
            (F::Binomial, [upper, lower]) => self.binomial(upper, lower),
            (F::Permutations, [upper, lower]) => self.falling(upper, lower),
            (F::Re | F::Im | F::Conjugate | F::Arg, [argument]) => {
                self.complex_part(function, argument)
            }
            _ => self.matched_call(function, arguments),
        }
    }

    /// Returns a kernel for `function(argument)`; the one of an equal argument where there is one.
    pub(super) fn matched(&mut self, function: Function, argument: Poly) -> Result<Poly, Stop> {
        self.matched_call(function, vec![argument])
    }

    fn matched_call(&mut self, function: Function, arguments: Vec<Poly>) -> Result<Poly, Stop> {
        let known = self.kinds().filter_map(|(_, kind)| {
            let (other, values) = kind.call()?;
            (other == function).then(|| values.into())
        });
        let known = known.collect();
        let arguments = self.matched_arguments(known, arguments)?;
        self.element(KernelKind::Call(function, arguments))
    }

    /// Returns a kernel for an unknown function; the one of equal arguments where there is one.
    pub(super) fn unknown(&mut self, name: Name, arguments: Vec<Poly>) -> Result<Poly, Stop> {
        let known = self.kinds().filter_map(|(_, kind)| {
            let KernelKind::Apply(other, values) = kind else {
                return None;
            };
            (*other == name).then(|| values.clone())
        });
        let known = known.collect();
        let arguments = self.matched_arguments(known, arguments)?;
        self.element(KernelKind::Apply(name, arguments))
    }

    /// Returns the first of `known` that is proven equal to `arguments`, else those.
    fn matched_arguments(
        &mut self,
        known: Vec<Box<[Poly]>>,
        arguments: Vec<Poly>,
    ) -> Result<Box<[Poly]>, Stop> {
        for values in known {
            self.spend(1)?;
            if *values == *arguments {
                break;
            }
            if self.are_equal(&values, &arguments)? {
                return Ok(values);
            }
        }
        Ok(arguments.into())
    }

    /// Decides whether arguments that look different are proven equal. Only sums with groups or
    /// roots of unity have more than one look.
    fn are_equal(&mut self, left: &[Poly], right: &[Poly]) -> Result<bool, Stop> {
        if left.len() != right.len() {
            return Ok(false);
        }
        for (a, b) in left.iter().zip(right) {
            if a == b {
                continue;
            }
            let difference = self.subtract(a, b)?;
            let is_canonical = difference.kernels().into_iter().all(|kernel| {
                matches!(
                    self.kind(kernel),
                    KernelKind::Symbol(_) | KernelKind::Pi | KernelKind::Prime(_)
                )
            });
            if is_canonical || self.deeper(|ring| ring.vanishes(&difference))? != Truth::Zero {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns `|poly|`.
    pub(super) fn absolute(&mut self, poly: &Poly) -> Result<Poly, Stop> {
        if let Some(term) = poly.single() {
            let term = term.clone();
            return self.absolute_term(&term);
        }
        if poly.is_empty() {
            return Ok(Poly::default());
        }
        if self.is_constant(poly) {
            if let Some(sign) = self.sign(poly)? {
                return Ok(match sign {
                    Ordering::Equal => Poly::default(),
                    Ordering::Greater => poly.clone(),
                    Ordering::Less => poly.clone().negated(),
                });
            }
            // The root of a real number's square is its absolute value again, without end.
            if let Some(conjugate) = self.conjugate(poly)?.filter(|other| other != poly) {
                let square = self.multiply(poly, &conjugate)?;
                return self.raised(&square, &RBig::from_parts(1.into(), 2u8.into()));
            }
        }
        if self.is_positive_sum(poly) {
            return Ok(poly.clone());
        }
        let group = self.grouped_power(poly, 1)?;
        let term = group.single().expect("a group is one term").clone();
        self.absolute_term(&term)
    }

    fn absolute_term(&mut self, term: &Term) -> Result<Poly, Stop> {
        let magnitude = if term.coefficient.is_negative() {
            -term.coefficient.clone()
        } else {
            term.coefficient.clone()
        };
        let mut product = Poly::constant(magnitude);
        for (kernel, exponent) in &term.monomial.0 {
            if matches!(self.kind(*kernel), KernelKind::Turn) {
                continue;
            }
            let part = self.length(*kernel)?;
            let part = part.single().expect("absolute values of kernels are one term");
            let monomial = part.monomial.power(*exponent)?;
            let factor = Poly(vec![self.settled(RBig::ONE, monomial)?]);
            product = self.multiply(&product, &factor)?;
        }
        Ok(product)
    }

    /// Returns `|kernel|`.
    fn length(&mut self, kernel: Kernel) -> Result<Poly, Stop> {
        if let Some(length) = self.absolute_kernel(kernel)? {
            return Ok(length);
        }
        let inner = Poly::term(RBig::ONE, Monomial::of(kernel, Exponent::ONE));
        if let Some(unit) = self.unit_length(&inner)? {
            return Ok(unit);
        }
        self.matched(Function::Abs, inner)
    }

    /// Returns the length of a kernel whose product with its conjugate is 1.
    fn unit_length(&mut self, kernel: &Poly) -> Result<Option<Poly>, Stop> {
        let Some(conjugate) = self.conjugate(kernel)? else {
            return Ok(None);
        };
        let square = self.multiply(kernel, &conjugate)?;
        Ok(square.rational().filter(RBig::is_one).map(|_| Poly::one()))
    }

    fn signum(&mut self, poly: &Poly) -> Result<Poly, Stop> {
        if self.is_constant(poly)
            && let Some(sign) = self.sign(poly)?
        {
            return Ok(Poly::constant(direction(sign)));
        }
        let magnitude = self.absolute(poly)?;
        self.divide(&magnitude, poly)
    }

    /// Builds floor and ceiling, the latter as `-floor(-poly)`; integers come out.
    fn rounded(&mut self, function: Function, poly: &Poly) -> Result<Poly, Stop> {
        if function == Function::Ceiling {
            let floor = self.rounded(Function::Floor, &poly.clone().negated())?;
            return Ok(floor.negated());
        }
        let mut inner = poly.clone();
        let mut outside = Poly::default();
        if let Some(last) = inner.0.last_mut()
            && last.monomial.is_one()
        {
            let whole = RBig::from(last.coefficient.floor());
            last.coefficient -= &whole;
            outside = Poly::constant(whole);
            if last.coefficient.is_zero() {
                inner.0.pop();
            }
        }
        if inner.is_empty() {
            return Ok(outside);
        }
        if self.is_constant(&inner)
            && let Some(whole) = self.integer_part(&inner)?
        {
            return self.add(&outside, &Poly::constant(whole));
        }
        let kernel = self.matched(Function::Floor, inner)?;
        self.add(&outside, &kernel)
    }

    /// Returns `max(a, b) = (a + b + |a - b|) / 2`, and so on from the left.
    fn extremum(&mut self, function: Function, arguments: Vec<Poly>) -> Result<Poly, Stop> {
        let mut result: Option<Poly> = None;
        for argument in arguments {
            result = Some(match result {
                None => argument,
                Some(other) => {
                    let difference = self.subtract(&other, &argument)?;
                    let distance = self.absolute(&difference)?;
                    let sum = self.add(&other, &argument)?;
                    let total = if function == Function::Max {
                        self.add(&sum, &distance)?
                    } else {
                        self.subtract(&sum, &distance)?
                    };
                    self.scale(&total, &RBig::from_parts(1.into(), 2u8.into()))?
                }
            });
        }
        Ok(result.unwrap_or_default())
    }

    /// Returns `(u + k)!` as a product with `u!`, where `k` is an integer.
    fn factorial(&mut self, poly: &Poly) -> Result<Poly, Stop> {
        let shift = match poly.0.last() {
            Some(last) if last.monomial.is_one() => last.coefficient.floor(),
            Some(_) | None => dashu::integer::IBig::ZERO,
        };
        let count = i64::try_from(&shift).ok().filter(|count| count.abs() <= MAX_SHIFT);
        let Some(count) = count else {
            return self.matched(Function::Factorial, poly.clone());
        };
        let base = self.subtract(poly, &Poly::constant(RBig::from(shift)))?;
        let kernel = self.matched(Function::Factorial, base.clone())?;
        let (first, last) = if count >= 0 { (1, count) } else { (count + 1, 0) };
        let mut product = Poly::one();
        for step in first..=last {
            let factor = self.add(&base, &Poly::constant(RBig::from(step)))?;
            product = self.times(&product, &factor)?;
        }
        if count >= 0 { self.times(&kernel, &product) } else { self.divide(&kernel, &product) }
    }

    fn binomial(&mut self, upper: &Poly, lower: &Poly) -> Result<Poly, Stop> {
        let falling = self.falling(upper, lower)?;
        let below = self.call(Function::Factorial, vec![lower.clone()])?;
        self.divide(&falling, &below)
    }

    /// Returns `upper! / (upper - lower)!`.
    fn falling(&mut self, upper: &Poly, lower: &Poly) -> Result<Poly, Stop> {
        let rest = self.subtract(upper, lower)?;
        if let Some(count) = lower.rational().as_ref().and_then(small)
            && (0..=MAX_SHIFT).contains(&count)
        {
            let mut product = Poly::one();
            for step in 0..count {
                let factor = self.subtract(upper, &Poly::constant(RBig::from(step)))?;
                product = self.times(&product, &factor)?;
            }
            return Ok(product);
        }
        let above = self.call(Function::Factorial, vec![upper.clone()])?;
        let below = self.call(Function::Factorial, vec![rest])?;
        self.divide(&above, &below)
    }

    fn complex_part(&mut self, function: Function, poly: &Poly) -> Result<Poly, Stop> {
        let Some(conjugate) = self.conjugate(poly)? else {
            return self.matched(function, poly.clone());
        };
        let half = RBig::from_parts(1.into(), 2u8.into());
        if function == Function::Conjugate {
            return Ok(conjugate);
        }
        if function == Function::Arg {
            return self.argument(poly, &conjugate);
        }
        if function == Function::Re {
            let sum = self.add(poly, &conjugate)?;
            return self.scale(&sum, &half);
        }
        let difference = self.subtract(poly, &conjugate)?;
        let scaled = self.scale(&difference, &half)?;
        let unit = self.imaginary();
        Ok(self.multiply(&scaled, &unit)?.negated())
    }

    /// Returns the angle of a complex constant.
    fn argument(&mut self, poly: &Poly, conjugate: &Poly) -> Result<Poly, Stop> {
        if !self.is_constant(poly) {
            return self.matched(Function::Arg, poly.clone());
        }
        let real = self.add(poly, conjugate)?;
        let difference = self.subtract(poly, conjugate)?;
        let unit = self.imaginary();
        let imaginary = self.multiply(&difference, &unit)?.negated();
        let (Some(x), Some(y)) = (self.sign(&real)?, self.sign(&imaginary)?) else {
            return self.matched(Function::Arg, poly.clone());
        };
        let pi = Poly::term(RBig::ONE, Monomial::of(PI, Exponent::ONE));
        let half = direction(y) / RBig::from(2u8);
        let shift = match (x, y) {
            (Ordering::Equal, Ordering::Equal) => return Err(Stop::Undefined),
            (Ordering::Equal, _) => return self.scale(&pi, &half),
            (Ordering::Greater, _) => RBig::ZERO,
            (Ordering::Less, Ordering::Less) => -RBig::ONE,
            (Ordering::Less, Ordering::Equal | Ordering::Greater) => RBig::ONE,
        };
        let slope = self.divide(&imaginary, &real)?;
        let angle = self.inverse_circular(Function::Atan, &slope)?;
        let shift = self.scale(&pi, &shift)?;
        self.add(&angle, &shift)
    }
}

/// Returns 1, 0 or -1.
fn direction(sign: Ordering) -> RBig {
    match sign {
        Ordering::Less => -RBig::ONE,
        Ordering::Equal => RBig::ZERO,
        Ordering::Greater => RBig::ONE,
    }
}
