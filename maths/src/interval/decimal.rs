//! Values in decimal, for people.

use std::cmp::Ordering;

use dashu::base::BitTest;
use dashu::integer::{IBig, UBig};
use dashu::rational::RBig;

use super::bounds::Interval;
use super::value::NumericValue;

/// Magnitudes beyond two to the power of this are given as powers of two.
const MAX_TOP: i64 = 1 << 14;

/// Returns `value` with `digits` significant digits.
pub(super) fn of_value(value: &NumericValue, digits: u32) -> String {
    match value {
        NumericValue::Exact(value) => of_rational(value, digits),
        NumericValue::Real(interval) => of_interval(interval, digits),
        NumericValue::Complex(re, im) => {
            let (re, im) = (of_interval(re, digits), of_interval(im, digits));
            match im.strip_prefix('-') {
                Some(im) => format!("{re} - {im}i"),
                None => format!("{re} + {im}i"),
            }
        }
    }
}

fn of_interval(interval: &Interval, digits: u32) -> String {
    let top = interval.upper.magnitude().max(interval.lower.magnitude()).top();
    match top {
        Some(top) if top.abs() > MAX_TOP && !interval.contains_zero() => format!("about 2^{top}"),
        None => "0".to_owned(),
        Some(top) if top < -MAX_TOP => "0".to_owned(),
        Some(_) => {
            let middle = (interval.lower() + interval.upper()) / IBig::from(2);
            // An interval around 0 is shown as 0.
            if interval.contains_zero() { "0".to_owned() } else { of_rational(&middle, digits) }
        }
    }
}

/// Returns `value` rounded to `digits` significant digits.
fn of_rational(value: &RBig, digits: u32) -> String {
    if value.is_zero() {
        return "0".to_owned();
    }
    let lengths = i64::try_from(value.numerator().bit_len()).unwrap_or(i64::MAX)
        - i64::try_from(value.denominator().bit_len()).unwrap_or(i64::MAX);
    if lengths.abs() > MAX_TOP {
        return format!("about 2^{lengths}");
    }
    let (_, numerator) = value.numerator().clone().into_parts();
    let denominator = value.denominator();
    // 30103/100000 is the logarithm of 2 to the base 10.
    let mut exponent = lengths * 30_103 / 100_000 + 1;
    let wanted = usize::try_from(digits).expect("a count of digits fits");
    let mut figures;
    loop {
        let scale = i64::from(digits) - exponent;
        figures = scaled_quotient(&numerator, denominator, scale).to_string();
        match figures.len().cmp(&wanted) {
            Ordering::Less => exponent -= 1,
            Ordering::Equal => break,
            Ordering::Greater => exponent += 1,
        }
    }
    let minus = if *value < RBig::ZERO { "-" } else { "" };
    format!("{minus}{}", placed(&figures, exponent, value.denominator().is_one()))
}

/// Returns `numerator * 10^scale / denominator` to the nearest integer.
fn scaled_quotient(numerator: &UBig, denominator: &UBig, scale: i64) -> UBig {
    let power = UBig::from(10u8).pow(usize::try_from(scale.unsigned_abs()).unwrap_or(0));
    let (numerator, denominator) = if scale >= 0 {
        (numerator * power, denominator.clone())
    } else {
        (numerator.clone(), denominator * power)
    };
    ((numerator << 1) + &denominator) / (denominator << 1)
}

/// Puts the point of `0.figures * 10^exponent` in its place.
fn placed(figures: &str, exponent: i64, is_integer: bool) -> String {
    let len = i64::try_from(figures.len()).unwrap_or(i64::MAX);
    let trimmed = figures.trim_end_matches('0');
    match usize::try_from(exponent) {
        Ok(exponent @ 1..=20) if exponent >= figures.len() => {
            if is_integer || i64::try_from(exponent) == Ok(len) {
                let zeros = "0".repeat(exponent - figures.len());
                return format!("{figures}{zeros}");
            }
        }
        Ok(exponent @ 1..=20) => {
            let (whole, fraction) = figures.split_at(exponent);
            let fraction = fraction.trim_end_matches('0');
            return if fraction.is_empty() {
                whole.to_owned()
            } else {
                format!("{whole}.{fraction}")
            };
        }
        Ok(_) | Err(_) => {}
    }
    if (-5..=0).contains(&exponent) {
        let zeros = "0".repeat(usize::try_from(-exponent).unwrap_or(0));
        return format!("0.{zeros}{trimmed}");
    }
    let (first, rest) = trimmed.split_at(1.min(trimmed.len()));
    let point = if rest.is_empty() { "" } else { "." };
    format!("{first}{point}{rest}e{}", exponent - 1)
}
