//! `ProcessBench` (2412.06559): the first wrong step of a solution.
//!
//! A row is right if the found step is the labelled one, or if there is neither. The metric of a
//! subset is the harmonic mean of the accuracies over rows with and without an error, and the
//! benchmark's is the mean over its subsets. If both accuracies are 0, the harmonic mean is 0 here
//! and NaN in the benchmark's code.

use std::collections::BTreeMap;

use super::{
    BenchmarkReport, IntervalOptions, Metric, MetricRow, estimate, first_below, harmonic_mean,
    mean, one_if, share,
};

/// A row with its finding.
#[derive(Debug, Clone, PartialEq)]
pub struct ProcessBenchRow {
    /// The subset, such as `gsm8k`.
    pub subset: String,
    /// The first wrong step, from 0; `None` if all are right.
    pub label: Option<usize>,
    /// The scorer's finding.
    pub found: FirstErrorFinding,
}

/// The finding of a scorer in a solution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FirstErrorFinding {
    /// This step, from 0, is the first wrong one.
    Step(usize),
    /// All steps are right.
    NoError,
    /// The solution was not judged.
    NotJudged,
}

impl FirstErrorFinding {
    /// Finds the first step that scores below a threshold; `scores` is `None` for a solution that
    /// was not judged.
    pub fn below(scores: Option<&[Option<f64>]>, threshold: f64) -> Self {
        match scores.map(|scores| first_below(scores, threshold)) {
            Some(Some(step)) => Self::Step(step),
            Some(None) => Self::NoError,
            None => Self::NotJudged,
        }
    }
}

impl ProcessBenchRow {
    fn credit(&self) -> Option<f64> {
        match self.found {
            FirstErrorFinding::Step(step) => Some(one_if(self.label == Some(step))),
            FirstErrorFinding::NoError => Some(one_if(self.label.is_none())),
            FirstErrorFinding::NotJudged => None,
        }
    }
}

impl MetricRow for ProcessBenchRow {
    fn stratum(&self) -> &str {
        &self.subset
    }

    fn is_judged(&self) -> bool {
        self.found != FirstErrorFinding::NotJudged
    }

    fn as_wrong(&self) -> Self {
        let other = match self.label {
            None => FirstErrorFinding::Step(0),
            Some(_) => FirstErrorFinding::NoError,
        };
        Self { subset: self.subset.clone(), label: self.label, found: other }
    }
}

/// Computes the mean F1, and each subset's F1 and accuracies.
pub fn process_bench(rows: &[ProcessBenchRow], intervals: IntervalOptions) -> BenchmarkReport {
    let all: Vec<&ProcessBenchRow> = rows.iter().collect();
    let mut subsets: BTreeMap<&str, Vec<&ProcessBenchRow>> = BTreeMap::new();
    for row in rows {
        subsets.entry(&row.subset).or_default().push(row);
    }
    let mut metrics = vec![Metric::new("mean F1", estimate(&all, &mean_f1, intervals))];
    for (subset, members) in &subsets {
        let credit = |row: &ProcessBenchRow| row.credit();
        let half = |has_error: bool| -> Vec<&ProcessBenchRow> {
            let wanted = |row: &&ProcessBenchRow| row.label.is_some() == has_error;
            members.iter().copied().filter(wanted).collect()
        };
        let of = |what: &str| format!("{subset} {what}");
        metrics.push(Metric::new(of("F1"), estimate(members, &f1, intervals)));
        metrics.push(Metric::new(of("error"), share(&half(true), &credit, intervals)));
        metrics.push(Metric::new(of("correct"), share(&half(false), &credit, intervals)));
    }
    BenchmarkReport { metrics, notes: Vec::new() }
}

/// The harmonic mean of both accuracies; `None` unless rows of both kinds were judged.
pub(super) fn f1(rows: &[&ProcessBenchRow]) -> Option<f64> {
    let accuracy = |has_error: bool| {
        let half = rows.iter().filter(|row| row.label.is_some() == has_error);
        mean(half.filter_map(|row| row.credit()))
    };
    Some(harmonic_mean(accuracy(true)?, accuracy(false)?))
}

fn mean_f1(rows: &[&ProcessBenchRow]) -> Option<f64> {
    let mut subsets: BTreeMap<&str, Vec<&ProcessBenchRow>> = BTreeMap::new();
    for row in rows {
        subsets.entry(&row.subset).or_default().push(row);
    }
    mean(subsets.values().filter_map(|rows| f1(rows)))
}
