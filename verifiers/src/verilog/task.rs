//! References of the kind: a golden module and what is known of it.

use serde_json::{Map, Value};

use crate::{Gold, Reason, VerifyError};

/// The reference of an input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerilogTask {
    /// The text of the golden module and of those that it uses.
    pub(super) golden: String,
    /// The module that is compared; the last one that no other uses, if none is named.
    pub(super) top: Option<String>,
    /// The clock's port.
    pub(super) clock: Option<String>,
    /// The reset's port, and whether 1 resets.
    pub(super) reset: Option<(String, Option<bool>)>,
    /// Cycles, or random vectors of a circuit without a clock.
    pub(super) cycles: Option<usize>,
    /// The seed of the stimuli.
    pub(super) seed: Option<u64>,
}

/// Bytes of a golden text or of a candidate.
pub(super) const MAX_BYTES: usize = 256 << 10;

/// Most cycles of a test bench.
pub const MAX_CYCLES: u64 = 100_000;

impl VerilogTask {
    /// Reads a reference: the golden text, or an object with it.
    ///
    /// # Errors
    /// [`VerifyError::BadReference`] with the place.
    pub fn read(gold: Gold<'_>) -> Result<Self, VerifyError> {
        let task = match gold {
            Gold::Missing => return Err(VerifyError::missing_reference()),
            Gold::Text(text) => match serde_json::from_str(text) {
                Ok(Value::Object(fields)) => Self::from_fields(&fields)?,
                _ => Self::of(text),
            },
            Gold::Object(fields) => Self::from_fields(fields)?,
            Gold::AnyOf(_) => return Err(malformed("the reference is a list")),
        };
        if task.golden.len() > MAX_BYTES {
            return Err(malformed(format!("'golden' is longer than {MAX_BYTES} bytes")));
        }
        Ok(task)
    }

    fn of(golden: &str) -> Self {
        let golden = golden.to_owned();
        Self { golden, top: None, clock: None, reset: None, cycles: None, seed: None }
    }

    fn from_fields(fields: &Map<String, Value>) -> Result<Self, VerifyError> {
        let mut task = Self::of("");
        for (name, value) in fields {
            let text = || {
                let text = value.as_str().map(str::to_owned);
                text.ok_or_else(|| malformed(format!("'{name}' is no text")))
            };
            match name.as_str() {
                "golden" => task.golden = text()?,
                "top" => task.top = Some(text()?),
                "clock" => task.clock = Some(text()?),
                "reset" => task.reset = Some(reset(value)?),
                "cycles" => task.cycles = Some(cycles(value)?),
                "seed" => {
                    let seed = value.as_u64();
                    task.seed =
                        Some(seed.ok_or_else(|| malformed("'seed' is no whole number from 0"))?);
                }
                _ => return Err(malformed(format!("'{name}' is no field of a reference"))),
            }
        }
        if task.golden.trim().is_empty() {
            return Err(malformed("'golden' is missing"));
        }
        Ok(task)
    }
}

fn cycles(value: &Value) -> Result<usize, VerifyError> {
    value
        .as_u64()
        .filter(|cycles| (1..=MAX_CYCLES).contains(cycles))
        .and_then(|cycles| usize::try_from(cycles).ok())
        .ok_or_else(|| malformed(format!("'cycles' is no whole number from 1 to {MAX_CYCLES}")))
}

/// `"rst"`, or `{"name": "rst", "active": "low"}`.
fn reset(value: &Value) -> Result<(String, Option<bool>), VerifyError> {
    if let Value::String(name) = value {
        return Ok((name.clone(), None));
    }
    let Some(fields) = value.as_object() else {
        return Err(malformed("'reset' is no text and no object"));
    };
    let name = fields.get("name").and_then(Value::as_str);
    let name = name.ok_or_else(|| malformed("'reset.name' is missing"))?;
    let active = match fields.get("active").map(|value| (value.as_str(), value.as_u64())) {
        None => None,
        Some((Some("high"), _) | (_, Some(1))) => Some(true),
        Some((Some("low"), _) | (_, Some(0))) => Some(false),
        Some(_) => return Err(malformed("'reset.active' is none of \"high\" and \"low\"")),
    };
    match fields.keys().find(|key| !["name", "active"].contains(&key.as_str())) {
        Some(key) => Err(malformed(format!("'reset.{key}' is no field of a reference"))),
        None => Ok((name.to_owned(), active)),
    }
}

pub(super) fn malformed(why: impl Into<std::borrow::Cow<'static, str>>) -> VerifyError {
    VerifyError::BadReference(Reason::with("malformed_reference", why))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn places_of_malformed_references_are_named() {
        for (reference, expected) in [
            (json!({}), "'golden' is missing"),
            (json!({"golden": " "}), "'golden' is missing"),
            (json!({"golden": 3}), "'golden' is no text"),
            (json!({"golden": "m", "cycles": 0}), "'cycles'"),
            (json!({"golden": "m", "cycles": 1_000_000}), "'cycles'"),
            (json!({"golden": "m", "seed": -1}), "'seed'"),
            (json!({"golden": "m", "reset": 1}), "'reset'"),
            (json!({"golden": "m", "reset": {"active": 1}}), "'reset.name'"),
            (json!({"golden": "m", "reset": {"name": "r", "active": "up"}}), "'reset.active'"),
            (json!({"golden": "m", "reset": {"name": "r", "kind": 1}}), "'reset.kind'"),
            (json!({"golden": "m", "testbench": "x"}), "'testbench'"),
            (json!({"golden": "x".repeat(MAX_BYTES + 1)}), "'golden' is longer"),
        ] {
            let found = VerilogTask::read(Gold::Object(reference.as_object().expect("fields")));
            let Err(VerifyError::BadReference(reason)) = found else {
                panic!("{reference} was read");
            };
            let detail = reason.detail.expect("a detail");
            assert!(detail.contains(expected), "{reference}: {detail}");
        }
    }
}
