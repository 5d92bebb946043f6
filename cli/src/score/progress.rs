//! How far a run is: a bar on a terminal, a line now and then elsewhere.

use std::fmt::Write as _;
use std::io::{IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

use indicatif::{HumanDuration, ProgressBar, ProgressStyle};

use super::journal::Counts;
use crate::tally::{Tally, grouped};

/// Time between lines where there is no terminal.
const LINE_EVERY: Duration = Duration::from_secs(5);

/// How far a run is.
pub(crate) struct Progress {
    started: Instant,
    /// What there is to do: bytes of lines, or rows of tables.
    total: Option<u64>,
    /// Rows that an earlier run had done.
    resumed_rows: u64,
    show: Show,
}

enum Show {
    Bar(ProgressBar),
    Lines { last: Instant },
}

impl Progress {
    /// Starts the clock. `total` is what there is to do, in bytes or rows, where it is known. Rows
    /// that go to the terminal themselves leave no place for a bar.
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

    /// Rows per second of this run, those of an earlier one not counted.
    pub(crate) fn rows_per_s(&self, counts: &Counts) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "far fewer than 2^53 rows")]
        let rows = (counts.rows() - self.resumed_rows) as f64;
        rows / self.elapsed().as_secs_f64().max(1e-9)
    }

    /// Counts rows that an earlier run had done.
    pub(crate) fn know(&mut self, rows: u64) {
        self.resumed_rows += rows;
    }

    /// Shows that `done` of the total is done.
    pub(crate) fn update(&mut self, done: u64, counts: &Counts) {
        let text = self.describe(done, counts);
        match &mut self.show {
            Show::Bar(bar) => {
                bar.set_position(done);
                bar.set_message(text);
            }
            Show::Lines { last } if last.elapsed() >= LINE_EVERY => {
                *last = Instant::now();
                eprintln!("{text}");
            }
            Show::Lines { .. } => {}
        }
    }

    fn describe(&self, done: u64, counts: &Counts) -> String {
        let mut text = format!("{} rows", grouped(counts.rows()));
        if counts.rejected > 0 {
            let rejected = grouped(counts.rejected);
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

    /// Time that the rest takes at the rate so far.
    fn left(&self, done: u64, total: u64) -> Duration {
        #[expect(clippy::cast_precision_loss, reason = "far fewer than 2^53 of either")]
        let share = total.saturating_sub(done) as f64 / done.max(1) as f64;
        self.elapsed().mul_f64(share.min(1e6))
    }

    /// Prints whole lines past the bar.
    pub(crate) fn notes(&self, lines: &[u8]) {
        // Standard error that cannot be written to leaves nobody to be told.
        let print = || drop(std::io::stderr().write_all(lines));
        match &self.show {
            Show::Bar(bar) if !lines.is_empty() => bar.suspend(print),
            Show::Bar(_) | Show::Lines { .. } => print(),
        }
    }

    /// Takes the bar away.
    pub(crate) fn finish(&self) {
        match &self.show {
            Show::Bar(bar) => bar.finish_and_clear(),
            Show::Lines { .. } => {}
        }
    }
}

/// What verdicts say so far: nothing where all are `ok`.
fn statuses(counts: &Counts) -> String {
    let mut sums: Vec<(&str, u64)> = Vec::new();
    for (status, count) in counts.tallies.iter().flat_map(Tally::occurred) {
        match sums.iter_mut().find(|(known, _)| *known == status) {
            Some((_, sum)) => *sum += count,
            None => sums.push((status, count)),
        }
    }
    let others = sums.iter().filter(|(status, _)| *status != "ok");
    let shown = others.map(|(status, count)| format!(", {} {status}", grouped(*count)));
    shown.collect()
}

fn bar(total: Option<u64>) -> ProgressBar {
    let (bar, template) = match total {
        Some(total) => {
            let template = "{bar:30} {percent}% {msg}, {eta} left";
            (ProgressBar::new(total), template)
        }
        None => (ProgressBar::new_spinner(), "{spinner} {binary_bytes} {msg}"),
    };
    let style = ProgressStyle::with_template(template).expect("the template is valid");
    bar.with_style(style)
}
