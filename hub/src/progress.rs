//! Progress of a fetch: a bar on a terminal, elsewhere lines of the log.

use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

use base::human;
use indicatif::{ProgressBar, ProgressStyle};

/// Time between lines where there is no terminal.
const LINE_EVERY: Duration = Duration::from_secs(5);

/// The bytes of a fetch.
pub(crate) struct Progress {
    label: String,
    done: u64,
    total: u64,
    shown: Instant,
    /// `None` where standard error is no terminal.
    bar: Option<ProgressBar>,
}

impl Progress {
    pub(crate) fn start(label: String) -> Progress {
        let bar = std::io::stderr().is_terminal().then(|| {
            let template = "{msg} {bar:30} {binary_bytes} of {binary_total_bytes}, {eta} left";
            let style = ProgressStyle::with_template(template).expect("the template is valid");
            ProgressBar::new(0).with_style(style).with_message(label.clone())
        });
        Progress { label, done: 0, total: 0, shown: Instant::now(), bar }
    }

    /// Adds bytes that are to come.
    pub(crate) fn expect(&mut self, bytes: u64) {
        self.total = self.total.saturating_add(bytes);
        if let Some(bar) = &self.bar {
            bar.set_length(self.total);
        }
    }

    /// Adds bytes that have come.
    pub(crate) fn advance(&mut self, bytes: u64) {
        self.done = self.done.saturating_add(bytes);
        if let Some(bar) = &self.bar {
            bar.set_position(self.done);
        } else if self.shown.elapsed() >= LINE_EVERY {
            self.shown = Instant::now();
            let (done, total) = (human::bytes(self.done), human::bytes(self.total));
            tracing::info!("{}: {done} of {total}", self.label);
        }
    }

    /// Takes back bytes that have to come again.
    pub(crate) fn take_back(&mut self, bytes: u64) {
        self.done = self.done.saturating_sub(bytes);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
