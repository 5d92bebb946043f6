//! Builds the server program and the soak beside it, and runs the soak.

use std::process::ExitCode;

use crate::cargo;

/// The command `soak`. Its exit code is that of the soak: 1 for a failed check, 2 for a soak that
/// could not be run.
pub(crate) fn run(args: &[String]) -> ExitCode {
    let build = &["build", "--release", "-p", "cli", "-p", "soak"];
    if let Err(why) = cargo::run(&mut cargo::cargo(build)) {
        eprintln!("error: cargo build: {why}");
        return ExitCode::from(2);
    }
    let mut command = cargo::cargo(&["run", "--release", "-q", "-p", "soak"]);
    let status = command.args(["--bin", "soak", "--"]).args(args).status();
    let code = status.ok().and_then(|status| status.code());
    ExitCode::from(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(2))
}
