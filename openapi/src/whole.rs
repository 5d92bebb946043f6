//! Whole numbers as JSON Schema means them: `2000.0` is the integer 2000.
//!
//! Some clients compute a number of milliseconds as a float; JSON does not tell the two apart, and
//! neither does the schema.

use std::fmt;

use serde::de::{Deserializer, Error, Unexpected, Visitor};

/// Reads a whole number that is not negative.
pub(crate) fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    deserializer.deserialize_any(WholeVisitor)
}

/// Reads a whole number that is not negative, or null.
pub(crate) fn read_option<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<u64>, D::Error> {
    deserializer.deserialize_option(OptionVisitor)
}

struct WholeVisitor;

/// Above this, neighbouring floats are more than one apart.
const MAX_EXACT: f64 = 9_007_199_254_740_992.0;

impl Visitor<'_> for WholeVisitor {
    type Value = u64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a whole number that is not negative")
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<u64, E> {
        Ok(number)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<u64, E> {
        let unexpected = Unexpected::Signed(number);
        u64::try_from(number).map_err(|_| E::invalid_value(unexpected, &self))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<u64, E> {
        let whole = number.fract() == 0.0 && (0.0..=MAX_EXACT).contains(&number);
        if !whole {
            return Err(E::invalid_value(Unexpected::Float(number), &self));
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "whole, not negative and below 2^53"
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
        read(deserializer).map(Some)
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
    fn whole_numbers() {
        check("{}", Some((None, 0)));
        check(r#"{"deadline_ms": null}"#, Some((None, 0)));
        check(
            r#"{"deadline_ms": 5, "seed": 18446744073709551615}"#,
            Some((Some(5), u64::MAX)),
        );
        check(
            r#"{"deadline_ms": 2000.0, "seed": 7.0}"#,
            Some((Some(2000), 7)),
        );
        check(r#"{"deadline_ms": 1e3}"#, Some((Some(1000), 0)));
        check(r#"{"seed": -0.0}"#, Some((None, 0)));
        for bad in ["0.5", "-1", "-1.0", "1e300", "1e16", "\"5\"", "true", "[5]"] {
            check(&format!("{{\"deadline_ms\": {bad}}}"), None);
            check(&format!("{{\"seed\": {bad}}}"), None);
        }
        check(r#"{"seed": null}"#, None);
    }
}
