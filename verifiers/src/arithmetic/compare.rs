//! Whether the two sides of an equality are the same number, or say so within the documented rules
//! of rounding.

use dashu::base::{Abs, Signed};
use dashu::integer::{IBig, UBig};
use dashu::rational::RBig;

use super::config::{ArithmeticConfig, Rounding};
use super::report::EqualityRule;
use super::token::Numeral;

/// A side that is one written number, and its places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct WrittenNumber {
    /// Places after the point; none for a whole number.
    pub(super) decimals: usize,
}

/// The precision that the text claims.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Precision {
    /// `≈`, or a word such as `about`: whole numbers may be rounded too.
    pub(super) approximate: bool,
    /// A number shows that floating-point arithmetic wrote it.
    pub(super) float: bool,
}

/// Returns the rule by which `exact` may be written as `written`, if there is one.
pub(super) fn rounds_to(
    exact: &RBig,
    written: &RBig,
    form: WrittenNumber,
    precision: Precision,
    config: &ArithmeticConfig,
) -> Option<EqualityRule> {
    if written.is_zero() {
        return None;
    }
    let unit = RBig::ONE / RBig::from(UBig::from(10u8).pow(form.decimals));
    let rounding = if precision.approximate {
        Rounding::NearestOrTruncated
    } else if form.decimals == 0 {
        config.whole_numbers
    } else {
        config.decimals
    };
    if let Some(rule) = rounded_at(exact, written, &unit, rounding) {
        return Some(rule);
    }
    if !precision.approximate {
        return None;
    }
    rounded_roughly(exact, written, form, &unit)
}

/// Finds the rule by which `written` is `exact` rounded half up, or cut, at `unit`.
fn rounded_at(
    exact: &RBig,
    written: &RBig,
    unit: &RBig,
    rounding: Rounding,
) -> Option<EqualityRule> {
    if rounding == Rounding::Exact {
        return None;
    }
    let error = (exact - written).abs();
    if &error * RBig::from(2u8) <= *unit {
        return Some(EqualityRule::Rounded);
    }
    let cut = error < *unit
        && exact.is_negative() == written.is_negative()
        && written.clone().abs() < exact.clone().abs();
    (cut && rounding == Rounding::NearestOrTruncated).then_some(EqualityRule::Truncated)
}

/// Finds the rule for a value marked as approximate: rounded up, or to the last digit that is not
/// zero.
fn rounded_roughly(
    exact: &RBig,
    written: &RBig,
    form: WrittenNumber,
    unit: &RBig,
) -> Option<EqualityRule> {
    let error = (exact - written).abs();
    if error < *unit {
        return Some(EqualityRule::Rounded);
    }
    let zeros = trailing_zeros(written);
    let coarse = RBig::from(UBig::from(10u8).pow(zeros));
    (form.decimals == 0 && error * RBig::from(2u8) <= coarse).then_some(EqualityRule::Rounded)
}

/// Zeros at the end of a whole number, up to 18.
fn trailing_zeros(value: &RBig) -> usize {
    let mut rest = value.numerator().clone();
    let ten = IBig::from(10u8);
    let mut zeros = 0;
    while zeros < 18 && (&rest % &ten).is_zero() {
        rest /= &ten;
        zeros += 1;
    }
    zeros
}

/// Returns whether two values differ by no more than floating-point arithmetic explains.
pub(super) fn is_float_error(left: &RBig, right: &RBig) -> bool {
    let scale = left.clone().abs().max(right.clone().abs());
    let error = (left - right).abs();
    error * RBig::from(1_000_000_000_000u64) <= scale
}

/// Returns whether two values are within a tenth, which `about` allows.
pub(super) fn is_near(left: &RBig, right: &RBig) -> bool {
    let scale = left.clone().abs().max(right.clone().abs());
    let error = (left - right).abs();
    error * RBig::from(10u8) <= scale
}

/// Longest number that is tested for rounding, in characters.
const LONGEST_ROUNDED: usize = 40;

/// Returns the relative error that a written number may hide where it looks rounded: it has more
/// than two decimal places, or two that thirds end with (`0.33`, `6.67`, `1.66`).
fn roughness(numeral: Numeral<'_>) -> Option<RBig> {
    let Numeral::Decimal(literal) = numeral else {
        return None;
    };
    let decimals = literal.decimals()?;
    if decimals < 2 || literal.byte_len() > LONGEST_ROUNDED {
        return None;
    }
    let value = literal.value();
    let units = &value * RBig::from(UBig::from(10u8).pow(decimals));
    let looks_rounded = if decimals == 2 {
        // Cents of 33, 66 or 67, with any whole part.
        let cents = units.numerator() % IBig::from(100u8);
        [33u8, 66, 67].iter().any(|end| cents == IBig::from(*end))
    } else {
        units >= RBig::from(100u8)
    };
    looks_rounded.then(|| RBig::ONE / units)
}

/// Returns the sum of the relative errors that written numbers may hide, rounded up: exact, it would
/// have the product of all their denominators.
pub(super) fn total_roughness<'a>(numerals: impl Iterator<Item = Numeral<'a>>) -> RBig {
    // The errors are above the last place of the longest number.
    let units = UBig::from(10u8).pow(LONGEST_ROUNDED);
    let scale = RBig::from(units.clone());
    let total = numerals
        .filter_map(roughness)
        .fold(IBig::ZERO, |total, rough| total + (rough * &scale).ceil());
    RBig::from_parts(total, units)
}

/// Returns whether one amount is the other in cents.
pub(super) fn are_cents_and_dollars(left: &RBig, right: &RBig) -> bool {
    let hundred = RBig::from(100u8);
    left * &hundred == *right || right * &hundred == *left
}

/// Factors between units that are written side by side: minutes and hours, cents and dollars.
const FACTORS: [u32; 24] = [
    2, 3, 4, 5, 7, 8, 10, 12, 16, 20, 24, 25, 30, 36, 52, 60, 100, 144, 365, 1000, 1440, 1760,
    3600, 5280,
];

/// Returns whether one value is the other times a factor of conversion.
pub(super) fn is_conversion(left: &RBig, right: &RBig) -> bool {
    if left.is_zero() || right.is_zero() {
        return false;
    }
    let ratio = left / right;
    let ratio = if ratio.numerator().clone().abs() < IBig::from(ratio.denominator().clone()) {
        RBig::ONE / ratio
    } else {
        ratio
    };
    let large = [1_000_000u32, 1_000_000_000];
    FACTORS.iter().chain(&large).any(|factor| ratio == RBig::from(*factor))
}

#[cfg(test)]
mod tests {
    use dashu::base::BitTest;
    use maths::DecimalLiteral;

    use super::*;

    fn total(texts: &[String]) -> RBig {
        let literals = texts.iter().map(|text| DecimalLiteral::scan(text).expect("a number"));
        total_roughness(literals.map(Numeral::Decimal))
    }

    #[test]
    fn errors_of_many_numbers_share_a_denominator() {
        let first = 10_u128.pow(37);
        let texts: Vec<String> = (0..500).map(|n| format!("0.{}", first + 2 * n + 1)).collect();
        let many = total(&texts);
        // That of 10^40.
        assert!(many.denominator().bit_len() <= 133, "{} bits", many.denominator().bit_len());
        let one = RBig::from_parts(IBig::ONE, UBig::from(first));
        assert!(many < &one * RBig::from(501u16) && many > &one * RBig::from(499u16));
        let third = RBig::from_parts(IBig::ONE, UBig::from(333u16));
        let rounded = total(&["0.333".to_owned(), "7".to_owned()]);
        assert!(rounded >= third && rounded - third < one);
    }
}
