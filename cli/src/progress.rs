//! How far a run of known length is, on standard error.

use std::io::{IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

use crate::tally::grouped;

/// Time between signs of life.
const SHOWN_EVERY: Duration = Duration::from_secs(5);

/// How far a run is.
pub(crate) struct Progress {
    /// What is counted, such as `questions`.
    what: &'static str,
    done: u64,
    all: u64,
    started: Instant,
    shown: Instant,
}

impl Progress {
    /// Starts the clock of a run over so many.
    pub(crate) fn start(what: &'static str, all: u64) -> Self {
        let now = Instant::now();
        Self { what, done: 0, all, started: now, shown: now }
    }

    /// Counts some more, and shows a line if it is time.
    pub(crate) fn advance(&mut self, n: u64) {
        self.done += n;
        if self.shown.elapsed() < SHOWN_EVERY {
            return;
        }
        self.shown = Instant::now();
        let elapsed = self.started.elapsed().as_secs();
        let rate = self.done / elapsed.max(1);
        let left = self.all.saturating_sub(self.done) / rate.max(1);
        let line = format!(
            "{} of {} {}, {rate} a second, {left} s left",
            grouped(self.done),
            grouped(self.all),
            self.what,
        );
        let mut stderr = std::io::stderr().lock();
        // A line that cannot be shown is no reason to stop.
        let _ = if stderr.is_terminal() {
            write!(stderr, "\r{line}   ")
        } else {
            writeln!(stderr, "{line}")
        };
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.shown != self.started && std::io::stderr().is_terminal() {
            eprintln!();
        }
    }
}
