//! What a run did, for people and for programs.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use base::human::grouped;
use base::memory;
use curation::filter::{FilterReport, GroupReport, NearReport};
use curation::histogram::Histogram;
use serde_json::json;

/// Result of a run.
#[derive(Debug)]
pub(super) struct FilterSummary {
    /// The output as it was named.
    pub(super) output: String,
    /// The files of the output with their rows; none for a stream.
    pub(super) files: Vec<(PathBuf, u64)>,
    /// Where the rows are that could not be read.
    pub(super) rejects: Option<PathBuf>,
    /// What became of the rows.
    pub(super) report: FilterReport,
    /// How long it took.
    pub(super) elapsed: Duration,
}

impl FilterSummary {
    /// The summary as lines, for standard error.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        let report = &self.report;
        let mut line = |count: String, what: &str| {
            writeln!(text, "{count:>14}  {what}").expect("to memory");
        };
        line(grouped(report.read, ','), "rows read");
        for dropped in &report.dropped {
            let count = dropped.rows.map_or("-?".to_owned(), |rows| {
                let sign = if rows > 0 { "-" } else { "" };
                format!("{sign}{}", grouped(rows, ','))
            });
            let groups = dropped
                .groups
                .map_or_else(String::new, |groups| format!(" ({} groups)", grouped(groups, ',')));
            let why = dropped.why.map_or_else(String::new, |why| format!(": {why}"));
            line(count, &format!("{}{why}{groups}", dropped.condition));
        }
        line(grouped(report.written, ','), "rows written");
        if let Some(near) = &report.near {
            text += &(texts(near) + "\n");
        }
        if let Some(groups) = &report.groups {
            text += &(groups_told(groups) + "\n");
            text += &groups.rates.as_ref().map_or_else(String::new, spread);
        }
        if report.dropped.iter().any(|dropped| dropped.rows.is_none()) {
            text += "-?: reading ended when there were enough rows\n";
        }
        for histogram in &report.histograms {
            text += &spread(histogram);
        }
        if report.rejected > 0 {
            let place = self.rejects.as_ref().map_or_else(String::new, |path| {
                format!("; they are in {}, with the reasons", path.display())
            });
            let rejected = grouped(report.rejected, ',');
            writeln!(text, "failed: {rejected} rows could not be read{place}").expect("to memory");
        }
        let seconds = self.elapsed.as_secs_f64();
        match self.files.as_slice() {
            [] => writeln!(text, "done in {seconds:.2} s"),
            [(path, _)] => writeln!(text, "wrote {} in {seconds:.2} s", path.display()),
            files => {
                writeln!(text, "wrote {} files as {} in {seconds:.2} s", files.len(), self.output)
            }
        }
        .expect("to memory");
        text
    }

    /// The summary as one line of JSON.
    pub(super) fn json(&self) -> String {
        let report = &self.report;
        json!({
            "read": report.read,
            "rejected": report.rejected,
            "dropped": report.dropped,
            "written": report.written,
            "near": report.near,
            "groups": report.groups,
            "files": self.files.iter().map(|(path, _)| path).collect::<Vec<_>>(),
            "rejects": self.rejects,
            "elapsed_s": self.elapsed.as_secs_f64(),
        })
        .to_string()
    }
}

/// Bytes in a unit that shows them.
fn bytes(bytes: u64) -> String {
    if bytes < 1 << 20 { format!("{} KiB", bytes.div_ceil(1 << 10)) } else { memory::mib(bytes) }
}

/// How near-duplicates were looked for, on one line.
pub(super) fn texts(near: &NearReport) -> String {
    let some = |rows: u64, what: &str| match rows {
        0 => String::new(),
        rows => format!(", {} {what}", grouped(rows, ',')),
    };
    format!(
        "{} texts held against each other in {}{}{}",
        grouped(near.texts, ','),
        bytes(near.memory_bytes),
        some(near.without_text, "rows without a text stay"),
        some(near.too_long, "texts too long to be near any but equal ones"),
    )
}

/// What the groups were, on one line.
pub(super) fn groups_told(groups: &GroupReport) -> String {
    format!(
        "{} of {} groups are left; their keys took {}",
        grouped(groups.kept, ','),
        grouped(groups.groups, ','),
        bytes(groups.memory_bytes),
    )
}

/// How a column is spread, on one line.
fn spread(histogram: &Histogram) -> String {
    let without = match histogram.without {
        0 => String::new(),
        rows => format!(", {} rows without", grouped(rows, ',')),
    };
    let Histogram { column, min, max, mean, .. } = histogram;
    let line = histogram.sparkline();
    format!("{column}  {min:.3} {line} {max:.3}, mean {mean:.3}{without}\n")
}
