//! Progress of a run: a bar on a terminal, plain lines elsewhere.

use std::io::{IsTerminal, Write, stderr};

use indicatif::{ProgressBar, ProgressStyle};

/// Steps of a progress bar.
const STEPS: u64 = 1000;

/// Receives the progress of a run.
pub trait LoadProgress {
    /// A phase begins.
    fn begin(&mut self, phase: &str);

    /// A phase continues: `share` (0 to 1) of its time has passed, `ended` measured requests have
    /// ended, `ok` of them ok.
    fn tick(&mut self, share: f64, ended: u64, ok: u64);

    /// A phase has ended; `line` summarises it.
    fn end(&mut self, line: &str);
}

/// Writes one line at the end of each phase. Write errors are ignored, so that they do not stop a
/// measurement.
#[derive(Debug)]
pub struct Lines<W>(pub W);

impl<W: Write> LoadProgress for Lines<W> {
    fn begin(&mut self, phase: &str) {
        drop(writeln!(self.0, "{phase}: running"));
    }

    fn tick(&mut self, _share: f64, _ended: u64, _ok: u64) {}

    fn end(&mut self, line: &str) {
        drop(writeln!(self.0, "{line}"));
    }
}

/// A bar on stderr.
#[derive(Debug)]
pub struct Bar(ProgressBar);

impl Bar {
    fn new() -> Self {
        let bar = ProgressBar::new(STEPS);
        let style = ProgressStyle::with_template("{prefix:12} [{bar:30}] {msg}");
        bar.set_style(style.expect("the template is constant and valid"));
        Self(bar)
    }
}

impl LoadProgress for Bar {
    fn begin(&mut self, phase: &str) {
        self.0.reset();
        self.0.set_prefix(phase.to_owned());
        self.0.set_message("");
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a share between 0 and 1 of a thousand steps"
    )]
    fn tick(&mut self, share: f64, ended: u64, ok: u64) {
        self.0.set_position((share.clamp(0.0, 1.0) * STEPS as f64) as u64);
        self.0.set_message(format!("{ended} requests, {ok} ok"));
    }

    fn end(&mut self, line: &str) {
        self.0.println(line);
        self.0.set_position(STEPS);
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// A bar when stderr is a terminal, plain lines on stderr when it is not.
pub fn on_stderr() -> Box<dyn LoadProgress> {
    if stderr().is_terminal() { Box::new(Bar::new()) } else { Box::new(Lines(stderr())) }
}
