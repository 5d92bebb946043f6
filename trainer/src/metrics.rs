//! Metrics of a step, by name.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

/// Metrics of a step, an evaluation or a run. Names are paths such as `loss` or
/// `rollout/tokens`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Metrics {
    numbers: BTreeMap<String, f64>,
    /// The number of values that a mean is over, by its name.
    counts: BTreeMap<String, f64>,
    transcript: Option<Value>,
}

impl Metrics {
    /// Sets a number.
    pub fn set(&mut self, name: impl Into<String>, value: f64) {
        let name = name.into();
        self.counts.remove(&name);
        self.numbers.insert(name, value);
    }

    /// Sets the mean of `count` values, so that [`Metrics::pool`] can weigh it.
    pub fn set_mean(&mut self, name: impl Into<String>, mean: f64, count: f64) {
        let name = name.into();
        self.counts.insert(name.clone(), count);
        self.numbers.insert(name, mean);
    }

    /// Adds the mean of `count` more values to a mean: it becomes that of all. A mean of no values changes
    /// nothing.
    pub fn add_mean(&mut self, name: impl Into<String>, mean: f64, count: f64) {
        let name = name.into();
        if count <= 0.0 {
            return;
        }
        let before = self.counts.get(&name).copied().unwrap_or(0.0);
        let mean = match self.get(&name) {
            Some(old) if before > 0.0 => old + (mean - old) * count / (before + count),
            Some(_) | None => mean,
        };
        self.set_mean(name, mean, before + count);
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
            let own = format!("{prefix}{name}");
            match other.counts.get(name) {
                Some(count) => self.set_mean(own, value, *count),
                None => self.set(own, value),
            }
        }
    }

    /// Adds the metrics of another batch: a mean becomes that of the values of both batches, and other
    /// numbers are summed. A mean of no values changes nothing.
    pub fn pool(&mut self, batch: &Metrics) {
        for (name, value) in batch.iter() {
            match batch.counts.get(name) {
                Some(count) => self.add_mean(name, value, *count),
                None => self.add(name, value),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Metrics;

    #[test]
    fn means_of_batches_are_weighted_by_their_values() {
        let batch = |loss: (f64, f64), tokens: f64| {
            let mut metrics = Metrics::default();
            metrics.set_mean("loss", loss.0, loss.1);
            metrics.set("tokens", tokens);
            metrics
        };
        let mut all = Metrics::default();
        for metrics in [batch((1.0, 3.0), 3.0), batch((f64::NAN, 0.0), 0.0), batch((5.0, 1.0), 1.0)]
        {
            all.pool(&metrics);
        }
        assert_eq!(["loss", "tokens"].map(|name| all.get(name)), [Some(2.0), Some(4.0)]);
        let mut under = Metrics::default();
        under.extend("a/", &all);
        let mut one = Metrics::default();
        one.set_mean("a/loss", 7.0, 1.0);
        under.pool(&one);
        assert_eq!(under.get("a/loss"), Some(3.0));
    }
}
