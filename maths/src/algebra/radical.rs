//! Roots: principal ones, and real ones where the index is odd.

use std::cmp::Ordering;

use dashu::base::{BitTest, Signed};
use dashu::integer::UBig;
use dashu::rational::RBig;

use super::exact::{bits, integer_root};
use super::exponent::Exponent;
use super::poly::{Kernel, Monomial, Poly, Term};
use super::ring::{KernelKind, Ring, TURN, split_primes};
use super::stop::Stop;

/// Primes up to here are split off from radicands.
const MAX_PRIME: u32 = 10_000;

/// Branch of a root whose radicand may be negative.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Branch {
    /// The value of `exp(exponent ln(base))`.
    Principal,
    /// The real root of a real radicand, whose index is odd.
    Real,
}

impl Ring<'_, '_> {
    /// Returns `base^exponent`, where the exponent is no integer.
    pub(super) fn principal_root(&mut self, base: &Poly, exponent: Exponent) -> Result<Poly, Stop> {
        self.any_root(base, exponent, Branch::Principal)
    }

    /// Returns `root(radicand, index)`.
    pub(super) fn indexed_root(&mut self, radicand: &Poly, index: i64) -> Result<Poly, Stop> {
        let exponent = Exponent::new(1, i128::from(index))?;
        if index == 1 {
            return Ok(radicand.clone());
        }
        let is_real = index % 2 != 0 && self.is_real(radicand)?;
        let branch = if is_real { Branch::Real } else { Branch::Principal };
        self.any_root(radicand, exponent, branch)
    }

    fn any_root(&mut self, base: &Poly, exponent: Exponent, branch: Branch) -> Result<Poly, Stop> {
        if base.is_empty() {
            return if exponent.is_negative() { Err(Stop::Undefined) } else { Ok(Poly::default()) };
        }
        // In a function of real variables, a root with an odd index is the real one.
        let is_odd = exponent.below() % 2 != 0;
        let branch = if is_odd && !self.is_constant(base) && self.is_real(base)? {
            Branch::Real
        } else {
            branch
        };
        match base.single() {
            Some(term) => self.term_root(&term.clone(), exponent, branch),
            None => self.sum_root(base, exponent, branch),
        }
    }

    /// Returns `value^exponent`, the principal value.
    pub(super) fn number_root(&mut self, value: &RBig, exponent: Exponent) -> Result<Poly, Stop> {
        self.coefficient_root(value, exponent, Branch::Principal)
    }

    fn coefficient_root(
        &mut self,
        value: &RBig,
        exponent: Exponent,
        branch: Branch,
    ) -> Result<Poly, Stop> {
        let magnitude = if value.is_negative() { -value.clone() } else { value.clone() };
        let root = self.positive_root(&magnitude, exponent)?;
        if value.is_positive() {
            return Ok(root);
        }
        match branch {
            Branch::Principal => {
                let turn = self.turn(exponent)?;
                self.multiply(&root, &turn)
            }
            Branch::Real if exponent.above() % 2 == 0 => Ok(root),
            Branch::Real => Ok(root.negated()),
        }
    }

    /// Returns a positive number to a power, over primes.
    fn positive_root(&mut self, value: &RBig, exponent: Exponent) -> Result<Poly, Stop> {
        if value.is_one() {
            return Ok(Poly::one());
        }
        let mut root = Poly::one();
        let above = value.numerator().clone().into_parts().1;
        for (part, exponent) in
            [(above, exponent), (value.denominator().clone(), exponent.negated()?)]
        {
            for (base, times) in self.prime_powers(&part)? {
                let kernel = self.kernel(KernelKind::Prime(base))?;
                let times = Exponent::integer(i64::from(times)).times(exponent)?;
                let factor = self.factor(kernel, times)?;
                root = self.multiply(&root, &factor)?;
            }
        }
        Ok(root)
    }

    /// Returns the primes of a positive integer. A factor too large to split stands for itself, or
    /// for the number that it is a power of.
    pub(super) fn prime_powers(&mut self, value: &UBig) -> Result<Vec<(UBig, u32)>, Stop> {
        let words = u64::try_from(value.bit_len() / 64).unwrap_or(u64::MAX);
        let trials = if words == 0 && value.bit_len() < 40 { 4 } else { u64::from(MAX_PRIME) / 20 };
        self.spend(trials.saturating_mul(1 + words / 4))?;
        let (primes, rest) = split_primes(value, MAX_PRIME);
        let mut powers: Vec<(UBig, u32)> =
            primes.into_iter().map(|(prime, times)| (UBig::from(prime), times)).collect();
        if rest.is_one() {
            return Ok(powers);
        }
        self.spend(8 + super::stop::big(4 * bits(&RBig::from(rest.clone()))))?;
        let (mut rest, mut times) = (rest, 1u32);
        for index in [2u8, 3, 5, 7] {
            while let Some(root) = integer_root(&rest, usize::from(index)) {
                rest = root;
                times *= u32::from(index);
            }
        }
        powers.push((rest, times));
        Ok(powers)
    }

    /// Returns `e^{i pi exponent}`, over the reals where the angle is a multiple of 30 or 45
    /// degrees.
    pub(super) fn turn(&mut self, exponent: Exponent) -> Result<Poly, Stop> {
        let half_turns = exponent.floor();
        let angle = exponent.fraction();
        let is_negative = half_turns % 2 != 0;
        let minus = |value: Poly| if is_negative { value.negated() } else { value };
        let sine = |above: i64, below: i64| (above, below);
        let (real, imaginary) = match (angle.above(), angle.below()) {
            (0, _) => return Ok(minus(Poly::one())),
            (1, 2) => return Ok(minus(self.imaginary())),
            (1, 3) => (sine(1, 1), sine(1, 3)),
            (2, 3) => (sine(-1, 1), sine(1, 3)),
            (1, 4) => (sine(1, 2), sine(1, 2)),
            (3, 4) => (sine(-1, 2), sine(1, 2)),
            (1, 6) => (sine(1, 3), sine(1, 1)),
            (5, 6) => (sine(-1, 3), sine(1, 1)),
            _ => {
                let term = Term {
                    monomial: Monomial::of(TURN, angle),
                    coefficient: if is_negative { -RBig::ONE } else { RBig::ONE },
                };
                return Ok(Poly(vec![term]));
            }
        };
        let half = RBig::from_parts(1.into(), 2u8.into());
        let mut total = Poly::default();
        for ((sign, radicand), is_imaginary) in [(real, false), (imaginary, true)] {
            let root = self.positive_root(&RBig::from(radicand), Exponent::HALF)?;
            let mut part = self.scale(&root, &(&half * RBig::from(sign)))?;
            if is_imaginary {
                let unit = self.imaginary();
                part = self.multiply(&part, &unit)?;
            }
            total = self.add(&total, &part)?;
        }
        Ok(minus(total))
    }

    /// Returns a power of one term: factors that are never negative come out of the root.
    fn term_root(&mut self, term: &Term, exponent: Exponent, branch: Branch) -> Result<Poly, Stop> {
        let mut outside = Poly::one();
        let mut inside = Vec::new();
        for (kernel, own) in &term.monomial.0 {
            let (whole, rest) = self.root_of_factor(*kernel, *own, exponent, branch)?;
            outside = self.multiply(&outside, &whole)?;
            if !rest.is_zero() {
                inside.push((*kernel, rest));
            }
        }
        let is_negative = term.coefficient.is_negative();
        let magnitude =
            if is_negative { -term.coefficient.clone() } else { term.coefficient.clone() };
        let number = self.positive_root(&magnitude, exponent)?;
        outside = self.multiply(&outside, &number)?;
        let rest = match inside.as_slice() {
            [] if is_negative => self.coefficient_root(&-RBig::ONE, exponent, branch)?,
            [] => Poly::one(),
            [(TURN, angle)] => {
                let angle = if is_negative { angle.plus(Exponent::integer(-1))? } else { *angle };
                self.turn(angle.times(exponent)?)?
            }
            [(kernel, own)] if !is_negative && self.is_nested_power(*own) => {
                self.factor(*kernel, own.times(exponent)?)?
            }
            _ => {
                let sign = if is_negative { -RBig::ONE } else { RBig::ONE };
                let group = Poly::term(sign, Monomial(inside));
                let kernel = self.kernel(KernelKind::Group(group))?;
                self.factor(kernel, exponent)?
            }
        };
        self.multiply(&outside, &rest)
    }

    /// Returns whether `(k^own)^r = k^{own r}` for every `k` and every root.
    #[expect(clippy::unused_self, reason = "reads as a rule of the ring beside its kin")]
    fn is_nested_power(&self, own: Exponent) -> bool {
        !own.is_negative() && own <= Exponent::ONE
    }

    /// Returns what comes out of the root of `kernel^own`, and the power of it that stays inside.
    fn root_of_factor(
        &mut self,
        kernel: Kernel,
        own: Exponent,
        exponent: Exponent,
        branch: Branch,
    ) -> Result<(Poly, Exponent), Stop> {
        let is_multiplicative = branch == Branch::Real && own.is_integer() && kernel != TURN;
        if self.is_positive(kernel) || is_multiplicative {
            let whole = self.factor(kernel, own.times(exponent)?)?;
            return Ok((whole, Exponent::ZERO));
        }
        if !own.is_integer() || kernel == TURN {
            return Ok((Poly::one(), own));
        }
        let even = Exponent::integer(2 * own.above().div_euclid(2));
        let rest = own.plus(even.negated()?)?;
        if even.is_zero() {
            return Ok((Poly::one(), rest));
        }
        let Some(magnitude) = self.absolute_kernel(kernel)? else {
            return Ok((Poly::one(), own));
        };
        let whole = self.raised_magnitude(&magnitude, even.times(exponent)?)?;
        Ok((whole, rest))
    }

    /// Returns `|k|^exponent`, where `magnitude` is `|k|`.
    fn raised_magnitude(&mut self, magnitude: &Poly, exponent: Exponent) -> Result<Poly, Stop> {
        let term = magnitude.single().expect("the absolute value of a kernel is one term");
        let monomial = term.monomial.power(exponent)?;
        Ok(Poly(vec![self.settled(RBig::ONE, monomial)?]))
    }

    /// Returns `|kernel|` of a kernel that is real: one term with the coefficient 1.
    pub(super) fn absolute_kernel(&mut self, kernel: Kernel) -> Result<Option<Poly>, Stop> {
        let plain = Poly::term(RBig::ONE, Monomial::of(kernel, Exponent::ONE));
        if self.is_positive(kernel) {
            return Ok(Some(plain));
        }
        let conjugate = match self.kind(kernel) {
            KernelKind::Group(inner) => {
                let inner = inner.clone();
                let conjugate = self.conjugate(&inner)?;
                conjugate.map(|conjugate| (conjugate == inner, conjugate.negated() == inner))
            }
            KernelKind::Turn
            | KernelKind::Pi
            | KernelKind::Prime(_)
            | KernelKind::Symbol(_)
            | KernelKind::Exp(_)
            | KernelKind::Abs(..)
            | KernelKind::Call(..)
            | KernelKind::Apply(..)
            | KernelKind::Opaque(_) => self.conjugate(&plain)?.map(|other| (other == plain, false)),
        };
        match conjugate {
            Some((true, _)) => self.element(KernelKind::Abs(kernel, 1)).map(Some),
            Some((_, true)) => self.element(KernelKind::Abs(kernel, -1)).map(Some),
            Some(_) | None => Ok(None),
        }
    }

    /// Returns a power of a sum of two terms or more.
    fn sum_root(&mut self, base: &Poly, exponent: Exponent, branch: Branch) -> Result<Poly, Stop> {
        if self.is_constant(base) {
            return self.deeper(|ring| ring.constant_root(base, exponent, branch));
        }
        self.group_root(base, exponent, branch)
    }

    /// Returns a power of a constant sum: of a negative one, the sign comes out, so that roots
    /// under roots are positive.
    fn constant_root(
        &mut self,
        base: &Poly,
        exponent: Exponent,
        branch: Branch,
    ) -> Result<Poly, Stop> {
        match self.sign(base)? {
            Some(Ordering::Equal) if exponent.is_negative() => Err(Stop::Undefined),
            Some(Ordering::Equal) => Ok(Poly::default()),
            Some(Ordering::Less) => {
                let sign = self.coefficient_root(&-RBig::ONE, exponent, branch)?;
                let root = self.positive_constant_root(&base.clone().negated(), exponent)?;
                self.multiply(&sign, &root)
            }
            Some(Ordering::Greater) => self.positive_constant_root(base, exponent),
            None => match self.complex_square_root(base, exponent)? {
                Some(root) => Ok(root),
                None => self.group_root(base, exponent, branch),
            },
        }
    }

    fn positive_constant_root(&mut self, base: &Poly, exponent: Exponent) -> Result<Poly, Stop> {
        if exponent.below() == 2
            && let Some(root) = self.denested(base)?
        {
            return self.integer_power(&root, exponent.above());
        }
        let leading = base.0[0].coefficient.clone();
        let content = if leading.is_negative() { -leading } else { leading };
        let rest = self.scale(base, &(RBig::ONE / &content))?;
        let outside = self.positive_root(&content, exponent)?;
        let kernel = self.kernel(KernelKind::Group(rest))?;
        let root = self.factor(kernel, exponent)?;
        self.multiply(&outside, &root)
    }

    /// Returns `sqrt(a + b r)` as `sqrt((a + s)/2) ± sqrt((a - s)/2)`, where `a` and `b` are
    /// rational and `s`, the root of `a^2 - (b r)^2`, is too.
    fn denested(&mut self, base: &Poly) -> Result<Option<Poly>, Stop> {
        let [surd, rational] = base.0.as_slice() else {
            return Ok(None);
        };
        if !rational.monomial.is_one() || !self.is_number(base) {
            return Ok(None);
        }
        let surd_part = Poly(vec![surd.clone()]);
        let square = self.multiply(&surd_part, &surd_part)?;
        let Some(square) = square.rational() else {
            return Ok(None);
        };
        let a = rational.coefficient.clone();
        let rest = &a * &a - square;
        if rest.is_negative() {
            return Ok(None);
        }
        let Some(s) = self.exact().root(&rest, 2)? else {
            return Ok(None);
        };
        let half = |value: RBig| value / RBig::from(2u8);
        let first = self.number_root(&half(&a + &s), Exponent::HALF)?;
        let second = self.number_root(&half(&a - &s), Exponent::HALF)?;
        if surd.coefficient.is_negative() {
            return self.subtract(&first, &second).map(Some);
        }
        self.add(&first, &second).map(Some)
    }

    /// Returns the principal square root of a complex constant, by its length.
    fn complex_square_root(
        &mut self,
        base: &Poly,
        exponent: Exponent,
    ) -> Result<Option<Poly>, Stop> {
        if exponent.below() != 2 {
            return Ok(None);
        }
        let Some(conjugate) = self.conjugate(base)? else {
            return Ok(None);
        };
        let half = RBig::from_parts(1.into(), 2u8.into());
        let unit = self.imaginary();
        let sum = self.add(base, &conjugate)?;
        let real = self.scale(&sum, &half)?;
        let difference = self.subtract(base, &conjugate)?;
        let turned = self.multiply(&difference, &unit)?.negated();
        let Some(side) = self.sign(&turned)? else {
            return Ok(None);
        };
        let square = self.multiply(base, &conjugate)?;
        let length = self.raised(&square, &half)?;
        let mut root = Poly::default();
        for is_imaginary in [false, true] {
            let total = if is_imaginary {
                self.subtract(&length, &real)?
            } else {
                self.add(&length, &real)?
            };
            let halved = self.scale(&total, &half)?;
            let mut part = self.raised(&halved, &half)?;
            if is_imaginary {
                part = self.multiply(&part, &unit)?;
                part = if side == Ordering::Less { part.negated() } else { part };
            }
            root = self.add(&root, &part)?;
        }
        self.integer_power(&root, exponent.above()).map(Some)
    }

    fn group_root(
        &mut self,
        base: &Poly,
        exponent: Exponent,
        branch: Branch,
    ) -> Result<Poly, Stop> {
        let leading = base.0[0].coefficient.clone();
        let takes_sign = leading.is_negative() && branch == Branch::Real;
        let content = if leading.is_negative() && !takes_sign { -leading } else { leading };
        let (common, rest) = self.positive_content(base, &content)?;
        let number = self.coefficient_root(&content, exponent, branch)?;
        let outside = self.term_root(&common, exponent, branch)?;
        let outside = self.multiply(&outside, &number)?;
        if exponent.below() == 2
            && let Some(root) = self.square_root(&rest)?
        {
            let magnitude = self.absolute(&root)?;
            let power = self.integer_power(&magnitude, exponent.above())?;
            return self.multiply(&outside, &power);
        }
        let kernel = self.kernel(KernelKind::Group(rest))?;
        let root = self.factor(kernel, exponent)?;
        self.multiply(&outside, &root)
    }

    /// Returns the common factor of the terms that is never negative, with the coefficient 1, and
    /// the sum without it and without `content`.
    fn positive_content(&mut self, base: &Poly, content: &RBig) -> Result<(Term, Poly), Stop> {
        let mut common = Vec::new();
        for kernel in base.kernels() {
            if matches!(
                self.kind(kernel),
                KernelKind::Turn | KernelKind::Prime(_) | KernelKind::Abs(..)
            ) {
                continue;
            }
            let exponents = base.0.iter().map(|term| term.monomial.exponent(kernel));
            let mut least = exponents.min().unwrap_or(Exponent::ZERO);
            if !self.is_positive(kernel) {
                least = Exponent::integer(2 * least.floor().div_euclid(2));
            }
            if !least.is_zero() {
                common.push((kernel, least));
            }
        }
        let common = Monomial(common);
        let factor = Poly::term(RBig::ONE / content, common.power(Exponent::integer(-1))?);
        let rest = self.multiply(base, &factor)?;
        let term = Term { monomial: common, coefficient: RBig::ONE };
        Ok((term, rest))
    }

    /// Returns the sum whose square is `poly`, by its leading terms.
    fn square_root(&mut self, poly: &Poly) -> Result<Option<Poly>, Stop> {
        let half = |term: &Term| -> Result<Option<Term>, Stop> {
            let monomial = term.monomial.power(Exponent::HALF)?;
            Ok(monomial
                .0
                .iter()
                .all(|(_, own)| own.is_integer())
                .then_some(Term { monomial, coefficient: term.coefficient.clone() }))
        };
        if !poly.0[0].coefficient.is_one() || self.is_number(poly) {
            return Ok(None);
        }
        let Some(first) = half(&poly.0[0])? else {
            return Ok(None);
        };
        let twice = RBig::from(2u8);
        let inverse = first.monomial.power(Exponent::integer(-1))?;
        let mut root = Poly(vec![first]);
        let square = self.multiply(&root, &root)?;
        let mut rest = self.subtract(poly, &square)?;
        while let Some(leading) = rest.0.first() {
            if root.len() > poly.len() {
                return Ok(None);
            }
            let monomial = leading.monomial.times(&inverse)?;
            let next = Poly::term(&leading.coefficient / &twice, monomial);
            let doubled = self.scale(&root, &twice)?;
            let sum = self.add(&doubled, &next)?;
            let taken = self.multiply(&sum, &next)?;
            rest = self.subtract(&rest, &taken)?;
            root = self.add(&root, &next)?;
        }
        Ok(Some(root))
    }
}
