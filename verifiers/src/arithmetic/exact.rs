//! An exact number for people to read.

use std::fmt;

use dashu::base::BitTest;
use dashu::integer::{IBig, UBig};
use dashu::rational::RBig;

/// Decimal places beyond which a fraction is clearer.
const MAX_PLACES: usize = 12;
/// Bits beyond which a number is described and not written.
const MAX_BITS: usize = 256;

/// An exact rational number. Its text is a decimal where that ends and is short (`2.5`), else a
/// fraction in lowest terms (`10/3`), and a description where it would be longer than a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exact(pub(crate) RBig);

impl fmt::Display for Exact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bits = self.0.numerator().bit_len() + self.0.denominator().bit_len();
        if bits > MAX_BITS {
            return write!(f, "a number of {bits} bits");
        }
        match places(self.0.denominator()) {
            Some(0) => write!(f, "{}", self.0.numerator()),
            Some(places) => write_decimal(f, &self.0, places),
            None => write!(f, "{}", self.0),
        }
    }
}

/// Counts the decimal places of a fraction with this denominator; `None` if it does not end soon
/// enough.
fn places(denominator: &UBig) -> Option<usize> {
    let mut power = UBig::ONE;
    for places in 0..=MAX_PLACES {
        if (&power % denominator).is_zero() {
            return Some(places);
        }
        power *= UBig::from(10u8);
    }
    None
}

/// Writes `value`, which ends after `places` decimal places.
fn write_decimal(f: &mut fmt::Formatter<'_>, value: &RBig, places: usize) -> fmt::Result {
    let scaled = value * RBig::from(UBig::from(10u8).pow(places));
    let (sign, digits) = scaled.numerator().clone().into_parts();
    let digits = format!("{digits:0>width$}", width = places + 1);
    let (whole, fraction) = digits.split_at(digits.len() - places);
    let minus = if IBig::from_parts(sign, UBig::ONE) < IBig::ZERO { "-" } else { "" };
    write!(f, "{minus}{whole}.{fraction}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(numerator: i64, denominator: u64, expected: &str) {
        let value = RBig::from_parts(IBig::from(numerator), UBig::from(denominator));
        assert_eq!(Exact(value).to_string(), expected);
    }

    #[test]
    fn ending_decimals_and_other_fractions_are_written() {
        check(0, 1, "0");
        check(-12, 1, "-12");
        check(5, 2, "2.5");
        check(-1, 4, "-0.25");
        check(1, 1_000_000_000_000, "0.000000000001");
        check(1, 10_000_000_000_000, "1/10000000000000");
        check(10, 3, "10/3");
        check(-10, 6, "-5/3");
    }

    #[test]
    fn long_numbers_are_described() {
        let value = RBig::from(UBig::ONE << 1000);
        assert_eq!(Exact(value).to_string(), "a number of 1002 bits");
    }
}
