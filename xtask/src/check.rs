//! Formatting and lints.

use std::process::{ExitCode, Output, Stdio};
use std::thread::{self, JoinHandle};

use crate::cargo;

/// One check: the component it needs and the cargo arguments that run it.
struct CargoCheck {
    component: &'static str,
    args: &'static [&'static str],
}

const FORMAT: CargoCheck = CargoCheck { component: "fmt", args: &["fmt", "--all", "--check"] };

/// The release profile, as for everything else here: see docs/adr/0002-one-profile.md.
const LINTS: CargoCheck = CargoCheck {
    component: "clippy",
    args: &[
        "clippy",
        "--release",
        "--workspace",
        "--all-targets",
        "--keep-going",
        "--",
        "-D",
        "warnings",
    ],
};

/// Checks the format; returns the check's name if it failed.
pub(crate) fn format() -> Option<String> {
    FORMAT.failure()
}

/// Lints that run beside the tests.
pub(crate) enum Lints {
    NotInstalled,
    Waiting,
    Running(JoinHandle<Result<Output, String>>),
}

impl Lints {
    pub(crate) fn new() -> Self {
        if LINTS.is_installed() { Self::Waiting } else { Self::NotInstalled }
    }

    /// Starts them, once, with one job at low priority, so that what runs beside them keeps its time.
    pub(crate) fn begin(&mut self) {
        if matches!(self, Self::Waiting) {
            *self = Self::Running(thread::spawn(|| {
                let mut command = cargo::at_low_priority(LINTS.args);
                command.env("CARGO_BUILD_JOBS", "1").stdin(Stdio::null());
                command.output().map_err(|error| format!("cannot start: {error}"))
            }));
        }
    }

    /// Waits for them and prints what they say, or runs them now; returns the check's name if it failed.
    pub(crate) fn finish(self) -> Option<String> {
        let running = match self {
            Self::NotInstalled => return None,
            Self::Waiting => return LINTS.failure(),
            Self::Running(running) => running,
        };
        let output = running.join().expect("the thread waits for a process alone");
        println!("\nran beside the tests: cargo {}", LINTS.component);
        let why = match output {
            Ok(output) => {
                eprint!("{}", String::from_utf8_lossy(&output.stderr));
                (!output.status.success()).then(|| output.status.to_string())
            }
            Err(why) => Some(why),
        };
        why.map(|why| LINTS.named(&why))
    }
}

/// The command `check`.
pub(crate) fn run_alone() -> ExitCode {
    let failed = [FORMAT.failure(), LINTS.failure()];
    for name in failed.iter().flatten() {
        eprintln!("failed: {name}");
    }
    if failed.iter().all(Option::is_none) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

impl CargoCheck {
    /// Whether it can run; says so if not.
    fn is_installed(&self) -> bool {
        let is_installed = cargo::has(self.component);
        if !is_installed {
            let name = self.component;
            println!(
                "skipped: `cargo {name}` is not installed (rustup component add rustfmt clippy)"
            );
        }
        is_installed
    }

    /// Runs it, if it can; returns its name if it failed.
    fn failure(&self) -> Option<String> {
        if !self.is_installed() {
            return None;
        }
        println!("running: cargo {}", self.component);
        cargo::run(&mut cargo::cargo(self.args)).err().map(|why| self.named(&why))
    }

    fn named(&self, why: &str) -> String {
        format!("cargo {} ({why})", self.component)
    }
}
