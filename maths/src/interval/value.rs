//! Values of expressions at a point: exact where they are rational and not large, else enclosed.

use std::cmp::Ordering;

use dashu::base::BitTest;
use dashu::integer::IBig;
use dashu::rational::RBig;

use super::Stop;
use super::bounds::Interval;
use super::kernel::Kernel;

/// Bits that numerator and denominator of an exact value may have together.
pub(super) const MAX_EXACT_BITS: usize = 1 << 15;

/// A value.
#[derive(Debug, Clone)]
pub(super) enum NumericValue {
    Exact(RBig),
    Real(Interval),
    /// Real and imaginary part. The imaginary part may contain 0, but is not known to be 0.
    Complex(Interval, Interval),
}

/// A value as two intervals.
#[derive(Debug, Clone)]
pub(super) struct ComplexParts {
    pub(super) re: Interval,
    pub(super) im: Interval,
}

/// Counts the bits of numerator and denominator together.
pub(super) fn size(value: &RBig) -> usize {
    value.numerator().bit_len() + value.denominator().bit_len()
}

impl NumericValue {
    pub(super) fn integer(value: i32) -> Self {
        Self::Exact(RBig::from(IBig::from(value)))
    }

    /// Creates a real value, exact while it is small enough.
    pub(super) fn rational(value: RBig, bits: u32) -> Result<Self, Stop> {
        if size(&value) <= MAX_EXACT_BITS {
            return Ok(Self::Exact(value));
        }
        Ok(Self::Real(Interval::from_rational(&value, bits)?))
    }

    /// Returns the value of `parts`, as the simplest kind.
    pub(super) fn from_parts(parts: ComplexParts) -> Self {
        if parts.im.is_zero() {
            Self::from_interval(parts.re)
        } else {
            Self::Complex(parts.re, parts.im)
        }
    }

    pub(super) fn from_interval(interval: Interval) -> Self {
        match interval.point() {
            Some(point) => Self::Exact(point),
            None => Self::Real(interval),
        }
    }

    pub(super) fn parts(&self, bits: u32) -> Result<ComplexParts, Stop> {
        Ok(match self {
            Self::Exact(value) => {
                ComplexParts { re: Interval::from_rational(value, bits)?, im: Interval::integer(0) }
            }
            Self::Real(re) => ComplexParts { re: re.clone(), im: Interval::integer(0) },
            Self::Complex(re, im) => ComplexParts { re: re.clone(), im: im.clone() },
        })
    }

    /// Returns the value as an interval of real numbers.
    pub(super) fn real(&self, bits: u32) -> Result<Interval, Stop> {
        match self {
            Self::Exact(value) => Interval::from_rational(value, bits),
            Self::Real(interval) => Ok(interval.clone()),
            Self::Complex(_, im) => Err(not_real(im)),
        }
    }

    /// Returns the exact value. Functions of integers have no other.
    pub(super) fn exact(&self) -> Result<&RBig, Stop> {
        match self {
            Self::Exact(value) => Ok(value),
            Self::Real(_) => Err(Stop::Imprecise),
            Self::Complex(_, im) => Err(not_real(im)),
        }
    }

    /// Returns the exact value as an integer.
    pub(super) fn exact_integer(&self) -> Result<&IBig, Stop> {
        let value = self.exact()?;
        if value.denominator().is_one() { Ok(value.numerator()) } else { Err(Stop::NoValue) }
    }

    pub(super) fn sign(&self) -> Result<Ordering, Stop> {
        match self {
            Self::Exact(value) => Ok(value.cmp(&RBig::ZERO)),
            Self::Real(interval) => interval.sign().ok_or(Stop::Imprecise),
            Self::Complex(_, im) => Err(not_real(im)),
        }
    }
}

/// Explains why a number with this imaginary part is not taken for a real one.
fn not_real(im: &Interval) -> Stop {
    if im.contains_zero() { Stop::Imprecise } else { Stop::NoValue }
}

/// Complex arithmetic.
impl ComplexParts {
    pub(super) fn add(&self, other: &Self, bits: u32) -> Result<Self, Stop> {
        Ok(Self { re: self.re.add(&other.re, bits)?, im: self.im.add(&other.im, bits)? })
    }

    pub(super) fn mul(&self, other: &Self, bits: u32) -> Result<Self, Stop> {
        let re = self.re.mul(&other.re, bits)?.sub(&self.im.mul(&other.im, bits)?, bits)?;
        let im = self.re.mul(&other.im, bits)?;
        let im = im.add(&self.im.mul(&other.re, bits)?, bits)?;
        Ok(Self { re, im })
    }

    pub(super) fn recip(&self, bits: u32) -> Result<Self, Stop> {
        let square = self.re.square(bits)?.add(&self.im.square(bits)?, bits)?;
        let inverse = square.recip(bits)?;
        Ok(Self { re: self.re.mul(&inverse, bits)?, im: self.im.neg().mul(&inverse, bits)? })
    }

    pub(super) fn abs(&self, bits: u32) -> Result<Interval, Stop> {
        if self.im.is_zero() {
            return Ok(self.re.abs());
        }
        let square = self.re.square(bits)?.add(&self.im.square(bits)?, bits)?;
        square.root(2, bits)
    }

    pub(super) fn times_i(&self) -> Self {
        Self { re: self.im.neg(), im: self.re.clone() }
    }

    /// Returns the integer power with an exponent that is not negative.
    pub(super) fn power(&self, exponent: u64, bits: u32) -> Result<Self, Stop> {
        if self.im.is_zero() {
            return Ok(Self { re: self.re.power(exponent, bits)?, im: self.im.clone() });
        }
        let length = u64::BITS - exponent.leading_zeros();
        let working = bits + 3 * length;
        let mut power = Self { re: Interval::integer(1), im: Interval::integer(0) };
        for bit in (0..length).rev() {
            power = power.mul(&power, working)?;
            if exponent >> bit & 1 == 1 {
                power = power.mul(self, working)?;
            }
        }
        Ok(power)
    }

    /// Returns the square root with a real part that is not negative.
    pub(super) fn sqrt(&self, bits: u32) -> Result<Self, Stop> {
        let size = self.abs(bits)?;
        let half_root = |value: Interval| value.scaled(-1)?.root(2, bits);
        if self.im.is_zero() {
            let zero = Interval::integer(0);
            return match self.re.sign() {
                Some(Ordering::Less) => Ok(Self { re: zero, im: self.re.neg().root(2, bits)? }),
                Some(Ordering::Equal | Ordering::Greater) => {
                    Ok(Self { re: self.re.root(2, bits)?, im: zero })
                }
                None => Err(Stop::Imprecise),
            };
        }
        if self.re.sign() == Some(Ordering::Greater) {
            let re = half_root(size.add(&self.re, bits)?)?;
            let im = self.im.div(&re.scaled(1)?, bits)?;
            return Ok(Self { re, im });
        }
        let im = half_root(size.sub(&self.re, bits)?)?;
        let im = match self.im.sign() {
            Some(Ordering::Greater) => im,
            Some(Ordering::Less) => im.neg(),
            // On the branch cut: the result jumps.
            Some(Ordering::Equal) | None => return Err(Stop::Imprecise),
        };
        let re = self.im.div(&im.scaled(1)?, bits)?;
        Ok(Self { re, im })
    }

    /// Returns the argument, in (-pi, pi].
    pub(super) fn arg(&self, kernel: &mut Kernel) -> Result<Interval, Stop> {
        let bits = kernel.bits();
        let re_sign = self.re.sign();
        let im_sign = self.im.sign();
        match (re_sign, im_sign) {
            (Some(Ordering::Equal), Some(Ordering::Equal)) => Err(Stop::NoValue),
            (Some(Ordering::Greater), _) => kernel.atan(&self.im.div(&self.re, bits)?),
            (_, Some(Ordering::Greater)) => {
                let angle = kernel.atan(&self.re.div(&self.im, bits)?)?;
                kernel.pi()?.scaled(-1)?.sub(&angle, bits)
            }
            (_, Some(Ordering::Less)) => {
                let angle = kernel.atan(&self.re.div(&self.im, bits)?)?;
                kernel.pi()?.scaled(-1)?.add(&angle, bits).map(|angle| angle.neg())
            }
            (Some(Ordering::Less), Some(Ordering::Equal)) => kernel.pi(),
            (Some(Ordering::Less | Ordering::Equal) | None, None)
            | (None, Some(Ordering::Equal)) => Err(Stop::Imprecise),
        }
    }

    pub(super) fn ln(&self, kernel: &mut Kernel) -> Result<Self, Stop> {
        let size = self.abs(kernel.bits())?;
        if size.is_zero() {
            return Err(Stop::NoValue);
        }
        Ok(Self { re: kernel.ln(&size)?, im: self.arg(kernel)? })
    }

    pub(super) fn exp(&self, kernel: &mut Kernel) -> Result<Self, Stop> {
        let bits = kernel.bits();
        let size = kernel.exp(&self.re)?;
        if self.im.is_zero() {
            return Ok(Self { re: size, im: Interval::integer(0) });
        }
        let (cosine, sine) = (kernel.sine(&self.im, 1)?, kernel.sine(&self.im, 0)?);
        Ok(Self { re: size.mul(&cosine, bits)?, im: size.mul(&sine, bits)? })
    }
}
