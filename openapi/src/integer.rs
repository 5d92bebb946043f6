//! Integers as JSON Schema has them: `2000.0` is the integer 2000.
//!
//! Some clients compute milliseconds as a float; neither JSON nor the schema distinguishes the two.
//! Numbers above 2^53 are refused, because many JSON libraries change them silently.

use std::fmt;

use serde::de::{Deserializer, Error, Unexpected, Visitor};

/// Reads a non-negative integer.
pub fn read_unsigned<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    deserializer.deserialize_any(WholeVisitor)
}

/// Reads a positive integer, or null.
pub fn read_positive<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    match deserializer.deserialize_option(OptionVisitor)? {
        Some(0) => Err(D::Error::invalid_value(Unexpected::Unsigned(0), &"a whole number above 0")),
        other => Ok(other),
    }
}

/// Reads a non-negative integer, or null.
pub fn read_option<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    deserializer.deserialize_option(OptionVisitor)
}

/// Reads an integer, or null; up to 64 bits as an integer, up to 2^53 as a float.
pub fn read_signed<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<i64>, D::Error> {
    deserializer.deserialize_any(SignedVisitor)
}

struct SignedVisitor;

impl Visitor<'_> for SignedVisitor {
    type Value = Option<i64>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a whole number of at most 64 bits, or null")
    }

    fn visit_unit<E>(self) -> Result<Option<i64>, E> {
        Ok(None)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Option<i64>, E> {
        Ok(Some(number))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Option<i64>, E> {
        let unexpected = Unexpected::Unsigned(number);
        let number = i64::try_from(number).map_err(|_| E::invalid_value(unexpected, &self))?;
        Ok(Some(number))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Option<i64>, E> {
        let size = WholeVisitor.visit_f64::<E>(number.abs());
        let size = size.map_err(|_| E::invalid_value(Unexpected::Float(number), &self))?;
        let size = i64::try_from(size).expect("at most 2^53");
        Ok(Some(if number < 0.0 { -size } else { size }))
    }
}

struct WholeVisitor;

/// 2^53: above it, neighbouring floats are more than 1 apart.
const MAX: u64 = 1 << 53;

impl Visitor<'_> for WholeVisitor {
    type Value = u64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a whole number from 0 to 9007199254740992")
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<u64, E> {
        if number > MAX {
            return Err(E::invalid_value(Unexpected::Unsigned(number), &self));
        }
        Ok(number)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<u64, E> {
        let unexpected = Unexpected::Signed(number);
        u64::try_from(number).map_err(|_| E::invalid_value(unexpected, &self))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<u64, E> {
        #[expect(clippy::cast_precision_loss, reason = "a power of two is exact")]
        let max = MAX as f64;
        let whole = number.fract() == 0.0 && (0.0..=max).contains(&number);
        if !whole {
            return Err(E::invalid_value(Unexpected::Float(number), &self));
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "whole, not negative and at most 2^53"
        )]
        Ok(number as u64)
    }
}

struct OptionVisitor;

impl<'de> Visitor<'de> for OptionVisitor {
    type Value = Option<u64>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a whole number that is not negative, or null")
    }

    fn visit_none<E>(self) -> Result<Option<u64>, E> {
        Ok(None)
    }

    fn visit_unit<E>(self) -> Result<Option<u64>, E> {
        Ok(None)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Option<u64>, D::Error> {
        read_unsigned(deserializer).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use crate::Options;

    fn check(options: &str, expected: Option<(Option<u64>, u64)>) {
        let read: Result<Options, _> = serde_json::from_str(options);
        let read = read.ok().map(|options| (options.deadline_ms, options.seed));
        assert_eq!(read, expected, "{options}");
    }

    #[test]
    fn integral_floats_are_integers() {
        check("{}", Some((None, 0)));
        check(r#"{"deadline_ms": null}"#, Some((None, 0)));
        check(r#"{"deadline_ms": 5, "seed": 9007199254740992}"#, Some((Some(5), 1 << 53)));
        check(r#"{"deadline_ms": 2000.0, "seed": 7.0}"#, Some((Some(2000), 7)));
        check(r#"{"deadline_ms": 1e3}"#, Some((Some(1000), 0)));
        check(r#"{"seed": -0.0}"#, Some((None, 0)));
        for bad in
            ["9007199254740993", "0.5", "-1", "-1.0", "1e300", "1e16", "\"5\"", "true", "[5]"]
        {
            check(&format!("{{\"deadline_ms\": {bad}}}"), None);
            check(&format!("{{\"seed\": {bad}}}"), None);
        }
        check(r#"{"seed": null}"#, None);
    }
}
