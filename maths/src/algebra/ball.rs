//! Enclosures of real numbers over roots, by integers scaled with a power of two.

use std::cmp::Ordering;

use dashu::base::{BitTest, Signed};
use dashu::integer::{IBig, UBig};
use dashu::rational::RBig;

use super::exponent::Exponent;
use super::poly::{Kernel, Poly, Term};
use super::ring::{KernelKind, Ring};
use super::stop::{Stop, big};

/// A positive number lies between these, in units of `2^-bits`.
type Range = (UBig, UBig);

/// Numerators and denominators of exponents above this are not evaluated.
const MAX_EXPONENT: u32 = 64;

impl Ring<'_, '_> {
    /// Returns the sign of a real number over roots, if `most` bits decide it.
    pub(super) fn ball_sign(&mut self, poly: &Poly, most: usize) -> Result<Option<Ordering>, Stop> {
        if poly.is_empty() {
            return Ok(Some(Ordering::Equal));
        }
        let mut precision = 64;
        loop {
            let Some((low, high)) = self.ball(poly, precision)? else {
                return Ok(None);
            };
            if low.is_positive() && !low.is_zero() {
                return Ok(Some(Ordering::Greater));
            }
            if high.is_negative() {
                return Ok(Some(Ordering::Less));
            }
            if precision >= most {
                return Ok(None);
            }
            precision *= 4;
        }
    }

    /// Returns the greatest integer that is not greater than a real irrational number over roots.
    pub(super) fn ball_floor(&mut self, poly: &Poly) -> Result<Option<RBig>, Stop> {
        for precision in [64usize, 256, 1024] {
            let Some((low, high)) = self.ball(poly, precision)? else {
                return Ok(None);
            };
            let unit = UBig::ONE << precision;
            let floor = |value: IBig| RBig::from_parts(value, unit.clone()).floor();
            let (low, high) = (floor(low), floor(high));
            if low == high {
                return Ok(Some(RBig::from(low)));
            }
        }
        Ok(None)
    }

    /// Returns an enclosure in units of `2^-bits`.
    fn ball(&mut self, poly: &Poly, bits: usize) -> Result<Option<(IBig, IBig)>, Stop> {
        let (mut low, mut high) = (IBig::ZERO, IBig::ZERO);
        for term in &poly.0 {
            let Some((from, to)) = self.term_ball(term, bits)? else {
                return Ok(None);
            };
            low += from;
            high += to;
        }
        Ok(Some((low, high)))
    }

    fn term_ball(&mut self, term: &Term, bits: usize) -> Result<Option<(IBig, IBig)>, Stop> {
        let size = u64::try_from(bits).unwrap_or(u64::MAX);
        self.spend(2 + big(4 * (size + super::exact::bits(&term.coefficient))))?;
        let (mut low, mut high) = (UBig::ONE << bits, UBig::ONE << bits);
        for (kernel, exponent) in &term.monomial.0 {
            let Some((from, to)) = self.kernel_ball(*kernel, *exponent, bits)? else {
                return Ok(None);
            };
            low = (low * from) >> bits;
            high = ((high * to) >> bits) + UBig::ONE;
        }
        let coefficient = |value: UBig| RBig::from(IBig::from(value)) * &term.coefficient;
        let (low, high) = if term.coefficient.is_negative() {
            (coefficient(high).floor(), coefficient(low).ceil())
        } else {
            (coefficient(low).floor(), coefficient(high).ceil())
        };
        Ok(Some((low, high)))
    }

    /// Returns an enclosure of a power of a positive kernel.
    fn kernel_ball(
        &mut self,
        kernel: Kernel,
        exponent: Exponent,
        bits: usize,
    ) -> Result<Option<Range>, Stop> {
        let base = match self.kind(kernel) {
            KernelKind::Prime(prime) => {
                let scaled = prime.clone() << bits;
                (scaled.clone(), scaled)
            }
            KernelKind::Group(inner) => {
                let inner = inner.clone();
                let Some((low, high)) = self.deeper(|ring| ring.ball(&inner, bits))? else {
                    return Ok(None);
                };
                if !low.is_positive() || low.is_zero() {
                    return Ok(None);
                }
                (low.into_parts().1, high.into_parts().1)
            }
            KernelKind::Turn
            | KernelKind::Pi
            | KernelKind::Symbol(_)
            | KernelKind::Exp(_)
            | KernelKind::Abs(..)
            | KernelKind::Call(..)
            | KernelKind::Apply(..)
            | KernelKind::Opaque(_) => return Ok(None),
        };
        self.range_power(base, exponent, bits)
    }

    fn range_power(
        &mut self,
        (mut low, mut high): Range,
        exponent: Exponent,
        bits: usize,
    ) -> Result<Option<Range>, Stop> {
        let times = u32::try_from(exponent.above().unsigned_abs()).ok();
        let index = u32::try_from(exponent.below()).ok();
        let (Some(times), Some(index)) = (times, index) else {
            return Ok(None);
        };
        if times > MAX_EXPONENT || index > MAX_EXPONENT {
            return Ok(None);
        }
        let length = u64::try_from(high.bit_len() + bits).unwrap_or(u64::MAX);
        self.spend(4 + big(4 * length.saturating_mul(u64::from(times.max(index)))))?;
        if exponent.is_negative() {
            let square = UBig::ONE << (2 * bits);
            (low, high) = (&square / high, &square / low + UBig::ONE);
        }
        let (base_low, base_high) = (low.clone(), high.clone());
        for _ in 1..times {
            low = (low * &base_low) >> bits;
            high = ((high * &base_high) >> bits) + UBig::ONE;
        }
        if index > 1 {
            let index = usize::try_from(index).expect("an index fits");
            let shift = bits * (index - 1);
            low = (low << shift).nth_root(index);
            high = (high << shift).nth_root(index) + UBig::ONE;
        }
        Ok(Some((low, high)))
    }
}
