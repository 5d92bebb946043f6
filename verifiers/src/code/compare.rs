//! Comparison of outputs and values, outside of the sandbox.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};
use serde_json::{Number, Value};

/// When an output equals the expected one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputRule {
    /// Byte by byte.
    Exact,
    /// Line by line, white space at both ends of lines and empty lines at the end aside; lines whose
    /// words are equal as decimal numbers are equal (`LiveCodeBench`).
    #[default]
    Lines,
    /// Word by word; words that are decimal numbers are compared as numbers.
    Words,
}

/// When a value equals the expected JSON value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ValueRule {
    /// Of the same type: `1`, `1.0` and `True` are three values. A tuple counts as a list and an
    /// integer key as its text, because JSON has neither.
    #[default]
    Typed,
    /// Numbers and truth values by their value, as Python's `==`.
    Python,
}

impl OutputRule {
    /// Whether `output` is what `expected` says.
    pub fn accepts(self, expected: &str, output: &[u8]) -> bool {
        if self == Self::Exact {
            return expected.as_bytes() == output;
        }
        let Ok(output) = std::str::from_utf8(output) else { return false };
        match self {
            Self::Exact => unreachable!("handled above"),
            Self::Words => same_words(expected, output),
            Self::Lines => {
                let lines = |text: &str| -> Vec<String> {
                    text.trim_end().lines().map(|line| line.trim().to_owned()).collect()
                };
                let (expected, output) = (lines(expected), lines(output));
                expected.len() == output.len()
                    && expected.iter().zip(&output).all(|(e, o)| e == o || same_numbers(e, o))
            }
        }
    }
}

fn same_words(left: &str, right: &str) -> bool {
    let (left, right) = (left.split_whitespace(), right.split_whitespace());
    left.clone().count() == right.clone().count()
        && left.zip(right).all(|(l, r)| l == r || same_number(l, r))
}

fn same_numbers(left: &str, right: &str) -> bool {
    let (left, right) = (left.split_whitespace(), right.split_whitespace());
    left.clone().count() == right.clone().count() && left.zip(right).all(|(l, r)| same_number(l, r))
}

/// Whether two texts are the same decimal number, exactly.
fn same_number(left: &str, right: &str) -> bool {
    matches!((decimal(left), decimal(right)), (Some(left), Some(right)) if left == right)
}

/// A decimal number as sign, digits without zeros around them, and the power of ten of the last.
fn decimal(text: &str) -> Option<(bool, String, i64)> {
    let (is_negative, rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (mantissa, exponent) = match rest.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (rest, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let short = digits.trim_end_matches('0');
    let dropped = i64::try_from(digits.len() - short.len()).ok()?;
    let power = i64::from(exponent) - i64::try_from(fraction.len()).ok()? + dropped;
    let short = short.trim_start_matches('0');
    Some(if short.is_empty() {
        (false, String::new(), 0)
    } else {
        (is_negative, short.to_owned(), power)
    })
}

impl ValueRule {
    /// Whether `found`, a value as the harness encodes it, is the JSON value `expected`.
    pub fn accepts(self, expected: &Value, found: &Value) -> bool {
        match (expected, found) {
            (Value::Null, Value::Null) => true,
            (Value::Bool(expected), Value::Bool(found)) => expected == found,
            (Value::String(expected), Value::String(found)) => expected == found,
            (_, Value::Array(encoded)) => self.accepts_encoded(expected, encoded),
            (Value::Number(expected), Value::Bool(found)) => {
                self == Self::Python && is_number(expected, if *found { "1" } else { "0" })
            }
            _ => false,
        }
    }

    fn accepts_encoded(self, expected: &Value, encoded: &[Value]) -> bool {
        let [Value::String(kind), content, ..] = encoded else { return false };
        match (kind.as_str(), expected, content) {
            ("int", Value::Number(expected), Value::String(found)) => {
                let is_whole = expected.is_i64() || expected.is_u64() || is_beyond(expected);
                (is_whole || self == Self::Python) && is_number(expected, found)
            }
            ("float", Value::Number(expected), Value::String(found)) => {
                let found: Option<f64> = found.parse().ok();
                (expected.is_f64() || self == Self::Python) && expected.as_f64() == found
            }
            ("int" | "float", Value::Bool(expected), Value::String(found)) => {
                self == Self::Python && same_number(if *expected { "1" } else { "0" }, found)
            }
            ("list" | "tuple", Value::Array(expected), Value::Array(found)) => {
                expected.len() == found.len()
                    && expected.iter().zip(found).all(|(e, f)| self.accepts(e, f))
            }
            ("dict", Value::Object(expected), Value::Array(found)) => {
                let entry = |entry: &Value| {
                    let [key, value] = entry.as_array()?.as_slice() else { return None };
                    let key = match key {
                        Value::String(key) => key.clone(),
                        Value::Array(key) if key.first()? == "int" => {
                            key.get(1)?.as_str()?.to_owned()
                        }
                        Value::Null
                        | Value::Bool(_)
                        | Value::Number(_)
                        | Value::Array(_)
                        | Value::Object(_) => return None,
                    };
                    self.accepts(expected.get(&key)?, value).then_some(key)
                };
                // A key may come twice: as an integer and as its text.
                let keys: Option<HashSet<String>> = found.iter().map(entry).collect();
                expected.len() == found.len()
                    && keys.is_some_and(|keys| keys.len() == expected.len())
            }
            _ => false,
        }
    }
}

/// Whether an integer of JSON was too large for 64 bits and became a float.
fn is_beyond(number: &Number) -> bool {
    number.is_f64() && number.as_f64().is_some_and(|value| value.abs() >= 9.2e18)
}

/// Whether the text of an integer is the number `expected`.
fn is_number(expected: &Number, found: &str) -> bool {
    if expected.is_f64() {
        return found.parse::<f64>().ok() == expected.as_f64();
    }
    expected.to_string() == found
}
