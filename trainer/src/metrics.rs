//! Metrics of a step, by name.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

/// Metrics of a step, an evaluation or a run. Names are paths such as `loss` or
/// `rollout/tokens`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Metrics {
    numbers: BTreeMap<String, f64>,
    transcript: Option<Value>,
}

impl Metrics {
    /// Sets a number.
    pub fn set(&mut self, name: impl Into<String>, value: f64) {
        self.numbers.insert(name.into(), value);
    }

    /// Adds to a number that starts at 0.
    pub fn add(&mut self, name: &str, value: f64) {
        *self.numbers.entry(name.to_owned()).or_default() += value;
    }

    /// A number.
    pub fn get(&self, name: &str) -> Option<f64> {
        self.numbers.get(name).copied()
    }

    /// All of them, in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, f64)> {
        self.numbers.iter().map(|(name, value)| (name.as_str(), *value))
    }

    /// Adds the numbers of a struct, by the names of its fields under a prefix.
    pub fn add_all(&mut self, prefix: &str, counts: &impl Serialize) {
        let json = serde_json::to_value(counts).unwrap_or_default();
        for (name, value) in json.as_object().into_iter().flatten() {
            if let Some(value) = value.as_f64() {
                self.add(&format!("{prefix}{name}"), value);
            }
        }
    }

    /// Sets the transcript of a rollout.
    pub fn set_transcript(&mut self, transcript: Value) {
        self.transcript = Some(transcript);
    }

    /// The transcript of a rollout, a JSON object; `None` for a policy without tools.
    pub fn transcript(&self) -> Option<&Value> {
        self.transcript.as_ref()
    }

    /// Adds all numbers of another, under a prefix.
    pub fn extend(&mut self, prefix: &str, other: &Metrics) {
        for (name, value) in other.iter() {
            self.set(format!("{prefix}{name}"), value);
        }
    }
}
