//! The zero test: whether a sum of terms is zero in spite of the relations between its kernels.

use std::cmp::Ordering;

use dashu::base::BitTest;

use super::exponent::Exponent;
use super::poly::{Kernel, Monomial, Poly, Term};
use super::ring::{KernelKind, PI, Ring, TURN};
use super::stop::Stop;
use crate::expr::Function;

/// Bits above which a factor of a radicand may be composite.
const MAX_PRIME_BITS: usize = 26;

/// The result of a zero test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Truth {
    Zero,
    /// Not the zero function.
    NonZero,
    Unknown,
}

impl Ring<'_, '_> {
    /// Decides whether `poly` is zero for all values of its variables.
    pub(super) fn vanishes(&mut self, poly: &Poly) -> Result<Truth, Stop> {
        if poly.is_empty() {
            return Ok(Truth::Zero);
        }
        if let Some(term) = poly.single() {
            return self.term_vanishes(&term.clone());
        }
        let cleared = self.cleared(poly)?;
        match self.vanishes_by_parts(&cleared)? {
            Truth::Unknown if self.has_forms(&cleared) && self.linear_forms_vanish(&cleared)? => {
                Ok(Truth::Zero)
            }
            truth @ (Truth::Zero | Truth::NonZero | Truth::Unknown) => Ok(truth),
        }
    }

    /// Tests a product of kernels, which is zero only if one of them is.
    fn term_vanishes(&mut self, term: &Term) -> Result<Truth, Stop> {
        for (kernel, _) in &term.monomial.0 {
            if let KernelKind::Group(inner) = self.kind(*kernel) {
                let inner = inner.clone();
                let truth = self.deeper(|ring| ring.vanishes(&inner))?;
                if truth != Truth::NonZero {
                    return Ok(truth);
                }
            }
        }
        let is_certain = self.are_independent(&Poly(vec![term.clone()]));
        Ok(if is_certain { Truth::NonZero } else { Truth::Unknown })
    }

    /// Returns the zero test of a sum whose groups are multiplied out: all coefficients must
    /// vanish.
    pub(super) fn vanishes_by_parts(&mut self, cleared: &Poly) -> Result<Truth, Stop> {
        let parts = self.parts(cleared)?;
        let mut truth = Truth::Zero;
        for (_, part) in &parts {
            match self.number_vanishes(part)? {
                Truth::Zero => {}
                Truth::NonZero if truth != Truth::Unknown => truth = Truth::NonZero,
                Truth::NonZero | Truth::Unknown => truth = Truth::Unknown,
            }
        }
        let is_certain = truth != Truth::NonZero || self.are_independent(cleared);
        Ok(if is_certain { truth } else { Truth::Unknown })
    }

    /// Returns whether logarithms or angles of numbers occur, between which there may be relations.
    fn has_forms(&self, poly: &Poly) -> bool {
        let mut factors = poly.0.iter().flat_map(|term| &term.monomial.0);
        factors.any(|(kernel, _)| {
            matches!(
                self.kind(*kernel),
                KernelKind::Call(Function::Ln | Function::Atan | Function::Asin, _)
            )
        })
    }

    /// Returns `poly` times powers of its groups, such that all groups with integer exponents are
    /// multiplied out.
    pub(super) fn cleared(&mut self, poly: &Poly) -> Result<Poly, Stop> {
        let mut poly = poly.clone();
        while let Some(kernel) = self.open_group(&poly) {
            let KernelKind::Group(inner) = self.kind(kernel) else {
                break;
            };
            let inner = inner.clone();
            poly = self.without_group(&poly, kernel, &inner)?;
        }
        Ok(poly)
    }

    /// Returns the youngest group with an exponent outside of [0, 1).
    fn open_group(&self, poly: &Poly) -> Option<Kernel> {
        let factors = poly.0.iter().flat_map(|term| &term.monomial.0);
        let open = factors.filter(|(kernel, exponent)| {
            exponent.floor() != 0 && matches!(self.kind(*kernel), KernelKind::Group(_))
        });
        open.map(|(kernel, _)| *kernel).max()
    }

    /// Returns `poly` with one group multiplied out, whose exponents are natural numbers.
    pub(super) fn expanded_group(&mut self, poly: &Poly, kernel: Kernel) -> Result<Poly, Stop> {
        let Some(inner) = self.kind(kernel).group().cloned() else {
            return Ok(poly.clone());
        };
        self.without_group(poly, kernel, &inner)
    }

    /// Refuses a divisor that is zero by relations between its kernels.
    ///
    /// # Errors
    /// [`Stop::Undefined`] where it is zero.
    pub(super) fn refuse_hidden_zero(&mut self, poly: &Poly) -> Result<(), Stop> {
        let hides = poly.0.iter().flat_map(|term| &term.monomial.0).any(|(kernel, exponent)| {
            *kernel == TURN && *exponent != Exponent::HALF || self.kind(*kernel).group().is_some()
        });
        if hides && self.deeper(|ring| ring.vanishes(poly))? == Truth::Zero {
            return Err(Stop::Undefined);
        }
        Ok(())
    }

    fn without_group(&mut self, poly: &Poly, kernel: Kernel, inner: &Poly) -> Result<Poly, Stop> {
        self.spend(1 + poly.len() / 2)?;
        let mut buckets: Vec<(i64, Vec<Term>)> = Vec::new();
        for term in &poly.0 {
            let (mut monomial, exponent) = term.monomial.without(kernel);
            let rest = exponent.fraction();
            if !rest.is_zero() {
                monomial = monomial.times(&Monomial::of(kernel, rest))?;
            }
            let term = Term { monomial, coefficient: term.coefficient.clone() };
            let bucket = buckets.iter_mut().find(|(power, _)| *power == exponent.floor());
            if let Some((_, bucket)) = bucket {
                bucket.push(term);
                continue;
            }
            self.spend(1 + u64::try_from(buckets.len()).unwrap_or(u64::MAX) / 8)?;
            buckets.push((exponent.floor(), vec![term]));
        }
        buckets.sort_by_key(|(power, _)| std::cmp::Reverse(*power));
        let least = buckets.last().map_or(0, |(power, _)| *power).min(0);
        let mut result = Poly::default();
        let mut at = buckets.first().map_or(0, |(power, _)| *power);
        for (power, bucket) in buckets {
            result = self.times_power(&result, inner, at.saturating_sub(power))?;
            result = self.add(&result, &Poly::collect(bucket))?;
            at = power;
        }
        self.times_power(&result, inner, at.saturating_sub(least.min(at)))
    }

    fn times_power(&mut self, poly: &Poly, base: &Poly, times: i64) -> Result<Poly, Stop> {
        if times == 0 || poly.is_empty() {
            return Ok(poly.clone());
        }
        // The result has at least so many terms, unless terms cancel.
        let times = u32::try_from(times).map_err(|_| Stop::Costly)?;
        if u64::from(times) > self.share.left() {
            return Err(Stop::Costly);
        }
        let power = self.expanded_power(base, times)?;
        self.multiply(poly, &power)
    }

    /// Returns the coefficients, which are numbers, of the products of all other kernels.
    pub(super) fn parts(&mut self, poly: &Poly) -> Result<Vec<(Monomial, Poly)>, Stop> {
        self.spend(1 + poly.len() / 2)?;
        let mut split: Vec<(Monomial, Term)> = Vec::with_capacity(poly.0.len());
        for term in &poly.0 {
            let (numbers, others): (Vec<_>, Vec<_>) = term
                .monomial
                .0
                .iter()
                .copied()
                .partition(|(kernel, _)| self.is_algebraic_kernel(*kernel));
            let term = Term { monomial: Monomial(numbers), coefficient: term.coefficient.clone() };
            split.push((Monomial(others), term));
        }
        split.sort_by(|a, b| b.0.cmp(&a.0));
        let mut parts: Vec<(Monomial, Poly)> = Vec::new();
        for (monomial, term) in split {
            match parts.last_mut() {
                Some((last, part)) if *last == monomial => part.0.push(term),
                Some(_) | None => parts.push((monomial, Poly(vec![term]))),
            }
        }
        for (_, part) in &mut parts {
            *part = Poly::collect(std::mem::take(&mut part.0));
        }
        Ok(parts)
    }

    /// Decides whether a number over roots is zero.
    pub(super) fn number_vanishes(&mut self, poly: &Poly) -> Result<Truth, Stop> {
        if poly.is_empty() {
            return Ok(Truth::Zero);
        }
        if self.is_canonical_number(poly) {
            return Ok(Truth::NonZero);
        }
        let mut real = Vec::new();
        let mut imaginary = Vec::new();
        for term in &poly.0 {
            let (monomial, angle) = term.monomial.without(TURN);
            let term = Term { monomial, coefficient: term.coefficient.clone() };
            if angle.is_zero() {
                real.push(term);
            } else if angle == Exponent::HALF {
                imaginary.push(term);
            } else {
                return self.roots_of_unity_vanish(poly);
            }
        }
        let mut truth = Truth::Zero;
        for terms in [real, imaginary] {
            let part = Poly::collect(terms);
            match self.deeper(|ring| ring.real_vanishes(&part))? {
                Truth::Zero => {}
                Truth::NonZero => return Ok(Truth::NonZero),
                Truth::Unknown => truth = Truth::Unknown,
            }
        }
        Ok(truth)
    }

    /// Decides whether a real number with nested roots is zero: the youngest of them is eliminated
    /// by its conjugates, and the signs tell which conjugate it was that vanished.
    fn real_vanishes(&mut self, poly: &Poly) -> Result<Truth, Stop> {
        let poly = self.cleared(poly)?;
        if poly.is_empty() {
            return Ok(Truth::Zero);
        }
        if self.is_canonical_number(&poly) {
            return Ok(Truth::NonZero);
        }
        let mut groups = poly
            .kernels()
            .into_iter()
            .rev()
            .filter(|kernel| matches!(self.kind(*kernel), KernelKind::Group(_)));
        let Some(kernel) = groups.next() else {
            return Ok(Truth::Unknown);
        };
        // Away from zero, a few digits decide.
        if let Some(Ordering::Less | Ordering::Greater) = self.ball_sign(&poly, 128)? {
            return Ok(Truth::NonZero);
        }
        let mut index = 1i64;
        for term in &poly.0 {
            let below = term.monomial.exponent(kernel).below();
            let step = Exponent::new(i128::from(below), i128::from(index))?.above();
            index = index.checked_mul(step).ok_or(Stop::Costly)?;
        }
        match (index % 2, index % 3) {
            (0, _) => {
                let [even, odd, _] = self.classes(&poly, kernel, index, 2)?;
                self.square_vanishes(&even, &odd)
            }
            (_, 0) => {
                let classes = self.classes(&poly, kernel, index, 3)?;
                self.cube_vanishes(&classes)
            }
            _ => Ok(Truth::Unknown),
        }
    }

    /// Returns the terms by the exponent of `kernel` in units of `1/index`, modulo `modulus`.
    #[expect(clippy::unused_self, reason = "reads as a step of the zero test beside its kin")]
    fn classes(
        &self,
        poly: &Poly,
        kernel: Kernel,
        index: i64,
        modulus: i64,
    ) -> Result<[Poly; 3], Stop> {
        let mut classes = [Vec::new(), Vec::new(), Vec::new()];
        for term in &poly.0 {
            let exponent = term.monomial.exponent(kernel).times(Exponent::integer(index))?;
            let class = usize::try_from(exponent.above().rem_euclid(modulus));
            classes[class.expect("a class is small")].push(term.clone());
        }
        Ok(classes.map(Poly::collect))
    }

    /// Tests `even + odd = 0`: their squares are equal and their signs are not.
    fn square_vanishes(&mut self, even: &Poly, odd: &Poly) -> Result<Truth, Stop> {
        let a = self.multiply(even, even)?;
        let b = self.multiply(odd, odd)?;
        let norm = self.subtract(&a, &b)?;
        match self.deeper(|ring| ring.real_vanishes(&norm))? {
            Truth::Zero => {}
            other @ (Truth::NonZero | Truth::Unknown) => return Ok(other),
        }
        match (self.real_sign(even)?, self.real_sign(odd)?) {
            (Some(a), Some(b)) if a == b.reverse() => Ok(Truth::Zero),
            (Some(_), Some(_)) => Ok(Truth::NonZero),
            (None, _) | (_, None) => Ok(Truth::Unknown),
        }
    }

    /// Tests `a + b + c = 0` of the three classes of a cube root: `a^3 + b^3 + c^3 - 3abc` is
    /// zero, and not because all three are the same.
    fn cube_vanishes(&mut self, classes: &[Poly; 3]) -> Result<Truth, Stop> {
        let mut norm = Poly::default();
        for class in classes {
            let cube = self.expanded_power(class, 3)?;
            norm = self.add(&norm, &cube)?;
        }
        let [a, b, c] = classes;
        let pair = self.multiply(a, b)?;
        let triple = self.multiply(&pair, c)?;
        let triple = self.scale(&triple, &dashu::rational::RBig::from(3u8))?;
        norm = self.subtract(&norm, &triple)?;
        match self.deeper(|ring| ring.real_vanishes(&norm))? {
            Truth::Zero => {}
            other @ (Truth::NonZero | Truth::Unknown) => return Ok(other),
        }
        for (left, right) in [(a, b), (b, c)] {
            let difference = self.subtract(left, right)?;
            match self.deeper(|ring| ring.real_vanishes(&difference))? {
                Truth::Zero => {}
                Truth::NonZero => return Ok(Truth::Zero),
                Truth::Unknown => return Ok(Truth::Unknown),
            }
        }
        self.deeper(|ring| ring.real_vanishes(a))
    }

    /// Returns the sign of a real number over roots, proven.
    fn real_sign(&mut self, poly: &Poly) -> Result<Option<Ordering>, Stop> {
        match self.deeper(|ring| ring.real_vanishes(poly))? {
            Truth::Zero => Ok(Some(Ordering::Equal)),
            Truth::NonZero => self.ball_sign(poly, 1 << 14),
            Truth::Unknown => self.ball_sign(poly, 1 << 8),
        }
    }

    /// Returns the sign of a constant, if it is real and that is proven.
    pub(super) fn sign(&mut self, poly: &Poly) -> Result<Option<Ordering>, Stop> {
        if let Some(value) = poly.rational() {
            return Ok(Some(value.cmp(&dashu::rational::RBig::ZERO)));
        }
        if !self.is_algebraic(poly) {
            return self.transcendental_sign(poly);
        }
        if !self.is_real(poly)? {
            return Ok(None);
        }
        if poly.has(TURN) {
            return self.transcendental_sign(poly);
        }
        self.real_sign(poly)
    }

    /// Returns whether different sums of terms are different numbers: roots of primes and `i`.
    pub(super) fn is_canonical_number(&self, poly: &Poly) -> bool {
        let mut large: Option<Kernel> = None;
        poly.0.iter().flat_map(|term| &term.monomial.0).all(|(kernel, exponent)| {
            match self.kind(*kernel) {
                KernelKind::Turn => *exponent == Exponent::HALF,
                KernelKind::Prime(prime) => {
                    prime.bit_len() <= MAX_PRIME_BITS || *large.get_or_insert(*kernel) == *kernel
                }
                KernelKind::Pi
                | KernelKind::Symbol(_)
                | KernelKind::Exp(_)
                | KernelKind::Group(_)
                | KernelKind::Abs(..)
                | KernelKind::Call(..)
                | KernelKind::Apply(..)
                | KernelKind::Opaque(_) => false,
            }
        })
    }

    /// Returns whether it is built from roots of numbers and sums of such.
    pub(super) fn is_algebraic(&self, poly: &Poly) -> bool {
        let mut factors = poly.0.iter().flat_map(|term| &term.monomial.0);
        factors.all(|(kernel, _)| self.is_algebraic_kernel(*kernel))
    }

    fn is_algebraic_kernel(&self, kernel: Kernel) -> bool {
        match self.kind(kernel) {
            KernelKind::Turn | KernelKind::Prime(_) => true,
            KernelKind::Group(inner) => self.is_algebraic(inner),
            KernelKind::Pi
            | KernelKind::Symbol(_)
            | KernelKind::Exp(_)
            | KernelKind::Abs(..)
            | KernelKind::Call(..)
            | KernelKind::Apply(..)
            | KernelKind::Opaque(_) => false,
        }
    }

    /// Returns whether it has no variables and nothing unknown.
    pub(super) fn is_constant(&self, poly: &Poly) -> bool {
        let mut factors = poly.0.iter().flat_map(|term| &term.monomial.0);
        factors.all(|(kernel, _)| self.is_constant_kernel(*kernel))
    }

    fn is_constant_kernel(&self, kernel: Kernel) -> bool {
        match self.kind(kernel) {
            KernelKind::Turn | KernelKind::Pi | KernelKind::Prime(_) => true,
            KernelKind::Symbol(_) | KernelKind::Apply(..) | KernelKind::Opaque(_) => false,
            KernelKind::Exp(inner) => {
                inner.0.iter().all(|(kernel, _)| self.is_constant_kernel(*kernel))
            }
            KernelKind::Group(inner) => self.is_constant(inner),
            KernelKind::Abs(inner, _) => self.is_constant_kernel(*inner),
            KernelKind::Call(_, arguments) => arguments.iter().all(|poly| self.is_constant(poly)),
        }
    }

    /// Returns whether no polynomial relation holds between the kernels that are no numbers:
    /// variables, exponentials of different monomials in variables, and one transcendental
    /// constant.
    fn are_independent(&self, poly: &Poly) -> bool {
        let mut constants = 0;
        let kernels = poly.kernels();
        let are_known = kernels.iter().all(|kernel| match self.kind(*kernel) {
            KernelKind::Turn | KernelKind::Prime(_) | KernelKind::Symbol(_) => true,
            KernelKind::Pi => {
                constants += 1;
                true
            }
            KernelKind::Exp(inner) => {
                let is_plain = inner.0.iter().all(|(kernel, exponent)| {
                    matches!(self.kind(*kernel), KernelKind::Turn | KernelKind::Prime(_))
                        || exponent.is_integer()
                            && matches!(self.kind(*kernel), KernelKind::Symbol(_) | KernelKind::Pi)
                });
                // Where the variable is an integer, `(-1)^n` has relations of its own.
                let is_turning = !inner.exponent(TURN).is_zero() && !inner.exponent(PI).is_zero();
                let has_variable = inner
                    .0
                    .iter()
                    .any(|(kernel, _)| matches!(self.kind(*kernel), KernelKind::Symbol(_)));
                if !has_variable {
                    constants += 1;
                }
                is_plain && !is_turning && (has_variable || inner.is_one())
            }
            KernelKind::Group(inner) => {
                let is_integral =
                    poly.0.iter().all(|term| term.monomial.exponent(*kernel).is_integer());
                self.is_algebraic(inner) || is_integral && self.are_independent(inner)
            }
            KernelKind::Abs(..)
            | KernelKind::Call(..)
            | KernelKind::Apply(..)
            | KernelKind::Opaque(_) => false,
        });
        are_known && constants <= 1
    }
}
