//! The ring in which both sides of a comparison are put into normal form.
//!
//! An element is a sum of terms with rational coefficients; a term is a product of rational powers
//! of *kernels*. Exponents may be negative, so quotients by single terms need nothing more; a
//! quotient by a longer sum is a negative power of a [`KernelKind::Group`], which the zero test
//! clears. Powers of one kernel are principal powers: `k^a k^b = k^{a+b}` holds for them always.

use dashu::base::BitTest;
use dashu::integer::UBig;
use dashu::rational::RBig;
use indexmap::IndexSet;

use super::exact::{ExactEvaluator, bits};
use super::exponent::Exponent;
use super::poly::{Kernel, Monomial, Poly, Term};
use super::stop::{Share, Stop, big};
use crate::calculus::ZeroTest;
use crate::expr::{Expr, Function, Name, Workspace};
use crate::proof::Assumptions;

/// The meaning of a kernel.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum KernelKind {
    /// `e^{i pi}`, exponents in (0, 1): `i` is its square root.
    Turn,
    Pi,
    /// A prime number, or a factor of a radicand that was too large to split; exponents in (0, 1).
    Prime(UBig),
    Symbol(Name),
    /// `e` to the power of a monomial, which does not belong to a constant multiple.
    Exp(Monomial),
    /// A sum of two terms or more, or a single term that must not be split under a root.
    Group(Poly),
    /// The absolute value of a kernel whose square is the kernel's times the sign.
    Abs(Kernel, i8),
    /// A function whose arguments are in normal form.
    Call(Function, Box<[Poly]>),
    /// An unknown function.
    Apply(Name, Box<[Poly]>),
    /// A sum, product, integral or limit without a closed form.
    Opaque(Expr),
}

impl KernelKind {
    /// Returns the sum of a group.
    pub(super) fn group(&self) -> Option<&Poly> {
        if let Self::Group(inner) = self { Some(inner) } else { None }
    }

    /// Returns a function and its arguments.
    pub(super) fn call(&self) -> Option<(Function, &[Poly])> {
        if let Self::Call(function, arguments) = self { Some((*function, arguments)) } else { None }
    }
}

/// `e^{i pi}`.
pub(super) const TURN: Kernel = 0;
/// The ratio of a circle's circumference to its diameter.
pub(super) const PI: Kernel = 1;

/// Seeded by chance, against texts made to collide; no result depends on it.
type Hasher = foldhash::fast::RandomState;

/// Kernels, and the fuel that one attempt may use.
#[derive(Debug)]
pub(super) struct Ring<'r, 'f> {
    pub(super) ws: &'r mut Workspace<'f>,
    kinds: IndexSet<KernelKind, Hasher>,
    pub(super) assumptions: Assumptions,
    pub(super) share: Share,
    pub(super) is_zero: ZeroTest,
    /// Levels of functions and roots that are being worked on, against loops between their rules.
    pub(super) depth: u16,
    /// Sums, products, integrals and limits that the expression at hand stands in.
    pub(super) scope: u16,
}

impl<'r, 'f> Ring<'r, 'f> {
    pub(super) fn new(
        ws: &'r mut Workspace<'f>,
        assumptions: Assumptions,
        share: Share,
        is_zero: ZeroTest,
    ) -> Self {
        let mut kinds = IndexSet::with_capacity_and_hasher(8, Hasher::default());
        kinds.insert(KernelKind::Turn);
        kinds.insert(KernelKind::Pi);
        Self { ws, kinds, assumptions, share, is_zero, depth: 0, scope: 0 }
    }

    pub(super) fn spend(&mut self, units: u64) -> Result<(), Stop> {
        self.share.spend(self.ws.fuel, units)
    }

    /// Returns rational arithmetic on the same share.
    pub(super) fn exact(&mut self) -> ExactEvaluator<'_, 'f> {
        ExactEvaluator { ws: &mut *self.ws, share: &mut self.share }
    }

    /// Returns the kernel of `kind`: the same one for equal kinds.
    pub(super) fn kernel(&mut self, kind: KernelKind) -> Result<Kernel, Stop> {
        self.spend(1)?;
        let (index, _) = self.kinds.insert_full(kind);
        Ok(Kernel::try_from(index).expect("fuel bounds the kernels"))
    }

    pub(super) fn kind(&self, kernel: Kernel) -> &KernelKind {
        let index = usize::try_from(kernel).expect("an index fits");
        self.kinds.get_index(index).expect("kernels are indices of their ring")
    }

    /// Returns all kernels so far.
    pub(super) fn kinds(&self) -> impl Iterator<Item = (Kernel, &KernelKind)> {
        (0..).zip(self.kinds.iter())
    }

    /// Returns `kernel^exponent`.
    pub(super) fn factor(&mut self, kernel: Kernel, exponent: Exponent) -> Result<Poly, Stop> {
        if exponent.is_zero() {
            return Ok(Poly::one());
        }
        let term = self.settled(RBig::ONE, Monomial::of(kernel, exponent))?;
        Ok(Poly(vec![term]))
    }

    /// Returns a kernel as an element.
    pub(super) fn element(&mut self, kind: KernelKind) -> Result<Poly, Stop> {
        let kernel = self.kernel(kind)?;
        Ok(Poly::term(RBig::ONE, Monomial::of(kernel, Exponent::ONE)))
    }

    /// Returns the imaginary unit.
    #[expect(clippy::unused_self, reason = "reads as an element of the ring beside its kin")]
    pub(super) fn imaginary(&self) -> Poly {
        Poly::term(RBig::ONE, Monomial::of(TURN, Exponent::HALF))
    }

    pub(super) fn add(&mut self, left: &Poly, right: &Poly) -> Result<Poly, Stop> {
        self.spend((left.len() + right.len()) / 4 + big(left.bits() + right.bits()))?;
        let terms = left.0.iter().chain(&right.0).cloned().collect();
        self.collected(terms)
    }

    /// Returns the sum of `terms`, paid for by what the coefficients grow to.
    pub(super) fn collected(&mut self, terms: Vec<Term>) -> Result<Poly, Stop> {
        Poly::collect_paid(terms, |left, right| self.spend(big(bits(left) + bits(right))))
    }

    pub(super) fn subtract(&mut self, left: &Poly, right: &Poly) -> Result<Poly, Stop> {
        self.add(left, &right.clone().negated())
    }

    pub(super) fn scale(&mut self, poly: &Poly, factor: &RBig) -> Result<Poly, Stop> {
        if factor.is_zero() {
            return Ok(Poly::default());
        }
        if factor.is_one() {
            return Ok(poly.clone());
        }
        let weight = 1 + big(poly.bits() + bits(factor));
        self.spend((1 + poly.len() / 2).saturating_mul(weight))?;
        let scaled = poly.0.iter().map(|term| Term {
            monomial: term.monomial.clone(),
            coefficient: &term.coefficient * factor,
        });
        Ok(Poly(scaled.collect()))
    }

    /// Returns the product, multiplied out.
    pub(super) fn multiply(&mut self, left: &Poly, right: &Poly) -> Result<Poly, Stop> {
        if left.is_empty() || right.is_empty() {
            return Ok(Poly::default());
        }
        if let Some(factor) = left.rational() {
            return self.scale(right, &factor);
        }
        if let Some(factor) = right.rational() {
            return self.scale(left, &factor);
        }
        let pairs = left.len().saturating_mul(right.len());
        let weight = 4 + width(left) + width(right) + big(left.bits() + right.bits());
        self.spend(pairs.saturating_mul(weight))?;
        let mut terms = Vec::with_capacity(left.0.len() * right.0.len());
        for a in &left.0 {
            for b in &right.0 {
                let monomial = a.monomial.times(&b.monomial)?;
                let coefficient = &a.coefficient * &b.coefficient;
                terms.push(self.settled(coefficient, monomial)?);
            }
        }
        self.collected(terms)
    }

    /// Returns `poly^times`, multiplied out.
    pub(super) fn expanded_power(&mut self, poly: &Poly, times: u32) -> Result<Poly, Stop> {
        let mut result = Poly::one();
        for bit in (0..u32::BITS - times.leading_zeros()).rev() {
            if !result.rational().is_some_and(|value| value.is_one()) {
                result = self.multiply(&result, &result)?;
            }
            if times >> bit & 1 == 1 {
                result = self.multiply(&result, poly)?;
            }
        }
        Ok(result)
    }

    /// Returns `coefficient * monomial` after the rules of its kernels.
    pub(super) fn settled(
        &mut self,
        mut coefficient: RBig,
        mut monomial: Monomial,
    ) -> Result<Term, Stop> {
        while let Some(place) = self.unsettled(&monomial) {
            let (kernel, exponent) = monomial.0.remove(place);
            match self.kind(kernel) {
                KernelKind::Turn => {
                    if exponent.floor() % 2 != 0 {
                        coefficient = -coefficient;
                    }
                }
                KernelKind::Prime(prime) => {
                    let prime = RBig::from(prime.clone());
                    let whole = exponent.floor();
                    let length = bits(&prime).saturating_mul(whole.unsigned_abs());
                    self.spend(1 + big(length.saturating_add(bits(&coefficient))))?;
                    let whole = isize::try_from(whole).map_err(|_| Stop::Costly)?;
                    coefficient *= prime.pow(whole);
                }
                KernelKind::Abs(inner, sign) => {
                    let (inner, is_negative) = (*inner, *sign < 0);
                    let pairs = exponent.floor().div_euclid(2);
                    if is_negative && pairs % 2 != 0 {
                        coefficient = -coefficient;
                    }
                    let whole = Exponent::new(2 * i128::from(pairs), 1)?;
                    let rest = exponent.plus(whole.negated()?)?;
                    if !rest.is_zero() {
                        monomial.0.insert(place, (kernel, rest));
                    }
                    monomial = monomial.times(&Monomial::of(inner, whole))?;
                    continue;
                }
                KernelKind::Pi
                | KernelKind::Symbol(_)
                | KernelKind::Exp(_)
                | KernelKind::Group(_)
                | KernelKind::Call(..)
                | KernelKind::Apply(..)
                | KernelKind::Opaque(_) => {}
            }
            if !exponent.is_integer() {
                monomial.0.insert(place, (kernel, exponent.fraction()));
            }
        }
        Ok(Term { monomial, coefficient })
    }

    /// Returns the place of a factor whose exponent lies outside of the range of its kernel.
    fn unsettled(&self, monomial: &Monomial) -> Option<usize> {
        monomial.0.iter().position(|(kernel, exponent)| match self.kind(*kernel) {
            KernelKind::Turn | KernelKind::Prime(_) => exponent.floor() != 0,
            KernelKind::Abs(..) => exponent.is_negative() || exponent.floor() >= 2,
            KernelKind::Pi
            | KernelKind::Symbol(_)
            | KernelKind::Exp(_)
            | KernelKind::Group(_)
            | KernelKind::Call(..)
            | KernelKind::Apply(..)
            | KernelKind::Opaque(_) => false,
        })
    }

    /// Returns the factor that all terms of a sum share: its leading coefficient and the least
    /// powers of its kernels. The rest begins with the coefficient 1.
    fn split(&mut self, poly: &Poly) -> Result<(Term, Poly), Stop> {
        self.spend(1 + poly.len().saturating_mul(1 + width(poly)))?;
        let mut common = Vec::new();
        for kernel in poly.kernels() {
            if matches!(
                self.kind(kernel),
                KernelKind::Turn | KernelKind::Prime(_) | KernelKind::Abs(..)
            ) {
                continue;
            }
            let exponents = poly.0.iter().map(|term| term.monomial.exponent(kernel));
            let least = exponents.min().unwrap_or(Exponent::ZERO);
            if !least.is_zero() {
                common.push((kernel, least));
            }
        }
        let common = Monomial(common);
        let leading = poly.0[0].coefficient.clone();
        let inverse = common.power(Exponent::integer(-1))?;
        let factor = Poly::term(RBig::ONE / &leading, inverse);
        let rest = self.multiply(poly, &factor)?;
        let term = Term { monomial: common, coefficient: leading };
        Ok((term, rest))
    }

    /// Returns `poly^times` of a sum with two terms or more as powers of a single kernel.
    pub(super) fn grouped_power(&mut self, poly: &Poly, times: i64) -> Result<Poly, Stop> {
        let (common, rest) = self.split(poly)?;
        let times = Exponent::integer(times);
        let kernel = self.kernel(KernelKind::Group(rest))?;
        let monomial = common.monomial.power(times)?.times(&Monomial::of(kernel, times))?;
        let power = self.exact().power(&common.coefficient, &times.to_rational())?;
        let power = power.expect("an integer power of a fraction is a fraction");
        let term = self.settled(power, monomial)?;
        Ok(Poly(vec![term]))
    }

    /// Returns `poly^times`.
    pub(super) fn integer_power(&mut self, poly: &Poly, times: i64) -> Result<Poly, Stop> {
        if times == 0 {
            return Ok(Poly::one());
        }
        if times == 1 {
            return Ok(poly.clone());
        }
        if poly.is_empty() {
            return if times > 0 { Ok(Poly::default()) } else { Err(Stop::Undefined) };
        }
        if let Some(term) = poly.single() {
            return self.single_power(term, times);
        }
        if times < 0 {
            let inverse = self.inverse(poly)?;
            let times = times.checked_neg().ok_or(Stop::Costly)?;
            return match inverse.single() {
                Some(term) => self.single_power(&term.clone(), times),
                None => self.integer_power(&inverse, times),
            };
        }
        let small = u32::try_from(times).ok();
        match small.filter(|times| self.is_worth_expanding(poly, *times)) {
            Some(times) => self.expanded_power(poly, times),
            None => self.grouped_power(poly, times),
        }
    }

    fn single_power(&mut self, term: &Term, times: i64) -> Result<Poly, Stop> {
        let exponent = Exponent::integer(times);
        let power = self.exact().power(&term.coefficient, &exponent.to_rational())?;
        let power = power.expect("an integer power of a fraction is a fraction");
        let monomial = term.monomial.power(exponent)?;
        Ok(Poly(vec![self.settled(power, monomial)?]))
    }

    /// Returns whether a power stays short: few terms to choose from, or numbers, whose powers
    /// collapse.
    fn is_worth_expanding(&self, poly: &Poly, times: u32) -> bool {
        if times <= 2 {
            return poly.len() <= 64;
        }
        if self.is_number(poly) {
            return times <= 4096 && poly.len() <= 8;
        }
        let mut count = 1u64;
        for step in 1..poly.len() {
            count = count.saturating_mul(u64::from(times) + step) / step;
            if count > 64 {
                return false;
            }
        }
        true
    }

    /// Returns whether it is built from roots of numbers alone.
    pub(super) fn is_number(&self, poly: &Poly) -> bool {
        let mut kernels = poly.0.iter().flat_map(|term| &term.monomial.0);
        kernels.all(|(kernel, _)| {
            matches!(self.kind(*kernel), KernelKind::Turn | KernelKind::Prime(_))
        })
    }

    /// Returns `1 / poly`.
    ///
    /// # Errors
    /// [`Stop::Undefined`] for zero.
    pub(super) fn inverse(&mut self, poly: &Poly) -> Result<Poly, Stop> {
        match poly.0.as_slice() {
            [] => Err(Stop::Undefined),
            [term] => self.single_power(&term.clone(), -1),
            [_, _, ..] => {
                if let Some(inverse) = self.rationalised_inverse(poly)? {
                    return Ok(inverse);
                }
                self.refuse_hidden_zero(poly)?;
                self.grouped_power(poly, -1)
            }
        }
    }

    /// Returns `1 / poly` of a number with square roots and cube roots of primes and `i`, without a
    /// root below the line.
    fn rationalised_inverse(&mut self, poly: &Poly) -> Result<Option<Poly>, Stop> {
        if !self.is_number(poly) || poly.len() > 8 {
            return Ok(None);
        }
        let mut above = Poly::one();
        let mut below = poly.clone();
        while let Some(kernel) = below.kernels().last().copied() {
            let Some(conjugate) = self.other_conjugates(&below, kernel)? else {
                return Ok(None);
            };
            above = self.multiply(&above, &conjugate)?;
            below = self.multiply(&below, &conjugate)?;
            if below.is_empty() {
                return Ok(None);
            }
            if below.has(kernel) || below.len() > 16 {
                return Ok(None);
            }
        }
        let Some(below) = below.rational() else {
            return Ok(None);
        };
        self.scale(&above, &(RBig::ONE / below)).map(Some)
    }

    /// Returns what to multiply by so that `kernel`, which has halves or thirds as exponents, drops
    /// out.
    fn other_conjugates(&mut self, poly: &Poly, kernel: Kernel) -> Result<Option<Poly>, Stop> {
        let index = poly.0.iter().map(|term| term.monomial.exponent(kernel).below()).max();
        let has_others = |index: i64| {
            poly.0.iter().any(|term| index % term.monomial.exponent(kernel).below() != 0)
        };
        match index {
            Some(2) if !has_others(2) => {
                let flipped = poly.0.iter().map(|term| {
                    let is_even = term.monomial.exponent(kernel).is_zero();
                    let coefficient = term.coefficient.clone();
                    Term {
                        monomial: term.monomial.clone(),
                        coefficient: if is_even { coefficient } else { -coefficient },
                    }
                });
                Ok(Some(Poly(flipped.collect())))
            }
            Some(3) if !has_others(3) && kernel != TURN => self.cubic_conjugate(poly, kernel),
            Some(_) | None => Ok(None),
        }
    }

    /// Returns the conjugate of `a + b k + c k^2` with `k^3` an integer:
    /// `a^2 + b^2 k^2 + c^2 k^4 - ab k - ac k^2 - bc k^3`.
    fn cubic_conjugate(&mut self, poly: &Poly, kernel: Kernel) -> Result<Option<Poly>, Stop> {
        let mut parts = [Poly::default(), Poly::default(), Poly::default()];
        for term in &poly.0 {
            let place = match term.monomial.exponent(kernel).above() {
                0 => 0,
                1 => 1,
                _ => 2,
            };
            parts[place].0.push(term.clone());
        }
        let mut sum = Poly::default();
        for (place, part) in parts.iter().enumerate() {
            let square = self.multiply(part, part)?;
            let mixed = self.multiply(part, &parts[(place + 1) % 3])?;
            sum = self.add(&sum, &square)?;
            sum = self.subtract(&sum, &mixed)?;
        }
        Ok(Some(sum))
    }
}

/// Returns the work per term for the length of monomials.
fn width(poly: &Poly) -> u64 {
    let longest = poly.0.iter().map(|term| term.monomial.0.len()).max();
    u64::try_from(longest.unwrap_or(0) / 4).unwrap_or(u64::MAX)
}

/// Returns the primes of `value` with their powers, and a rest without small primes that may be
/// composite.
pub(super) fn split_primes(value: &UBig, limit: u32) -> (Vec<(u32, u32)>, UBig) {
    let mut rest = value.clone();
    let mut primes = Vec::new();
    let mut candidate = 2u32;
    while candidate <= limit && !rest.is_one() {
        if let Ok(word) = u64::try_from(&rest) {
            split_word(word, candidate, limit, &mut primes, &mut rest);
            break;
        }
        let mut power = 0;
        while (&rest % candidate) == 0 {
            rest /= candidate;
            power += 1;
        }
        if power > 0 {
            primes.push((candidate, power));
        }
        candidate += if candidate == 2 { 1 } else { 2 };
    }
    debug_assert!(rest.bit_len() > 0, "a positive number has a positive rest");
    (primes, rest)
}

fn split_word(
    mut word: u64,
    mut candidate: u32,
    limit: u32,
    primes: &mut Vec<(u32, u32)>,
    rest: &mut UBig,
) {
    while candidate <= limit && word > 1 {
        let divisor = u64::from(candidate);
        if divisor * divisor > word {
            if let Ok(prime) = u32::try_from(word) {
                primes.push((prime, 1));
                word = 1;
            }
            break;
        }
        let mut power = 0;
        while word.is_multiple_of(divisor) {
            word /= divisor;
            power += 1;
        }
        if power > 0 {
            primes.push((candidate, power));
        }
        candidate += if candidate == 2 { 1 } else { 2 };
    }
    *rest = UBig::from(word);
}
