//! Formatting and lints.

use std::process::ExitCode;

use crate::cargo;

/// One check: the component it needs and the cargo arguments that run it.
struct CargoCheck {
    component: &'static str,
    args: &'static [&'static str],
}

const CHECKS: &[CargoCheck] = &[
    CargoCheck { component: "fmt", args: &["fmt", "--all", "--check"] },
    // The release profile, as for everything else here: see docs/adr/0002-one-profile.md.
    CargoCheck {
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
    },
];

/// Runs every check whose component is installed and returns the names of those that failed.
pub(crate) fn run() -> Vec<String> {
    CHECKS.iter().filter_map(failure).collect()
}

/// The command `check`.
pub(crate) fn run_alone() -> ExitCode {
    let failed = run();
    for name in &failed {
        eprintln!("failed: {name}");
    }
    if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

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
