//! Benchmark metrics as tables and as JSON.

use std::fmt::Write as _;

use base::human::grouped;
use curation::evaluation::metrics::{
    BenchmarkReport, Interval, IntervalMethod, IntervalOptions, Metric,
};
use scoring::status_counts::StatusCounts;
use serde_json::{Map, Value, json};

use crate::error::CommandOutcome;

/// Metrics of one scorer.
#[derive(Debug)]
pub(super) struct ScorerReport {
    pub(super) scorer: String,
    pub(super) digest: String,
    pub(super) report: BenchmarkReport,
    pub(super) tally: StatusCounts,
    pub(super) refused: u64,
}

/// Metrics of all scorers.
#[derive(Debug)]
pub(super) struct Evaluation {
    /// The benchmark on the command line.
    pub(super) name: String,
    /// The benchmark for people.
    pub(super) title: &'static str,
    pub(super) rows: usize,
    pub(super) intervals: IntervalOptions,
    pub(super) results: Vec<ScorerReport>,
    /// Remarks about the rows.
    pub(super) notes: Vec<String>,
}

impl Evaluation {
    /// Whether every scorer has judged something, and nothing failed through no fault of the rows.
    pub(super) fn outcome(&self) -> CommandOutcome {
        let failed = |result: &ScorerReport| {
            let judged = result.report.metrics.iter().any(|metric| metric.estimate.judged > 0);
            !judged || result.refused > 0 || result.tally.failures() > 0
        };
        CommandOutcome::failed_if(self.results.iter().any(failed))
    }

    /// Tables.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        for result in &self.results {
            self.write_result(&mut text, result).expect("writing to a string cannot fail");
        }
        text
    }

    fn write_result(&self, text: &mut String, result: &ScorerReport) -> std::fmt::Result {
        let rows = grouped(self.rows as u64, ',');
        writeln!(text, "{}, {rows} rows, scorer {}", self.title, result.scorer)?;
        let widths = result.report.metrics.iter().map(|metric| metric.name.chars().count());
        let width = widths.max().unwrap_or(0).max(6);
        let level = self.intervals.confidence.level() * 100.0;
        writeln!(
            text,
            "  {:width$}  {:>8}  {:>17}  {:>8}  judged",
            "metric",
            "value",
            format!("{level:.0} % interval"),
            "at least"
        )?;
        for metric in &result.report.metrics {
            write_metric(text, metric, width)?;
        }
        for note in self.notes.iter().chain(&result.report.notes) {
            writeln!(text, "  note: {note}")?;
        }
        let statuses: Vec<String> = result
            .tally
            .occurred()
            .map(|(status, count)| format!("{} {status}", grouped(count, ',')))
            .collect();
        write!(text, "  questions: {}", statuses.join(", "))?;
        if result.refused > 0 {
            write!(text, "; {} could not be asked", grouped(result.refused, ','))?;
        }
        writeln!(text)
    }

    /// One line of JSON.
    pub(super) fn json(&self) -> String {
        let results: Vec<Value> = self.results.iter().map(|result| self.result(result)).collect();
        let report = json!({
            "benchmark": self.name,
            "rows": self.rows,
            "sampling": self.intervals,
            "results": results,
        });
        report.to_string() + "\n"
    }

    fn result(&self, result: &ScorerReport) -> Value {
        let statuses: Map<String, Value> = result
            .tally
            .occurred()
            .map(|(status, count)| (status.to_owned(), json!(count)))
            .collect();
        let notes: Vec<&String> = self.notes.iter().chain(&result.report.notes).collect();
        json!({
            "scorer": result.scorer,
            "digest": result.digest,
            "metrics": result.report.metrics,
            "notes": notes,
            "statuses": statuses,
            "refused": result.refused,
        })
    }
}

fn write_metric(text: &mut String, metric: &Metric, width: usize) -> std::fmt::Result {
    let estimate = &metric.estimate;
    let number = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |v| format!("{v:.4}"));
    let interval = |interval: Option<Interval>| {
        interval.map_or_else(
            || "-".to_owned(),
            |it| {
                let mark = match it.method {
                    IntervalMethod::Wilson => "w",
                    IntervalMethod::Bootstrap => "b",
                };
                format!("{:.4} {:.4} {mark}", it.low, it.high)
            },
        )
    };
    writeln!(
        text,
        "  {:width$}  {:>8}  {:>17}  {:>8}  {} of {}",
        metric.name,
        number(estimate.value),
        interval(estimate.interval),
        number(estimate.at_least),
        grouped(estimate.judged as u64, ','),
        grouped(estimate.total as u64, ',')
    )
}
