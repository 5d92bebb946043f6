//! `PRMBench` (2501.03124): steps with nine classes of injected errors.
//!
//! The steps of all rows are counted together: `PRMScore` is 0.5 × the F1 of right steps and 0.5 ×
//! that of wrong ones. The same holds for each class of errors but `multi_solutions`, which has no
//! wrong steps and is scored by the F1 of right ones; a dimension's score is the mean of its
//! classes.
//!
//! Ours: an F1 with divisor 0 is undefined, and one without a hit is 0, where the benchmark's code
//! has -1 in both cases. Its *similarity*, which needs scores of the original solutions, and its
//! labels of redundancy are not computed.

use super::steps::{OfSteps, ratio};
use super::{
    BenchmarkReport, Confusion, IntervalOptions, Metric, MetricRow, estimate, mean, one_if, share,
};

/// The class without wrong steps.
const MULTI_SOLUTIONS: &str = "multi_solutions";

/// Dimensions and their classes, by the names that the data has.
const DIMENSIONS: [(&str, &[&str]); 3] = [
    ("simplicity", &["redundency", "circular"]),
    ("soundness", &["counterfactual", "step_contradiction", "domain_inconsistency", "confidence"]),
    ("sensitivity", &["missing_condition", "deception", MULTI_SOLUTIONS]),
];

/// A row with labels and findings of its steps.
#[derive(Debug, Clone, PartialEq)]
pub struct PrmBenchRow {
    /// The class of the error.
    pub class: String,
    /// Whether each step is right.
    pub is_right: Vec<bool>,
    /// Whether each step was found right, as many as labels; `None` if the scorer could not judge
    /// the row.
    pub said_right: Option<Vec<bool>>,
}

impl PrmBenchRow {
    fn confusion(&self) -> Confusion {
        let mut confusion = Confusion::default();
        for (is_right, said_right) in self.is_right.iter().zip(self.said_right.iter().flatten()) {
            confusion.add(*is_right, *said_right);
        }
        confusion
    }

    /// Whether the first wrong step was found wrong; `None` without wrong steps.
    fn first_error(&self) -> Option<f64> {
        let first = self.is_right.iter().position(|is_right| !is_right)?;
        let said_right = self.said_right.as_ref()?.get(first)?;
        Some(one_if(!said_right))
    }
}

impl MetricRow for PrmBenchRow {
    fn stratum(&self) -> &str {
        &self.class
    }

    fn is_judged(&self) -> bool {
        self.said_right.is_some()
    }

    fn as_wrong(&self) -> Self {
        Self {
            class: self.class.clone(),
            is_right: self.is_right.clone(),
            said_right: Some(self.is_right.iter().map(|is_right| !is_right).collect()),
        }
    }
}

/// Computes `PRMScore` over all rows, by dimension and class, and the accuracies of steps.
pub fn prm_bench(rows: &[PrmBenchRow], intervals: IntervalOptions) -> BenchmarkReport {
    let all: Vec<&PrmBenchRow> = rows.iter().collect();
    let mut metrics = vec![Metric::new("PRMScore", estimate(&all, &prm_score, intervals))];
    for (dimension, classes) in DIMENSIONS {
        let members: Vec<&PrmBenchRow> =
            rows.iter().filter(|row| classes.contains(&row.class.as_str())).collect();
        if members.is_empty() {
            continue;
        }
        let metric = |rows: &[&PrmBenchRow]| mean(classes.iter().filter_map(|c| of_class(c, rows)));
        metrics.push(Metric::new(dimension, estimate(&members, &metric, intervals)));
        for class in classes {
            let members: Vec<&PrmBenchRow> =
                rows.iter().filter(|row| row.class == *class).collect();
            if !members.is_empty() {
                let metric = |rows: &[&PrmBenchRow]| of_class(class, rows);
                metrics.push(Metric::new(*class, estimate(&members, &metric, intervals)));
            }
        }
    }
    let step_metrics: [(&str, OfSteps); 5] = [
        ("F1 of right steps", Confusion::f1),
        ("F1 of wrong steps", Confusion::negative_f1),
        ("accuracy of right steps", Confusion::right_accuracy),
        ("accuracy of wrong steps", Confusion::wrong_accuracy),
        ("accuracy of steps", Confusion::accuracy),
    ];
    for (name, metric) in step_metrics {
        let over = |rows: &[&PrmBenchRow]| metric(pooled(rows));
        metrics.push(Metric::new(name, estimate(&all, &over, intervals)));
    }
    let with_error: Vec<&PrmBenchRow> =
        rows.iter().filter(|row| row.is_right.contains(&false)).collect();
    let first = |row: &PrmBenchRow| row.first_error();
    metrics.push(Metric::new("first error", share(&with_error, &first, intervals)));
    BenchmarkReport { metrics, notes: row_notes(rows) }
}

fn row_notes(rows: &[PrmBenchRow]) -> Vec<String> {
    let mut notes = Vec::new();
    let known = || DIMENSIONS.iter().flat_map(|(_, classes)| classes.iter());
    let missing: Vec<&str> =
        known().copied().filter(|class| !rows.iter().any(|row| row.class == *class)).collect();
    if !missing.is_empty() {
        notes.push(format!("there are no rows of {}", missing.join(", ")));
    }
    let foreign = rows.iter().filter(|row| !known().any(|class| row.class == *class));
    let n_foreign = foreign.count();
    if n_foreign > 0 {
        notes.push(format!("{n_foreign} rows are of a class in no dimension"));
    }
    let n_steps: usize = rows.iter().map(|row| row.is_right.len()).sum();
    let n_right: usize =
        rows.iter().map(|row| row.is_right.iter().filter(|right| **right).count()).sum();
    if let Some(right) = ratio(n_right, n_steps) {
        notes.push(format!("{n_steps} steps, of which {right:.3} are right"));
    }
    notes
}

fn pooled(rows: &[&PrmBenchRow]) -> Confusion {
    let counts = rows.iter().map(|row| row.confusion());
    counts.fold(Confusion::default(), Confusion::plus)
}

/// Returns the mean of the F1 of right steps and that of wrong ones.
pub(super) fn of_confusion(confusion: Confusion) -> Option<f64> {
    Some(0.5 * confusion.f1()? + 0.5 * confusion.negative_f1()?)
}

fn prm_score(rows: &[&PrmBenchRow]) -> Option<f64> {
    of_confusion(pooled(rows))
}

/// Returns the score of the rows of one class.
fn of_class(class: &str, rows: &[&PrmBenchRow]) -> Option<f64> {
    let members: Vec<&PrmBenchRow> =
        rows.iter().copied().filter(|row| row.class == class).collect();
    match class {
        MULTI_SOLUTIONS => pooled(&members).f1(),
        _ => prm_score(&members),
    }
}
