//! A metric with what is known of its certainty.

use serde::Serialize;

use super::metric_row::MetricRow;
use super::{Interval, IntervalOptions, bootstrap, wilson};

/// A metric, and how far it can be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Estimate {
    /// Over the rows that were judged; `None` where the metric is not defined on them.
    pub value: Option<f64>,
    /// Of the same rows.
    pub interval: Option<Interval>,
    /// Over all rows, with those that were not judged as wrong.
    pub at_least: Option<f64>,
    /// Rows that were judged.
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

/// The metrics of a benchmark; the first is the one that it is known by.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BenchmarkReport {
    /// The metrics.
    pub metrics: Vec<Metric>,
    /// What a careful reader should know, with counts.
    pub notes: Vec<String>,
}

impl BenchmarkReport {
    /// The metric of this name.
    pub fn line(&self, name: &str) -> Option<&Estimate> {
        let line = self.metrics.iter().find(|line| line.name == name)?;
        Some(&line.estimate)
    }
}

impl Metric {
    /// A line.
    pub(super) fn new(name: impl Into<String>, estimate: Estimate) -> Self {
        Self { name: name.into(), estimate }
    }
}

/// A metric of judged rows, with an interval by resampling.
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

/// The mean credit of judged rows, each in [0, 1]. The interval is Wilson's where every credit is
/// 0 or 1, and by resampling where some are shared.
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
