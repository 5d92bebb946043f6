//! Logs of a run: one JSON object per step ([`JsonLines`]), `TensorBoard` events ([`EventFile`]),
//! and progress for a terminal ([`RunProgress`]).
//!
//! Times are arguments: nothing here reads a clock. A number that is not finite is `null` in JSON,
//! so that no reader takes it for a measurement.

mod append;
mod crc;
mod events;
mod jsonl;
mod progress;
mod protobuf;

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

pub use events::EventFile;
pub use jsonl::JsonLines;
pub use progress::{ProgressLine, RunProgress};

/// The numbers of one step, by name. Names have groups, as in `spark/pointwise_right`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Record {
    /// The step, from 1; 0 is before the first one.
    pub step: u64,
    /// Seconds since 1970.
    pub time: f64,
    /// The numbers.
    pub numbers: BTreeMap<String, f64>,
}

impl Record {
    /// The record of `step` at `time`, without numbers.
    pub fn new(step: u64, time: f64) -> Self {
        Self { step, time, numbers: BTreeMap::new() }
    }

    /// Sets a number; the names `step` and `time` are reserved, and such a number is dropped.
    pub fn set(&mut self, name: &str, number: f64) {
        self.numbers.insert(name.to_owned(), number);
    }

    /// Sets every number of `counts`, named by `name` and its field; a boolean is 1 or 0, and other
    /// values are skipped, so that a missing measurement has no number.
    pub fn add(&mut self, name: &str, counts: &impl Serialize) {
        if let Ok(value) = serde_json::to_value(counts) {
            self.add_value(name, &value);
        }
    }

    fn add_value(&mut self, name: &str, value: &Value) {
        match value {
            Value::Number(number) => {
                if let Some(number) = number.as_f64() {
                    self.set(name, number);
                }
            }
            Value::Bool(truth) => self.set(name, f64::from(u8::from(*truth))),
            Value::Object(fields) => {
                for (field, value) in fields {
                    self.add_value(&format!("{name}/{field}"), value);
                }
            }
            Value::Null | Value::String(_) | Value::Array(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_become_numbers() {
        #[derive(Serialize)]
        struct Counts {
            made: u64,
            rate: Option<f64>,
            lost: Option<f64>,
            broken: f64,
            full: bool,
            name: &'static str,
            inner: BTreeMap<&'static str, i32>,
        }
        let counts = Counts {
            made: 3,
            rate: Some(0.5),
            lost: None,
            broken: f64::NAN,
            full: true,
            name: "x",
            inner: [("deep", -1)].into(),
        };
        let mut record = Record::new(1, 0.0);
        record.add("c", &counts);
        let names: Vec<_> = record.numbers.iter().map(|(name, n)| (name.as_str(), *n)).collect();
        assert_eq!(
            names,
            [("c/full", 1.0), ("c/inner/deep", -1.0), ("c/made", 3.0), ("c/rate", 0.5)]
        );
    }
}
