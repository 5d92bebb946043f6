//! Binary floating-point numbers whose every operation is rounded downwards or upwards.
//!
//! Integers do all of the work, so there is no rounding mode of a processor to set and nothing that
//! differs between machines. Every operation ends: exponents are bounded, and a sum of numbers that
//! lie far apart is not built in full.

use std::cmp::Ordering;

use dashu::base::{Abs, BitTest, DivRem, Signed};
use dashu::integer::{IBig, UBig};
use dashu::rational::RBig;

/// Magnitudes from `2^-MAX_EXPONENT` to `2^MAX_EXPONENT` have a value here.
pub(super) const MAX_EXPONENT: i64 = 1 << 20;

/// The magnitude of a result is out of bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct OutOfRange;

/// Direction of rounding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Toward {
    /// The largest representable number that is not above.
    Down,
    /// The smallest representable number that is not below.
    Up,
}

/// `mantissa * 2^exponent`.
#[derive(Debug, Clone)]
pub(super) struct Float {
    mantissa: IBig,
    exponent: i64,
}

/// Returns a length in bits as an exponent.
fn signed(bits: usize) -> i64 {
    i64::try_from(bits).expect("numbers in memory have fewer than 2^63 bits")
}

/// Returns `value * 2^shift`, rounded where `shift` is negative.
pub(super) fn shifted(value: &IBig, shift: i64, toward: Toward) -> IBig {
    let by = usize::try_from(shift.unsigned_abs()).expect("addresses have 64 bits");
    match (shift >= 0, toward) {
        (true, _) => value << by,
        (false, Toward::Down) => value >> by,
        (false, Toward::Up) => -(-value >> by),
    }
}

impl Float {
    pub(super) const ZERO: Self = Self { mantissa: IBig::ZERO, exponent: 0 };

    /// Creates `mantissa * 2^exponent` rounded to `bits` bits.
    pub(super) fn new(
        mantissa: IBig,
        exponent: i64,
        bits: u32,
        toward: Toward,
    ) -> Result<Self, OutOfRange> {
        let excess = signed(mantissa.bit_len()) - i64::from(bits);
        let (mantissa, exponent) = if excess > 0 {
            (shifted(&mantissa, -excess, toward), exponent + excess)
        } else {
            (mantissa, exponent)
        };
        Self { mantissa, exponent }.checked()
    }

    fn checked(self) -> Result<Self, OutOfRange> {
        match self.top() {
            None => Ok(Self::ZERO),
            Some(top) if top.abs() > MAX_EXPONENT => Err(OutOfRange),
            Some(_) => Ok(self),
        }
    }

    /// Creates a small integer.
    pub(super) fn integer(value: i32) -> Self {
        Self { mantissa: IBig::from(value), exponent: 0 }
    }

    /// Returns `t` of `2^(t-1) <= |self| < 2^t`; `None` of zero.
    pub(super) fn top(&self) -> Option<i64> {
        let is_zero = self.mantissa.is_zero();
        (!is_zero).then(|| signed(self.mantissa.bit_len()) + self.exponent)
    }

    pub(super) fn is_zero(&self) -> bool {
        self.mantissa.is_zero()
    }

    /// Returns how it compares with 0.
    pub(super) fn sign(&self) -> Ordering {
        if self.mantissa.is_zero() {
            Ordering::Equal
        } else if self.mantissa.is_negative() {
            Ordering::Less
        } else {
            Ordering::Greater
        }
    }

    pub(super) fn negated(&self) -> Self {
        Self { mantissa: -&self.mantissa, exponent: self.exponent }
    }

    pub(super) fn magnitude(&self) -> Self {
        Self { mantissa: self.mantissa.clone().abs(), exponent: self.exponent }
    }

    /// Returns the product with `2^exponent`.
    pub(super) fn scaled(&self, exponent: i64) -> Result<Self, OutOfRange> {
        Self { mantissa: self.mantissa.clone(), exponent: self.exponent + exponent }.checked()
    }

    pub(super) fn add(&self, other: &Self, bits: u32, toward: Toward) -> Result<Self, OutOfRange> {
        let (Some(top), Some(other_top)) = (self.top(), other.top()) else {
            let sum = if self.is_zero() { other } else { self };
            return Self::new(sum.mantissa.clone(), sum.exponent, bits, toward);
        };
        let (large, small) = if top >= other_top { (self, other) } else { (other, self) };
        let gap = (top - other_top).abs();
        if gap > i64::from(bits) + signed(large.mantissa.bit_len()) + 2 {
            // The small one is below a quarter of the last bit wanted: it only tips the rounding.
            let places = bits + 2;
            let by = usize::try_from(places).expect("a precision fits");
            let mantissa = (&large.mantissa << by)
                + match (small.sign(), toward) {
                    (Ordering::Less, Toward::Down) => IBig::NEG_ONE,
                    (Ordering::Greater, Toward::Up) => IBig::ONE,
                    (Ordering::Less, Toward::Up)
                    | (Ordering::Greater, Toward::Down)
                    | (Ordering::Equal, _) => IBig::ZERO,
                };
            return Self::new(mantissa, large.exponent - i64::from(places), bits, toward);
        }
        let exponent = self.exponent.min(other.exponent);
        let left = shifted(&self.mantissa, self.exponent - exponent, toward);
        let right = shifted(&other.mantissa, other.exponent - exponent, toward);
        Self::new(left + right, exponent, bits, toward)
    }

    pub(super) fn sub(&self, other: &Self, bits: u32, toward: Toward) -> Result<Self, OutOfRange> {
        self.add(&other.negated(), bits, toward)
    }

    pub(super) fn mul(&self, other: &Self, bits: u32, toward: Toward) -> Result<Self, OutOfRange> {
        let mantissa = &self.mantissa * &other.mantissa;
        Self::new(mantissa, self.exponent + other.exponent, bits, toward)
    }

    /// Returns the quotient; `other` is not zero.
    pub(super) fn div(&self, other: &Self, bits: u32, toward: Toward) -> Result<Self, OutOfRange> {
        let lengths = signed(other.mantissa.bit_len()) - signed(self.mantissa.bit_len());
        let shift = (i64::from(bits) + 2 + lengths).max(0);
        let (mut quotient, remainder) =
            shifted(&self.mantissa, shift, toward).div_rem(&other.mantissa);
        if !remainder.is_zero() {
            // The division truncates towards zero.
            let is_negative = remainder.is_negative() != other.mantissa.is_negative();
            match (is_negative, toward) {
                (true, Toward::Down) => quotient -= IBig::ONE,
                (false, Toward::Up) => quotient += IBig::ONE,
                (true, Toward::Up) | (false, Toward::Down) => {}
            }
        }
        let exponent = self.exponent - other.exponent - shift;
        Self::new(quotient, exponent, bits, toward)
    }

    /// Returns the root of a number that is not negative; `index` is at least 2 and at most 64.
    pub(super) fn root(&self, index: u32, bits: u32, toward: Toward) -> Result<Self, OutOfRange> {
        let index_bits = i64::from(index);
        let wanted = index_bits * (i64::from(bits) + 2);
        let shift = (wanted - signed(self.mantissa.bit_len())).max(0);
        // The exponent has to be a multiple of the index.
        let shift = shift + (self.exponent - shift).rem_euclid(index_bits);
        let radicand = shifted(&self.mantissa, shift, Toward::Down);
        let (_, radicand) = radicand.into_parts();
        let index = usize::try_from(index).expect("an index fits");
        let root = integer_root(&radicand, index);
        let is_exact = root.pow(index) == radicand;
        let mut mantissa = IBig::from(root);
        if !is_exact && toward == Toward::Up {
            mantissa += IBig::ONE;
        }
        Self::new(mantissa, (self.exponent - shift) / index_bits, bits, toward)
    }

    /// Returns the number as a fixed-point one with `places` bits after the point.
    pub(super) fn to_fixed(&self, places: u32, toward: Toward) -> IBig {
        shifted(&self.mantissa, self.exponent + i64::from(places), toward)
    }

    /// Returns the integer below or above.
    pub(super) fn to_integer(&self, toward: Toward) -> IBig {
        self.to_fixed(0, toward)
    }

    /// Returns the same number. Its size is bounded by that of the exponent.
    pub(super) fn to_rational(&self) -> RBig {
        let by = usize::try_from(self.exponent.unsigned_abs()).expect("addresses have 64 bits");
        if self.exponent >= 0 {
            RBig::from(&self.mantissa << by)
        } else {
            RBig::from_parts(self.mantissa.clone(), UBig::ONE << by)
        }
    }

    /// Returns `value` rounded.
    pub(super) fn from_rational(
        value: &RBig,
        bits: u32,
        toward: Toward,
    ) -> Result<Self, OutOfRange> {
        let numerator = Self { mantissa: value.numerator().clone(), exponent: 0 };
        if value.denominator().is_one() {
            return Self::new(numerator.mantissa, 0, bits, toward);
        }
        let denominator = Self { mantissa: value.denominator().as_ibig().clone(), exponent: 0 };
        numerator.div(&denominator, bits, toward)
    }

    /// Returns `self` split into `fraction * 2^exponent` with a fraction from 1/2 to 1, for
    /// positive numbers.
    pub(super) fn split(&self) -> (Self, i64) {
        let top = self.top().unwrap_or(0);
        let fraction = Self { mantissa: self.mantissa.clone(), exponent: self.exponent - top };
        (fraction, top)
    }

    /// Returns whether it is a power of two times an integer of a word or so: its exact value is
    /// cheap.
    pub(super) fn is_small(&self) -> bool {
        self.exponent.abs() <= 64 && self.mantissa.bit_len() <= 128
    }
}

impl PartialEq for Float {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Float {}

impl PartialOrd for Float {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Float {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_sign = self.sign().cmp(&other.sign());
        let (Ordering::Equal, Some(top), Some(other_top)) = (by_sign, self.top(), other.top())
        else {
            return by_sign;
        };
        let magnitude = top.cmp(&other_top).then_with(|| {
            // Equal tops: the exponents lie no further apart than the mantissas are long.
            let exponent = self.exponent.min(other.exponent);
            let left = shifted(&self.mantissa, self.exponent - exponent, Toward::Down).abs();
            let right = shifted(&other.mantissa, other.exponent - exponent, Toward::Down).abs();
            left.cmp(&right)
        });
        match self.sign() {
            Ordering::Less => magnitude.reverse(),
            Ordering::Equal | Ordering::Greater => magnitude,
        }
    }
}

/// Returns the largest integer whose `index`-th power is not above `value`.
pub(super) fn integer_root(value: &UBig, index: usize) -> UBig {
    use dashu::base::SquareRoot;
    if value.is_zero() {
        return UBig::ZERO;
    }
    if index == 2 {
        return value.sqrt();
    }
    // Newton's method from above falls until it has arrived.
    let mut root = UBig::ONE << value.bit_len().div_ceil(index);
    loop {
        let power = root.pow(index - 1);
        let next = (&root * UBig::from(index - 1) + value / power) / UBig::from(index);
        if next >= root {
            return root;
        }
        root = next;
    }
}
