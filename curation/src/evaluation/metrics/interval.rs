//! Confidence intervals.

use std::collections::BTreeMap;

use base::seeded::Draws;
use base::stats::quantile_of_sorted;
use serde::Serialize;

use super::metric_row::MetricRow;

/// Confidence level.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub enum Confidence {
    /// 90 %.
    #[serde(rename = "0.9")]
    P90,
    /// 95 %.
    #[default]
    #[serde(rename = "0.95")]
    P95,
    /// 99 %.
    #[serde(rename = "0.99")]
    P99,
}

impl Confidence {
    /// Returns the level.
    pub fn level(self) -> f64 {
        match self {
            Self::P90 => 0.90,
            Self::P95 => 0.95,
            Self::P99 => 0.99,
        }
    }

    /// Returns the quantile of the normal distribution at (1 + level) / 2.
    fn z(self) -> f64 {
        match self {
            Self::P90 => 1.644_853_626_951_472_2,
            Self::P95 => 1.959_963_984_540_054,
            Self::P99 => 2.575_829_303_548_900_4,
        }
    }
}

/// Options of intervals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct IntervalOptions {
    /// Resamples of a bootstrap; 0 for none.
    pub resamples: usize,
    /// Confidence level of intervals.
    pub confidence: Confidence,
    /// Seed of the resamples.
    pub seed: u64,
}

impl Default for IntervalOptions {
    fn default() -> Self {
        Self { resamples: 1000, confidence: Confidence::P95, seed: 0 }
    }
}

/// A confidence interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Its method.
    pub method: IntervalMethod,
}

/// Method of an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum IntervalMethod {
    /// Wilson's score interval of a share.
    Wilson,
    /// Percentiles of resamples, each drawn within the strata of the benchmark.
    Bootstrap,
}

/// Computes Wilson's score interval (1927) for `right` of `n`; `None` for n = 0.
pub fn wilson(right: usize, n: usize, confidence: Confidence) -> Option<Interval> {
    if n == 0 {
        return None;
    }
    #[expect(clippy::cast_precision_loss, reason = "far fewer than 2^53 rows")]
    let (right, n) = (right as f64, n as f64);
    let (p, z) = (right / n, confidence.z());
    let z2 = z * z;
    let middle = (p + z2 / (2.0 * n)) / (1.0 + z2 / n);
    let half = z / (1.0 + z2 / n) * f64::sqrt(p * (1.0 - p) / n + z2 / (4.0 * n * n));
    Some(Interval {
        low: (middle - half).max(0.0),
        high: (middle + half).min(1.0),
        method: IntervalMethod::Wilson,
    })
}

/// Computes the percentile interval of a metric under resampling with replacement within each
/// stratum. `None` without items or resamples, or if the metric is undefined on most resamples.
pub fn bootstrap<T: MetricRow>(
    items: &[&T],
    metric: &dyn Fn(&[&T]) -> Option<f64>,
    intervals: IntervalOptions,
) -> Option<Interval> {
    if items.is_empty() {
        return None;
    }
    let mut strata: BTreeMap<&str, Vec<&T>> = BTreeMap::new();
    for item in items {
        strata.entry(item.stratum()).or_default().push(item);
    }
    let mut draws = Draws::new(intervals.seed);
    let mut resample = Vec::with_capacity(items.len());
    let mut values = Vec::with_capacity(intervals.resamples);
    for _ in 0..intervals.resamples {
        resample.clear();
        for stratum in strata.values() {
            resample.extend(stratum.iter().map(|_| stratum[draws.below(stratum.len())]));
        }
        values.extend(metric(&resample));
    }
    if values.len() * 2 < intervals.resamples {
        return None;
    }
    values.sort_unstable_by(f64::total_cmp);
    let tail = (1.0 - intervals.confidence.level()) / 2.0;
    Some(Interval {
        low: quantile_of_sorted(&values, tail)?,
        high: quantile_of_sorted(&values, 1.0 - tail)?,
        method: IntervalMethod::Bootstrap,
    })
}
