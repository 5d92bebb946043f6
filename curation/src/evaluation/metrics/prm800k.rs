//! `PRM800K` (2305.20050): human labels of the steps of solutions.
//!
//! The repository has no metric over its labels; it measures best of n, which is
//! [`super::best_of_n`]. These are the usual ones for labelled steps: the mean of both F1 (as
//! `PRMBench` has it), the area under the receiver operating characteristic, the accuracies, and
//! the F1 of the first wrong step (as `ProcessBench` has it).

use super::process_bench::f1 as first_error_f1;
use super::steps::OfSteps;
use super::{
    BenchmarkReport, Confusion, FirstErrorFinding, IntervalOptions, Metric, MetricRow,
    ProcessBenchRow, auroc, estimate, prm_bench,
};

/// A solution with labels and scores of its steps.
#[derive(Debug, Clone, PartialEq)]
pub struct Prm800kRow {
    /// Whether each step is right; `None` for a step without a label, which counts nowhere.
    pub is_right: Vec<Option<bool>>,
    /// A score of each step, as many as labels; `None` if the scorer could not judge the solution.
    pub scores: Option<Vec<Option<f64>>>,
    /// A step that scores below this counts as found wrong. A step without a score counts as found
    /// right.
    pub threshold: f64,
}

impl Prm800kRow {
    /// Returns labels and scores of labelled steps.
    fn steps(&self) -> impl Iterator<Item = (bool, Option<f64>)> + '_ {
        let scores = self.scores.iter().flatten();
        let labelled = self.is_right.iter().zip(scores);
        labelled.filter_map(|(is_right, score)| Some(((*is_right)?, super::finite(*score))))
    }

    fn confusion(&self) -> Confusion {
        let mut confusion = Confusion::default();
        for (is_right, score) in self.steps() {
            confusion.add(is_right, score.is_none_or(|score| score >= self.threshold));
        }
        confusion
    }

    fn first_error(&self) -> ProcessBenchRow {
        let wrong = |is_right: &Option<bool>| *is_right == Some(false);
        ProcessBenchRow {
            subset: String::new(),
            label: self.is_right.iter().position(wrong),
            found: FirstErrorFinding::below(self.scores.as_deref(), self.threshold),
        }
    }
}

impl MetricRow for Prm800kRow {
    fn stratum(&self) -> &str {
        // Solutions with and without errors are two populations of the benchmark.
        if self.is_right.contains(&Some(false)) { "error" } else { "correct" }
    }

    fn is_judged(&self) -> bool {
        self.scores.is_some()
    }

    fn as_wrong(&self) -> Self {
        let opposite = |is_right: &Option<bool>| match is_right {
            Some(true) => Some(f64::MIN),
            Some(false) => Some(f64::MAX),
            None => None,
        };
        Self {
            is_right: self.is_right.clone(),
            scores: Some(self.is_right.iter().map(opposite).collect()),
            threshold: self.threshold,
        }
    }
}

/// Computes the metrics of labelled steps.
pub fn prm800k(rows: &[Prm800kRow], intervals: IntervalOptions) -> BenchmarkReport {
    let all: Vec<&Prm800kRow> = rows.iter().collect();
    let pooled = |rows: &[&Prm800kRow]| {
        let counts = rows.iter().map(|row| row.confusion());
        counts.fold(Confusion::default(), Confusion::plus)
    };
    let step_metrics: [(&str, OfSteps); 6] = [
        ("mean F1 of steps", prm_bench::of_confusion),
        ("F1 of right steps", Confusion::f1),
        ("F1 of wrong steps", Confusion::negative_f1),
        ("accuracy of right steps", Confusion::right_accuracy),
        ("accuracy of wrong steps", Confusion::wrong_accuracy),
        ("accuracy of steps", Confusion::accuracy),
    ];
    let mut metrics: Vec<Metric> = Vec::new();
    for (name, metric) in step_metrics {
        let over = |rows: &[&Prm800kRow]| metric(pooled(rows));
        metrics.push(Metric::new(name, estimate(&all, &over, intervals)));
    }
    metrics.push(Metric::new("AUROC of steps", estimate(&all, &area, intervals)));
    let first = |rows: &[&Prm800kRow]| {
        let found: Vec<ProcessBenchRow> = rows.iter().map(|row| row.first_error()).collect();
        first_error_f1(&found.iter().collect::<Vec<_>>())
    };
    metrics.push(Metric::new("F1 of the first error", estimate(&all, &first, intervals)));
    let scored = || rows.iter().flat_map(Prm800kRow::steps);
    let silent = scored().filter(|(_, score)| score.is_none()).count();
    let mut notes = vec![format!("{} labelled steps were judged", scored().count())];
    if silent > 0 {
        notes.push(format!(
            "{silent} of them have no score, count as called right, and are not in the AUROC"
        ));
    }
    BenchmarkReport { metrics, notes }
}

fn area(rows: &[&Prm800kRow]) -> Option<f64> {
    let scored = rows.iter().flat_map(|row| row.steps());
    auroc(scored.filter_map(|(is_right, score)| Some((score?, is_right))).collect())
}
