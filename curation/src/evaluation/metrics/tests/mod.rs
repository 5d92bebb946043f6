mod certainty;
mod responses;
mod steps;

use super::{BenchmarkReport, Estimate, IntervalOptions};

/// No resamples: where only values matter.
const PLAIN: IntervalOptions =
    IntervalOptions { resamples: 0, confidence: super::Confidence::P95, seed: 0 };

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-9
}

/// Checks a line: its value, what it is at least, and how many of how many rows were judged.
#[track_caller]
fn check(report: &BenchmarkReport, name: &str, expected: (Option<f64>, Option<f64>, usize, usize)) {
    let line: &Estimate = report.line(name).unwrap_or_else(|| panic!("no line {name}"));
    let same = |a: Option<f64>, b: Option<f64>| match (a, b) {
        (Some(a), Some(b)) => near(a, b),
        (None, None) => true,
        (Some(_), None) | (None, Some(_)) => false,
    };
    let (value, at_least, judged, total) = expected;
    assert!(same(line.value, value) && same(line.at_least, at_least), "{name}: {line:?}");
    assert_eq!((line.judged, line.total), (judged, total), "{name}");
}
