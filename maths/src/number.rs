//! Unsigned decimal literals: `12`, `1,234.50`, `.5`, exactly.
//!
//! Proof the extent of a literal and computing its value are two steps, so that a caller can
//! charge fuel for the digits before any big number is built.

use dashu::integer::{IBig, UBig};
use dashu::rational::RBig;

/// A literal at the start of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DecimalLiteral<'a> {
    /// Digits before the point, with thousands separators where they were written; may be empty.
    whole: &'a str,
    /// Digits after the point, where one was written.
    fraction: Option<&'a str>,
    /// Bytes of the literal.
    len: usize,
}

impl<'a> DecimalLiteral<'a> {
    /// Returns the longest literal at the start of `text`.
    ///
    /// Commas belong to it only as valid thousands separators: `1,234` is one number, `1,23` and
    /// `0,123` are the numbers 1 and 0 followed by something else. A point belongs to it only when
    /// a digit follows, so that the full stop after a sentence does not.
    pub fn scan(text: &'a str) -> Option<Self> {
        let bytes = text.as_bytes();
        let mut end = digits_from(bytes, 0);
        if (1..=3).contains(&end) && bytes[0] != b'0' {
            while is_group(bytes, end) {
                end += 4;
            }
        }
        let whole = &text[..end];
        let after_point = digits_from(bytes, end + 1);
        let has_fraction = bytes.get(end) == Some(&b'.') && after_point > end + 1;
        if whole.is_empty() && !has_fraction {
            return None;
        }
        if !has_fraction {
            return Some(Self { whole, fraction: None, len: end });
        }
        let fraction = Some(&text[end + 1..after_point]);
        Some(Self { whole, fraction, len: after_point })
    }

    /// Counts the bytes of the literal.
    pub fn byte_len(&self) -> usize {
        self.len
    }

    /// Returns the digits after the point; `None` if no point was written.
    pub fn decimals(&self) -> Option<usize> {
        self.fraction.map(str::len)
    }

    /// Returns the exact value. Costs time with the digits; charge fuel for [`Self::byte_len`]
    /// first.
    pub fn value(&self) -> RBig {
        let fraction = self.fraction.unwrap_or("");
        if self.len <= 19 {
            return small_value(self.whole, fraction);
        }
        let digits: String =
            self.whole.chars().filter(|c| *c != ',').chain(fraction.chars()).collect();
        decimal(&digits, fraction.len())
    }
}

/// Returns the number whose decimal digits are `digits`, the last `decimals` of them after the
/// point. Costs [`cost`].
pub(crate) fn decimal(digits: &str, decimals: usize) -> RBig {
    let numerator = IBig::from_str_radix(digits, 10).expect("the caller passes digits only");
    if decimals == 0 {
        return RBig::from(numerator);
    }
    RBig::from_parts(numerator, UBig::from(10u8).pow(decimals))
}

/// Returns 10 to the power of `exponent`. Costs [`cost`] of `|exponent|` digits.
pub(crate) fn power_of_ten(exponent: i32) -> RBig {
    let magnitude = usize::try_from(exponent.unsigned_abs()).expect("a usize has 32 bits");
    let power = UBig::from(10u8).pow(magnitude);
    if exponent < 0 { RBig::from_parts(IBig::from(1u8), power) } else { RBig::from(power) }
}

/// Returns the fuel for reading, reducing or comparing fractions of `digits` decimal digits in all:
/// measured, with the quadratic part that greatest common divisors have.
pub(crate) fn cost(digits: usize) -> u64 {
    let digits = u64::try_from(digits).unwrap_or(u64::MAX);
    digits.saturating_add(digits.saturating_mul(digits) / 25_000)
}

/// Computes the value of up to 19 bytes, whose digits fit a machine word.
fn small_value(whole: &str, fraction: &str) -> RBig {
    let mut numerator = 0u64;
    for digit in whole.bytes().chain(fraction.bytes()).filter(u8::is_ascii_digit) {
        numerator = numerator * 10 + u64::from(digit - b'0');
    }
    if fraction.is_empty() {
        return RBig::from(numerator);
    }
    let mut denominator = 1u64;
    for _ in 0..fraction.len() {
        denominator *= 10;
    }
    RBig::from_parts(IBig::from(numerator), UBig::from(denominator))
}

/// Returns the end of the run of digits that starts at `from`.
fn digits_from(bytes: &[u8], from: usize) -> usize {
    let mut end = from;
    while bytes.get(end).is_some_and(u8::is_ascii_digit) {
        end += 1;
    }
    end
}

/// Returns whether a comma and exactly three digits stand at `at`.
fn is_group(bytes: &[u8], at: usize) -> bool {
    bytes.get(at) == Some(&b',') && digits_from(bytes, at + 1) == at + 4
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Option<(&str, usize, Option<usize>)>) {
        let found =
            DecimalLiteral::scan(text).map(|l| (l.value().to_string(), l.byte_len(), l.decimals()));
        let expected = expected.map(|(v, len, decimals)| (v.to_owned(), len, decimals));
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn literals_end_where_the_number_ends() {
        check("12", Some(("12", 2, None)));
        check("12.", Some(("12", 2, None)));
        check("2.50 dollars", Some(("5/2", 4, Some(2))));
        check(".5", Some(("1/2", 2, Some(1))));
        check("1,234,567.8", Some(("6172839/5", 11, Some(1))));
        check("1,23", Some(("1", 1, None)));
        check("1234,567", Some(("1234", 4, None)));
        check("0,123", Some(("0", 1, None)));
        check("1,2345", Some(("1", 1, None)));
        check("000", Some(("0", 3, None)));
        check("18446744073709551616", Some(("18446744073709551616", 20, None)));
        check("0.00000000000000000000001", Some(("1/100000000000000000000000", 25, Some(23))));
        check("", None);
        check(".", None);
        check("-5", None);
        check("x", None);
    }
}
