//! Metrics with their uncertainty.

use serde::Serialize;

use super::metric_row::MetricRow;
use super::{Interval, IntervalOptions, bootstrap, wilson};

/// A metric with its uncertainty.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Estimate {
    /// Over the judged rows; `None` if the metric is undefined on them.
    pub value: Option<f64>,
    /// Confidence interval over the same rows.
    pub interval: Option<Interval>,
    /// Over all rows, with unjudged rows as wrong.
    pub at_least: Option<f64>,
    /// Judged rows.
    pub judged: usize,
    /// All rows.
    pub total: usize,
}

/// A metric by name.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Metric {
    /// The name, as the benchmark has it.
    pub name: String,
    /// The metric.
    #[serde(flatten)]
    pub estimate: Estimate,
}

/// The metrics of a benchmark, the headline metric first.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BenchmarkReport {
    /// The metrics.
    pub metrics: Vec<Metric>,
    /// Caveats, with counts.
    pub notes: Vec<String>,
}

impl BenchmarkReport {
    /// Returns the metric of this name.
    pub fn line(&self, name: &str) -> Option<&Estimate> {
        let line = self.metrics.iter().find(|line| line.name == name)?;
        Some(&line.estimate)
    }
}

impl Metric {
    /// Creates a metric.
    pub(super) fn new(name: impl Into<String>, estimate: Estimate) -> Self {
        Self { name: name.into(), estimate }
    }
}

/// Estimates a metric of judged rows, with an interval by resampling.
pub fn estimate<T: MetricRow>(
    items: &[&T],
    metric: &dyn Fn(&[&T]) -> Option<f64>,
    intervals: IntervalOptions,
) -> Estimate {
    let judged: Vec<&T> = items.iter().copied().filter(|i| i.is_judged()).collect();
    let rest = items.iter().filter(|item| !item.is_judged());
    let wrong: Vec<T> = rest.map(|item| item.as_wrong()).collect();
    let all: Vec<&T> = judged.iter().copied().chain(&wrong).collect();
    Estimate {
        value: metric(&judged),
        interval: bootstrap(&judged, metric, intervals),
        at_least: metric(&all),
        judged: judged.len(),
        total: items.len(),
    }
}

/// Estimates the mean credit of judged rows, each in [0, 1]. The interval is Wilson's if every
/// credit is 0 or 1, otherwise by resampling.
pub fn share<T: MetricRow>(
    items: &[&T],
    credit: &dyn Fn(&T) -> Option<f64>,
    intervals: IntervalOptions,
) -> Estimate {
    let metric = |items: &[&T]| super::mean(items.iter().filter_map(|item| credit(item)));
    let credits: Vec<f64> =
        items.iter().filter(|item| item.is_judged()).filter_map(|item| credit(item)).collect();
    let whole = |value: f64| credits.iter().filter(|credit| **credit >= value).count();
    let is_binary = credits.iter().all(|credit| *credit <= 0.0 || *credit >= 1.0);
    if !is_binary {
        return estimate(items, &metric, intervals);
    }
    let none = IntervalOptions { resamples: 0, ..intervals };
    Estimate {
        interval: wilson(whole(1.0), credits.len(), intervals.confidence),
        ..estimate(items, &metric, none)
    }
}
