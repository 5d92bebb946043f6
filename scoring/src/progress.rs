//! Progress of a run of known length, on standard error: a bar on a terminal; elsewhere a line every
//! few seconds ([`ItemProgress`]) or nothing ([`TerminalBar`]).

use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

use base::human::grouped;
use indicatif::{ProgressBar, ProgressStyle};

/// Time between lines where there is no terminal.
pub(crate) const LINE_EVERY: Duration = Duration::from_secs(5);

/// A bar on a terminal; nothing elsewhere. Removed on drop.
pub struct TerminalBar(Option<ProgressBar>);

impl TerminalBar {
    /// Draws a bar over `all` items of the noun `what`. No bar is drawn if rows are printed on the same
    /// terminal (`to_stdout`).
    pub fn start(what: &'static str, all: u64, to_stdout: bool) -> Self {
        let taken = to_stdout && std::io::stdout().is_terminal();
        let drawn = std::io::stderr().is_terminal() && !taken;
        Self(drawn.then(|| bar(Some(all)).with_message(what)))
    }

    /// Returns a function that adds items, on any thread.
    pub fn counter(&self) -> impl Fn(u64) + Send + Sync + use<> {
        let bar = self.0.clone();
        move |n| {
            if let Some(bar) = &bar {
                bar.inc(n);
            }
        }
    }
}

impl Drop for TerminalBar {
    fn drop(&mut self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}

/// Progress of a run.
pub struct ItemProgress {
    /// Noun of the counted items, such as `questions`.
    what: &'static str,
    done: u64,
    all: u64,
    started: Instant,
    shown: Instant,
    /// `None` where standard error is no terminal.
    bar: Option<ProgressBar>,
}

impl ItemProgress {
    /// Starts the clock of a run over `all` items.
    pub fn start(what: &'static str, all: u64) -> Self {
        let started = Instant::now();
        let bar = std::io::stderr().is_terminal().then(|| bar(Some(all)).with_message(what));
        Self { what, done: 0, all, started, shown: started, bar }
    }

    /// Adds `n` items to the bar, or prints a line every few seconds.
    pub fn advance(&mut self, n: u64) {
        self.done += n;
        if let Some(bar) = &self.bar {
            bar.set_position(self.done);
        } else if self.shown.elapsed() >= LINE_EVERY {
            self.shown = Instant::now();
            eprintln!("{}", self.line());
        }
    }

    fn line(&self) -> String {
        let rate = self.done / self.started.elapsed().as_secs().max(1);
        let left = self.all.saturating_sub(self.done) / rate.max(1);
        let (done, all) = (grouped(self.done, ','), grouped(self.all, ','));
        format!("{done} of {all} {}, {rate} a second, {left} s left", self.what)
    }
}

impl Drop for ItemProgress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// A bar over `total` bytes or rows; a spinner with the bytes so far if the total is unknown.
pub(crate) fn bar(total: Option<u64>) -> ProgressBar {
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
