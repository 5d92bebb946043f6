//! Progress of a scoring run on standard error: a bar on a terminal, a line every few seconds
//! elsewhere.

use std::fmt::Write as _;
use std::io::{IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

use base::human::grouped;
use indicatif::{HumanDuration, ProgressBar};

use crate::counts::Counts;
use crate::progress::{LINE_EVERY, bar};
use crate::status_counts::StatusCounts;

/// Progress of a scoring run.
pub(crate) struct RowProgress {
    started: Instant,
    /// Bytes of lines or rows of tables in all; `None` where they are not known.
    total: Option<u64>,
    /// Rows that an earlier run had done.
    resumed_rows: u64,
    show: Show,
}

enum Show {
    Bar(ProgressBar),
    Lines { last: Instant },
}

impl RowProgress {
    /// Starts the clock. `total` is the number of bytes or rows in all, where it is known. No bar is
    /// drawn if rows are printed on the same terminal (`to_stdout`).
    pub(crate) fn start(total: Option<u64>, resumed: &Counts, to_stdout: bool) -> Self {
        let started = Instant::now();
        let taken = to_stdout && std::io::stdout().is_terminal();
        let show = if std::io::stderr().is_terminal() && !taken {
            Show::Bar(bar(total))
        } else {
            Show::Lines { last: started }
        };
        Self { started, total, resumed_rows: resumed.rows(), show }
    }

    /// Time since the start.
    pub(crate) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// Rows that an earlier run had done.
    pub(crate) fn resumed_rows(&self) -> u64 {
        self.resumed_rows
    }

    /// Rows per second of this run, without the rows of an earlier run.
    pub(crate) fn rows_per_s(&self, counts: &Counts) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "far fewer than 2^53 rows")]
        let rows = (counts.rows() - self.resumed_rows) as f64;
        rows / self.elapsed().as_secs_f64().max(1e-9)
    }

    /// Adds rows that an earlier run had done.
    pub(crate) fn add_resumed(&mut self, rows: u64) {
        self.resumed_rows += rows;
    }

    /// Shows that `done` of the total is done.
    pub(crate) fn update(&mut self, done: u64, counts: &Counts) {
        match &mut self.show {
            Show::Lines { last } if last.elapsed() < LINE_EVERY => return,
            Show::Lines { last } => *last = Instant::now(),
            Show::Bar(bar) => bar.set_position(done),
        }
        let text = self.describe(done, counts);
        match &self.show {
            Show::Bar(bar) => bar.set_message(text),
            Show::Lines { .. } => eprintln!("{text}"),
        }
    }

    fn describe(&self, done: u64, counts: &Counts) -> String {
        let mut text = format!("{} rows", grouped(counts.rows(), ','));
        if counts.rejected > 0 {
            let rejected = grouped(counts.rejected, ',');
            write!(text, " ({rejected} rejected)").expect("to memory");
        }
        write!(text, "{}", statuses(counts)).expect("to memory");
        if let (Some(total), Show::Lines { .. }) = (self.total, &self.show) {
            let percent = done * 100 / total.max(1);
            write!(text, ", {percent}% of the input").expect("to memory");
        }
        write!(text, ", {:.0} rows/s", self.rows_per_s(counts)).expect("to memory");
        if let (Some(total), Show::Lines { .. }) = (self.total, &self.show) {
            let left = HumanDuration(self.left(done, total));
            write!(text, ", {left} left").expect("to memory");
        }
        text
    }

    /// Remaining time at the rate so far.
    fn left(&self, done: u64, total: u64) -> Duration {
        #[expect(clippy::cast_precision_loss, reason = "far fewer than 2^53 of either")]
        let share = total.saturating_sub(done) as f64 / done.max(1) as f64;
        self.elapsed().mul_f64(share.min(1e6))
    }

    /// Prints complete lines above the bar.
    pub(crate) fn notes(&self, lines: &[u8]) {
        // An error of standard error cannot be reported anywhere.
        let print = || drop(std::io::stderr().write_all(lines));
        match &self.show {
            Show::Bar(bar) if !lines.is_empty() => bar.suspend(print),
            Show::Bar(_) | Show::Lines { .. } => print(),
        }
    }

    /// Removes the bar.
    pub(crate) fn finish(&self) {
        match &self.show {
            Show::Bar(bar) => bar.finish_and_clear(),
            Show::Lines { .. } => {}
        }
    }
}

/// Counts of the statuses other than `ok`, as the end of a line.
fn statuses(counts: &Counts) -> String {
    let mut sums: Vec<(&str, u64)> = Vec::new();
    for (status, count) in counts.tallies.iter().flat_map(StatusCounts::occurred) {
        match sums.iter_mut().find(|(known, _)| *known == status) {
            Some((_, sum)) => *sum += count,
            None => sums.push((status, count)),
        }
    }
    let others = sums.iter().filter(|(status, _)| *status != "ok");
    let shown = others.map(|(status, count)| format!(", {} {status}", grouped(*count, ',')));
    shown.collect()
}
