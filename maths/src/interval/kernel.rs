//! Enclosures of the elementary functions, by series over integers.
//!
//! All work is done on fixed-point numbers: an integer `v` with `w` places is `v / 2^w`. A series
//! is cut off where its terms are below the last place, and each of its steps loses two units of it
//! at most. Precisions are at most [`MAX_BITS`], so that no function loses more than [`ERROR`]
//! units; the [`GUARD`] places pay for them.

use std::cmp::Ordering;

use dashu::base::SquareRoot;
use dashu::integer::IBig;

use super::Stop;
use super::bounds::Interval;
use super::float::{Float, Toward, shifted};

/// The largest precision of ends.
pub(super) const MAX_BITS: u32 = 2048;

/// Units of the last place that a fixed-point result is off, at most: each series has fewer than
/// 1,000 terms at the largest precision.
const ERROR: u32 = 1 << 14;

/// Places beyond the requested precision.
const GUARD: u32 = 32;

/// Arguments of sines and cosines are below two to the power of this.
const MAX_ANGLE: i64 = 256;

/// Arguments of exponentials are below two to the power of this.
const MAX_POWER: i64 = 21;

/// Elementary functions at one precision.
#[derive(Debug)]
pub(super) struct Kernel {
    bits: u32,
    pi: Option<Fixed>,
    ln2: Option<Fixed>,
}

/// A constant as a fixed-point number, at most two units off.
#[derive(Debug, Clone)]
struct Fixed {
    value: IBig,
    places: u32,
}

impl Fixed {
    fn at(&self, places: u32) -> Option<IBig> {
        let drop = self.places.checked_sub(places)?;
        Some(shifted(&self.value, -i64::from(drop), Toward::Down))
    }
}

/// Shifts by a number of places.
fn left(value: IBig, places: u32) -> IBig {
    value << usize::try_from(places).expect("a precision fits")
}

fn right(value: IBig, places: u32) -> IBig {
    value >> usize::try_from(places).expect("a precision fits")
}

/// Returns `sum of (-1)^k / ((2k+1) n^(2k+1))`, or without the signs.
fn inverse_series(n: u32, alternates: bool, places: u32) -> IBig {
    let square = IBig::from(n) * IBig::from(n);
    let mut power = left(IBig::ONE, places) / IBig::from(n);
    let mut sum = power.clone();
    let mut divisor = 1u32;
    loop {
        power /= &square;
        divisor += 2;
        if power.is_zero() {
            return sum;
        }
        let term = &power / IBig::from(divisor);
        if alternates && divisor % 4 == 3 {
            sum -= term;
        } else {
            sum += term;
        }
    }
}

/// Returns `x * sum of (sign * x^2)^k / (2k+1)`: the arctangent where `alternates`, else its
/// hyperbolic sister. `|x|` is below 1/5.
fn odd_series(x: &IBig, alternates: bool, places: u32) -> IBig {
    let square = right(x * x, places);
    let mut power = x.clone();
    let mut sum = x.clone();
    let mut divisor = 1u32;
    loop {
        // Rounded towards zero, so that negative powers vanish too.
        power = truncated(power * &square, places);
        divisor += 2;
        if power.is_zero() {
            return sum;
        }
        let term = &power / IBig::from(divisor);
        if alternates && divisor % 4 == 3 {
            sum -= term;
        } else {
            sum += term;
        }
    }
}

/// Returns `value / 2^places` rounded towards zero.
fn truncated(value: IBig, places: u32) -> IBig {
    if value < IBig::ZERO { -right(-value, places) } else { right(value, places) }
}

/// Returns `sum of x^n / n!`; `|x|` is below 1/2.
fn exponential_series(x: &IBig, places: u32) -> IBig {
    let mut term = left(IBig::ONE, places);
    let mut sum = term.clone();
    let mut n = 0u32;
    while !term.is_zero() {
        n += 1;
        term = truncated(term * x, places) / IBig::from(n);
        sum += &term;
    }
    sum
}

/// Returns the series of the sine, or of the cosine, of `x` below 1.
fn circular_series(x: &IBig, is_sine: bool, places: u32) -> IBig {
    let square = right(x * x, places);
    let (mut term, mut n) = if is_sine { (x.clone(), 1u32) } else { (left(IBig::ONE, places), 0) };
    let mut sum = term.clone();
    while !term.is_zero() {
        term = -truncated(term * &square, places) / IBig::from((n + 1) * (n + 2));
        n += 2;
        sum += &term;
    }
    sum
}

/// Returns the integer nearest to `numerator / denominator`, both positive or the first negative.
fn nearest(numerator: &IBig, denominator: &IBig) -> IBig {
    let doubled: IBig = (numerator << 1) + denominator;
    let divisor: IBig = denominator << 1;
    let quotient = &doubled / &divisor;
    if doubled < IBig::ZERO && &quotient * &divisor != doubled {
        quotient - IBig::ONE
    } else {
        quotient
    }
}

impl Kernel {
    /// Creates the functions whose results have ends of `bits` bits, at most [`MAX_BITS`].
    pub(super) fn new(bits: u32) -> Self {
        Self { bits: bits.min(MAX_BITS), pi: None, ln2: None }
    }

    pub(super) fn bits(&self) -> u32 {
        self.bits
    }

    fn fixed_pi(&mut self, places: u32) -> IBig {
        if let Some(value) = self.pi.as_ref().and_then(|pi| pi.at(places)) {
            return value;
        }
        // Machin's formula.
        let working = places + GUARD;
        let quarter = inverse_series(5, true, working) * 4 - inverse_series(239, true, working);
        let value = right(quarter, GUARD - 2);
        self.pi = Some(Fixed { value: value.clone(), places });
        value
    }

    fn fixed_ln2(&mut self, places: u32) -> IBig {
        if let Some(value) = self.ln2.as_ref().and_then(|ln2| ln2.at(places)) {
            return value;
        }
        let working = places + GUARD;
        let sum = inverse_series(26, false, working) * 18
            - inverse_series(4801, false, working) * 2
            + inverse_series(8749, false, working) * 8;
        let value = right(sum, GUARD);
        self.ln2 = Some(Fixed { value: value.clone(), places });
        value
    }

    /// Returns whether the number pi has been computed already.
    pub(super) fn has_pi(&self) -> bool {
        self.pi.is_some()
    }

    pub(super) fn pi(&mut self) -> Result<Interval, Stop> {
        let places = self.bits + GUARD;
        let value = self.fixed_pi(places);
        Interval::from_fixed(&value, 4, places, self.bits)
    }

    /// Returns the exponential.
    pub(super) fn exp(&mut self, x: &Interval) -> Result<Interval, Stop> {
        let (middle, radius) = x.centre(self.bits + GUARD)?;
        if radius.top().is_none_or(|top| top < 0) {
            // e^r is from 1 - r to 1 + 2r, and e^-r too.
            let one = Float::integer(1);
            let spread = Interval {
                lower: one.sub(&radius, self.bits, Toward::Down)?,
                upper: one.add(&radius.scaled(1)?, self.bits, Toward::Up)?,
            };
            return self.exp_at(&middle)?.mul(&spread, self.bits);
        }
        let lower = self.exp_at(&x.lower)?;
        Ok(lower.hull(&self.exp_at(&x.upper)?))
    }

    fn exp_at(&mut self, x: &Float) -> Result<Interval, Stop> {
        let Some(top) = x.top() else {
            return Ok(Interval::integer(1));
        };
        if top > MAX_POWER {
            return Err(Stop::NoValue);
        }
        if top < -i64::from(self.bits) {
            // From 1 + x to 1 + x + x^2.
            let one = Float::integer(1);
            let square = x.mul(x, self.bits, Toward::Up)?;
            let upper = one.add(x, self.bits, Toward::Up)?;
            return Ok(Interval {
                lower: one.add(x, self.bits, Toward::Down)?,
                upper: upper.add(&square, self.bits, Toward::Up)?,
            });
        }
        let places = self.bits + GUARD;
        let extra = 24;
        let fixed = x.to_fixed(places + extra, Toward::Down);
        let ln2 = self.fixed_ln2(places + extra);
        let turns = nearest(&fixed, &ln2);
        let rest = right(fixed - &turns * ln2, extra);
        let value = exponential_series(&rest, places);
        let turns = i64::try_from(turns).map_err(|_| Stop::NoValue)?;
        Interval::from_fixed(&value, ERROR, places, self.bits)?.scaled(turns)
    }

    /// Returns the natural logarithm of positive numbers.
    pub(super) fn ln(&mut self, x: &Interval) -> Result<Interval, Stop> {
        if x.lower.sign() != Ordering::Greater {
            return Err(Stop::Imprecise);
        }
        let (middle, radius) = x.centre(self.bits + GUARD)?;
        if middle.sign() != Ordering::Greater {
            return Err(Stop::Imprecise);
        }
        let slope = radius.div(&x.lower, self.bits, Toward::Up)?;
        if slope.top().is_none_or(|top| top < 0) {
            let around = Interval::around_zero(&slope);
            return self.ln_at(&middle)?.add(&around, self.bits);
        }
        let lower = self.ln_at(&x.lower)?;
        Ok(lower.hull(&self.ln_at(&x.upper)?))
    }

    fn ln_at(&mut self, x: &Float) -> Result<Interval, Stop> {
        let bits = self.bits;
        let excess = x.sub(&Float::integer(1), bits + GUARD, Toward::Down)?;
        let Some(top) = excess.top() else {
            return Ok(Interval::integer(0));
        };
        if top < -i64::from(bits) {
            // From d - d^2 to d, where d is between `excess` and the number above it.
            let above = x.sub(&Float::integer(1), bits + GUARD, Toward::Up)?;
            let square = excess.magnitude().max(above.magnitude());
            let square = square.mul(&square, bits, Toward::Up)?;
            return Ok(Interval { lower: excess.sub(&square, bits, Toward::Down)?, upper: above });
        }
        let near_one = u32::try_from(-top).unwrap_or(0);
        let places = bits + GUARD + near_one;
        let (mut fraction, mut exponent) = x.split();
        // From 3/4 to 3/2: the argument of the series is below 1/5.
        if fraction < Float::integer(3).scaled(-2)? {
            fraction = fraction.scaled(1)?;
            exponent -= 1;
        }
        let one = left(IBig::ONE, places);
        let fixed = fraction.to_fixed(places, Toward::Down);
        let ratio = left(&fixed - &one, places) / (&fixed + &one);
        let series = odd_series(&ratio, false, places) << 1;
        let extra = 24;
        let ln2 = self.fixed_ln2(places + extra);
        let value = series + right(ln2 * IBig::from(exponent), extra);
        Interval::from_fixed(&value, ERROR, places, bits)
    }

    /// Returns the sine of `x + quarters * pi/2`.
    pub(super) fn sine(&mut self, x: &Interval, quarters: u8) -> Result<Interval, Stop> {
        let (middle, radius) = x.centre(self.bits + GUARD)?;
        let value = self.sine_at(&middle, quarters)?;
        let around = Interval::around_zero(&radius);
        Ok(value.add(&around, self.bits)?.clamped(-1, 1))
    }

    fn sine_at(&mut self, x: &Float, quarters: u8) -> Result<Interval, Stop> {
        let bits = self.bits;
        let top = x.top().unwrap_or(-i64::from(MAX_BITS) - 1);
        if top > MAX_ANGLE {
            return Err(Stop::NoValue);
        }
        if top < -i64::from(bits) {
            return tiny_sine(x, quarters, bits);
        }
        let magnitude = u32::try_from(top.unsigned_abs()).map_err(|_| Stop::NoValue)?;
        // Large angles need places for the turns that are taken off, small ones for their size.
        let (places, extra) =
            if top > 0 { (bits + GUARD, magnitude + 8) } else { (bits + GUARD + magnitude, 8) };
        let fixed: IBig = x.to_fixed(places + extra, Toward::Down) << 1;
        let pi = self.fixed_pi(places + extra);
        let turns = nearest(&fixed, &pi);
        let rest = right(fixed - &turns * pi, extra + 1);
        let quadrant =
            u8::try_from((turns + IBig::from(quarters)) & IBig::from(3u8)).expect("two bits fit");
        let value = circular_series(&rest, quadrant.is_multiple_of(2), places);
        let value = if quadrant < 2 { value } else { -value };
        Interval::from_fixed(&value, ERROR, places, bits)
    }

    /// Returns the arctangent.
    pub(super) fn atan(&mut self, x: &Interval) -> Result<Interval, Stop> {
        let (middle, radius) = x.centre(self.bits + GUARD)?;
        let value = self.atan_at(&middle)?;
        value.add(&Interval::around_zero(&radius), self.bits)
    }

    fn atan_at(&mut self, x: &Float) -> Result<Interval, Stop> {
        let Some(top) = x.top() else {
            return Ok(Interval::integer(0));
        };
        if top <= 0 {
            return self.small_atan(x, top);
        }
        // The other angle of the right triangle.
        let inverse = Interval::exactly(x.clone()).recip(self.bits + GUARD)?;
        let (middle, radius) = inverse.centre(self.bits + GUARD)?;
        let signed = |angle: Interval| match x.sign() {
            Ordering::Less => angle.neg(),
            Ordering::Equal | Ordering::Greater => angle,
        };
        let top = middle.top().ok_or(Stop::NoValue)?;
        if top > 0 {
            // Its inverse is not below 1 either: it is 1 or -1.
            return Ok(signed(self.pi()?.scaled(-2)?));
        }
        let other = self.small_atan(&middle, top)?;
        let other = other.add(&Interval::around_zero(&radius), self.bits)?;
        signed(self.pi()?.scaled(-1)?).sub(&other, self.bits)
    }

    /// Returns the arctangent of a number below 1 with the given top.
    fn small_atan(&mut self, x: &Float, top: i64) -> Result<Interval, Stop> {
        let bits = self.bits;
        if top < -i64::from(bits) {
            let square = x.mul(x, bits, Toward::Up)?;
            let factor = Interval {
                lower: Float::integer(1).sub(&square, bits, Toward::Down)?,
                upper: Float::integer(1),
            };
            return Interval::exactly(x.clone()).mul(&factor, bits);
        }
        let places = bits + GUARD + u32::try_from(-top).unwrap_or(0);
        let one = left(IBig::ONE, places);
        let square_of_one = left(one.clone(), places);
        let mut fixed = x.to_fixed(places, Toward::Down);
        // The angle is halved three times: x / (1 + sqrt(1 + x^2)).
        for _ in 0..3 {
            let (_, radicand) = (&square_of_one + &fixed * &fixed).into_parts();
            let hypotenuse = IBig::from(radicand.sqrt());
            fixed = left(fixed, places) / (&one + hypotenuse);
        }
        let value = odd_series(&fixed, true, places) << 3;
        Interval::from_fixed(&value, ERROR, places, bits)
    }
}

/// Returns the sine of a tiny angle plus quarter turns: `x (1 - x^2) .. x`, or `1 - x^2 .. 1`.
fn tiny_sine(x: &Float, quarters: u8, bits: u32) -> Result<Interval, Stop> {
    let square = x.mul(x, bits, Toward::Up)?;
    let factor = Interval {
        lower: Float::integer(1).sub(&square, bits, Toward::Down)?,
        upper: Float::integer(1),
    };
    let value = if quarters.is_multiple_of(2) {
        Interval::exactly(x.clone()).mul(&factor, bits)?
    } else {
        factor
    };
    Ok(if quarters % 4 < 2 { value } else { value.neg() })
}
