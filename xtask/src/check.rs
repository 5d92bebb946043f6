//! Formatting and lints.

use std::process::ExitCode;

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

/// Checks the format, in a second; returns the check's name if it failed.
pub(crate) fn format() -> Option<String> {
    failure(&FORMAT)
}

/// The command `check`.
pub(crate) fn run() -> ExitCode {
    let failed = [format(), failure(&LINTS)];
    for name in failed.iter().flatten() {
        eprintln!("failed: {name}");
    }
    if failed.iter().all(Option::is_none) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs a check, if its component is installed; returns its name if it failed.
fn failure(check: &CargoCheck) -> Option<String> {
    let name = format!("cargo {}", check.component);
    if !cargo::has(check.component) {
        println!("skipped: `{name}` is not installed (rustup component add rustfmt clippy)");
        return None;
    }
    println!("running: {name}");
    match cargo::run(&mut cargo::cargo(check.args)) {
        Ok(()) => None,
        Err(why) => Some(format!("{name} ({why})")),
    }
}
