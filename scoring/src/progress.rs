//! Progress of a run of known length, on standard error.

use std::io::{IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

use base::human::grouped;

/// Time between lines.
const SHOWN_EVERY: Duration = Duration::from_secs(5);

/// Progress of a run.
pub struct ItemProgress {
    /// Noun of the counted items, such as `questions`.
    what: &'static str,
    done: u64,
    all: u64,
    started: Instant,
    shown: Instant,
}

impl ItemProgress {
    /// Starts the clock of a run over `all` items.
    pub fn start(what: &'static str, all: u64) -> Self {
        let now = Instant::now();
        Self { what, done: 0, all, started: now, shown: now }
    }

    /// Adds `n` items, and prints a line every few seconds.
    pub fn advance(&mut self, n: u64) {
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
            grouped(self.done, ','),
            grouped(self.all, ','),
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

impl Drop for ItemProgress {
    fn drop(&mut self) {
        if self.shown != self.started && std::io::stderr().is_terminal() {
            eprintln!();
        }
    }
}
