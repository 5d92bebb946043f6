//! The metrics for people and for programs.

use std::fmt::Write as _;

use curation::evaluation::{Interval, Line, Method, Report, Sampling};
use serde_json::{Map, Value, json};

use super::layouts::Benchmark;
use crate::error::Outcome;
use crate::tally::{Tally, grouped};

/// What was found for one scorer.
#[derive(Debug)]
pub(super) struct Evaluated {
    pub(super) scorer: String,
    pub(super) digest: String,
    pub(super) report: Report,
    pub(super) tally: Tally,
    pub(super) refused: u64,
}

/// What was found.
#[derive(Debug)]
pub(super) struct Evaluation {
    pub(super) benchmark: Benchmark,
    pub(super) rows: usize,
    pub(super) sampling: Sampling,
    pub(super) results: Vec<Evaluated>,
    /// Of the rows, whoever judges them.
    pub(super) notes: Vec<String>,
}

impl Evaluation {
    /// Whether every scorer has judged something, and nothing failed through no fault of the rows.
    pub(super) fn outcome(&self) -> Outcome {
        let failed = |result: &Evaluated| {
            let judged = result.report.lines.iter().any(|line| line.estimate.judged > 0);
            !judged || result.refused > 0 || result.tally.failures() > 0
        };
        Outcome::failed_if(self.results.iter().any(failed))
    }

    /// Tables.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        for result in &self.results {
            self.write_result(&mut text, result).expect("writing to a string cannot fail");
        }
        text
    }

    fn write_result(&self, text: &mut String, result: &Evaluated) -> std::fmt::Result {
        let rows = grouped(self.rows as u64);
        let title = self.benchmark.title();
        writeln!(text, "{title}, {rows} rows, scorer {}", result.scorer)?;
        let widths = result.report.lines.iter().map(|line| line.name.chars().count());
        let width = widths.max().unwrap_or(0).max(6);
        let level = self.sampling.confidence.level() * 100.0;
        writeln!(
            text,
            "  {:width$}  {:>8}  {:>17}  {:>8}  judged",
            "metric",
            "value",
            format!("{level:.0} % interval"),
            "at least"
        )?;
        for line in &result.report.lines {
            write_line(text, line, width)?;
        }
        for note in self.notes.iter().chain(&result.report.notes) {
            writeln!(text, "  note: {note}")?;
        }
        let statuses: Vec<String> = result
            .tally
            .occurred()
            .map(|(status, count)| format!("{} {status}", grouped(count)))
            .collect();
        write!(text, "  questions: {}", statuses.join(", "))?;
        if result.refused > 0 {
            write!(text, "; {} could not be asked", grouped(result.refused))?;
        }
        writeln!(text)
    }

    /// One line of JSON.
    pub(super) fn json(&self) -> String {
        let results: Vec<Value> = self.results.iter().map(|result| self.result(result)).collect();
        let whole = json!({
            "benchmark": self.benchmark.word(),
            "rows": self.rows,
            "sampling": self.sampling,
            "results": results,
        });
        whole.to_string() + "\n"
    }

    fn result(&self, result: &Evaluated) -> Value {
        let statuses: Map<String, Value> = result
            .tally
            .occurred()
            .map(|(status, count)| (status.to_owned(), json!(count)))
            .collect();
        let notes: Vec<&String> = self.notes.iter().chain(&result.report.notes).collect();
        json!({
            "scorer": result.scorer,
            "digest": result.digest,
            "metrics": result.report.lines,
            "notes": notes,
            "statuses": statuses,
            "refused": result.refused,
        })
    }
}

fn write_line(text: &mut String, line: &Line, width: usize) -> std::fmt::Result {
    let it = &line.estimate;
    let number = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |v| format!("{v:.4}"));
    let interval = |interval: Option<Interval>| {
        interval.map_or_else(
            || "-".to_owned(),
            |it| {
                let mark = match it.method {
                    Method::Wilson => "w",
                    Method::Bootstrap => "b",
                };
                format!("{:.4} {:.4} {mark}", it.low, it.high)
            },
        )
    };
    writeln!(
        text,
        "  {:width$}  {:>8}  {:>17}  {:>8}  {} of {}",
        line.name,
        number(it.value),
        interval(it.interval),
        number(it.at_least),
        grouped(it.judged as u64),
        grouped(it.total as u64)
    )
}
