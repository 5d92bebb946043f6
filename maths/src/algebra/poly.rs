//! Sparse sums of terms: a rational coefficient times powers of kernels.

use std::cmp::Ordering;
use std::convert::Infallible;

use dashu::rational::RBig;

use super::exact::bits;
use super::exponent::Exponent;
use super::stop::Stop;

/// A kernel of a [`Ring`](super::ring::Ring), by its place there.
pub(super) type Kernel = u32;

/// A product of powers of kernels, by rising kernel, without exponents of zero.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(super) struct Monomial(pub(super) Vec<(Kernel, Exponent)>);

/// A coefficient that is not zero, and a monomial.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Term {
    pub(super) monomial: Monomial,
    pub(super) coefficient: RBig,
}

/// A sum of terms with different monomials, greatest first.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(super) struct Poly(pub(super) Vec<Term>);

impl Monomial {
    /// Returns one kernel to one power, which is not zero.
    pub(super) fn of(kernel: Kernel, exponent: Exponent) -> Self {
        Self(vec![(kernel, exponent)])
    }

    pub(super) fn is_one(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn exponent(&self, kernel: Kernel) -> Exponent {
        let found = self.0.iter().find(|(other, _)| *other == kernel);
        found.map_or(Exponent::ZERO, |(_, exponent)| *exponent)
    }

    /// Returns the product of both, before the rules of kernels are applied to it.
    pub(super) fn times(&self, other: &Self) -> Result<Self, Stop> {
        if self.is_one() {
            return Ok(other.clone());
        }
        if other.is_one() {
            return Ok(self.clone());
        }
        let mut factors = Vec::with_capacity(self.0.len() + other.0.len());
        let (mut left, mut right) = (self.0.as_slice(), other.0.as_slice());
        while let ([a, rest_left @ ..], [b, rest_right @ ..]) = (left, right) {
            match a.0.cmp(&b.0) {
                Ordering::Less => {
                    factors.push(*a);
                    left = rest_left;
                }
                Ordering::Greater => {
                    factors.push(*b);
                    right = rest_right;
                }
                Ordering::Equal => {
                    let exponent = a.1.plus(b.1)?;
                    if !exponent.is_zero() {
                        factors.push((a.0, exponent));
                    }
                    (left, right) = (rest_left, rest_right);
                }
            }
        }
        factors.extend_from_slice(left);
        factors.extend_from_slice(right);
        Ok(Self(factors))
    }

    /// Raises the monomial to the power of `exponent`, before the rules of kernels are applied to
    /// it.
    pub(super) fn power(&self, exponent: Exponent) -> Result<Self, Stop> {
        if exponent.is_zero() {
            return Ok(Self::default());
        }
        let raised = self.0.iter().map(|(kernel, own)| Ok((*kernel, own.times(exponent)?)));
        raised.collect::<Result<_, Stop>>().map(Self)
    }

    /// Returns the monomial without `kernel`, and the exponent that it had.
    pub(super) fn without(&self, kernel: Kernel) -> (Self, Exponent) {
        let exponent = self.exponent(kernel);
        if exponent.is_zero() {
            return (self.clone(), exponent);
        }
        let others = self.0.iter().filter(|(other, _)| *other != kernel);
        (Self(others.copied().collect()), exponent)
    }
}

/// Lexicographic, with an absent kernel as exponent zero: multiplication keeps the order.
impl Ord for Monomial {
    fn cmp(&self, other: &Self) -> Ordering {
        let (mut left, mut right) = (self.0.iter(), other.0.iter());
        loop {
            return match (left.next(), right.next()) {
                (None, None) => Ordering::Equal,
                (Some((_, exponent)), None) => exponent.cmp(&Exponent::ZERO),
                (None, Some((_, exponent))) => Exponent::ZERO.cmp(exponent),
                (Some(a), Some(b)) => match a.0.cmp(&b.0) {
                    Ordering::Less => a.1.cmp(&Exponent::ZERO),
                    Ordering::Greater => Exponent::ZERO.cmp(&b.1),
                    Ordering::Equal if a.1 == b.1 => continue,
                    Ordering::Equal => a.1.cmp(&b.1),
                },
            };
        }
    }
}

impl PartialOrd for Monomial {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Poly {
    pub(super) fn constant(value: RBig) -> Self {
        Self::term(value, Monomial::default())
    }

    pub(super) fn one() -> Self {
        Self::constant(RBig::ONE)
    }

    pub(super) fn term(coefficient: RBig, monomial: Monomial) -> Self {
        if coefficient.is_zero() {
            return Self::default();
        }
        Self(vec![Term { monomial, coefficient }])
    }

    /// Returns whether it has no terms. A sum with terms may still be zero by relations between
    /// kernels.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the only term, where there is just one.
    pub(super) fn single(&self) -> Option<&Term> {
        match self.0.as_slice() {
            [term] => Some(term),
            [] | [_, _, ..] => None,
        }
    }

    /// Returns the value, if it is a rational number as it stands.
    pub(super) fn rational(&self) -> Option<RBig> {
        match self.0.as_slice() {
            [] => Some(RBig::ZERO),
            [term] if term.monomial.is_one() => Some(term.coefficient.clone()),
            [_, ..] => None,
        }
    }

    /// Sorts, adds up and drops zeros.
    pub(super) fn collect(terms: Vec<Term>) -> Self {
        let free: Result<Self, Infallible> = Self::collect_paid(terms, |_, _| Ok(()));
        match free {
            Ok(poly) => poly,
        }
    }

    /// [`Self::collect`], where `pay` is called before every sum of two coefficients: those of many
    /// denominators grow with each.
    pub(super) fn collect_paid<E>(
        mut terms: Vec<Term>,
        mut pay: impl FnMut(&RBig, &RBig) -> Result<(), E>,
    ) -> Result<Self, E> {
        if terms.len() > 1 {
            terms.sort_by(|a, b| b.monomial.cmp(&a.monomial));
        }
        let mut sum: Vec<Term> = Vec::with_capacity(terms.len());
        for term in terms {
            match sum.last_mut() {
                Some(last) if last.monomial == term.monomial => {
                    pay(&last.coefficient, &term.coefficient)?;
                    last.coefficient += term.coefficient;
                }
                Some(_) | None => {
                    if sum.last().is_some_and(|last| last.coefficient.is_zero()) {
                        sum.pop();
                    }
                    sum.push(term);
                }
            }
        }
        if sum.last().is_some_and(|last| last.coefficient.is_zero()) {
            sum.pop();
        }
        Ok(Self(sum))
    }

    pub(super) fn negated(mut self) -> Self {
        for term in &mut self.0 {
            term.coefficient = -std::mem::take(&mut term.coefficient);
        }
        self
    }

    /// Counts the bits of the largest coefficient.
    pub(super) fn bits(&self) -> u64 {
        let sizes = self.0.iter().map(|term| bits(&term.coefficient));
        sizes.max().unwrap_or(0)
    }

    /// Returns the terms, as a count of work.
    pub(super) fn len(&self) -> u64 {
        u64::try_from(self.0.len()).unwrap_or(u64::MAX)
    }

    /// Returns every kernel that occurs in a term, each once, rising.
    pub(super) fn kernels(&self) -> Vec<Kernel> {
        let all = self.0.iter().flat_map(|term| term.monomial.0.iter());
        let mut kernels: Vec<Kernel> = all.map(|(kernel, _)| *kernel).collect();
        kernels.sort_unstable();
        kernels.dedup();
        kernels
    }

    /// Orders sums somehow, for functions whose arguments have no order.
    pub(super) fn order(&self, other: &Self) -> Ordering {
        let key = |term: &Term, other: &Term| {
            let by_monomial = term.monomial.cmp(&other.monomial);
            by_monomial.then_with(|| term.coefficient.cmp(&other.coefficient))
        };
        let pairs = self.0.iter().zip(&other.0).map(|(a, b)| key(a, b));
        let first = pairs.into_iter().find(|order| *order != Ordering::Equal);
        first.unwrap_or_else(|| self.0.len().cmp(&other.0.len()))
    }

    /// Returns whether `kernel` occurs in a term.
    pub(super) fn has(&self, kernel: Kernel) -> bool {
        self.0.iter().any(|term| !term.monomial.exponent(kernel).is_zero())
    }
}
