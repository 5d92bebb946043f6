//! Builds and runs every test, and ends with one line that adds them up.

use std::io::{self, BufRead, BufReader, Write};
use std::process::{Command, ExitCode, Stdio};

use crate::args::TestOptions;
use crate::summary::TestSummary;
use crate::{cargo, check};

/// How many tests `--slowest` lists.
const SLOWEST: usize = 40;

/// The command `test`. A failed check does not hide the tests: both are reported, and a failed
/// check counts as one failure.
pub(crate) fn run(options: &TestOptions) -> ExitCode {
    let mut summary = TestSummary::default();
    if options.no_check {
        println!("skipped: rustfmt (--no-check)");
    } else if let Some(name) = check::format() {
        summary.add_failure(name);
    }
    run_tests(options, &mut summary);
    report(&summary);
    if summary.is_success() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn run_tests(options: &TestOptions, summary: &mut TestSummary) {
    println!("running: cargo test");
    let mut command = cargo::cargo(&["test", "--release", "--workspace", "--no-fail-fast"]);
    if options.slowest {
        // The harness reports times only where unstable features are allowed. As the runner's
        // environment this reaches the tests and not the compiler, so nothing is built anew.
        let runner = r#"target."cfg(all())".runner = ["env", "RUSTC_BOOTSTRAP=1"]"#;
        command.args(["--config", runner]);
    }
    let has_harness_args = options.cargo_args.iter().any(|arg| arg == "--");
    command.args(&options.cargo_args);
    if !has_harness_args {
        command.arg("--");
    }
    // What a test that could not run says is counted.
    command.arg("--show-output");
    if options.slowest {
        command.args(["-Zunstable-options", "--report-time"]);
    }
    let failed_before = summary.failed();
    let outcome = stream(&mut command, |line| summary.line(line));
    summary.close();
    // Cargo failed and no test did: the build broke, or cargo was used wrongly.
    if let Err(why) = outcome
        && summary.failed() == failed_before
    {
        summary.add_failure(format!("cargo test ({why})"));
    }
}

/// Runs `command` and passes through at once those lines of its stdout that `shows` says yes to. The
/// error is a message for the user.
fn stream(command: &mut Command, mut shows: impl FnMut(&str) -> bool) -> Result<(), String> {
    let mut child =
        command.stdout(Stdio::piped()).spawn().map_err(|error| format!("cannot start: {error}"))?;
    let stdout = child.stdout.take().expect("stdout is a pipe");
    let read = copy_lines(BufReader::new(stdout), io::stdout(), &mut shows);
    let status = child.wait().map_err(|error| error.to_string())?;
    read.map_err(|error| format!("cannot pass its output on: {error}"))?;
    if status.success() { Ok(()) } else { Err(status.to_string()) }
}

/// Bytes go through unchanged, whatever their encoding.
fn copy_lines(
    mut from: impl BufRead,
    mut to: impl Write,
    shows: &mut impl FnMut(&str) -> bool,
) -> io::Result<()> {
    let mut line = Vec::new();
    while from.read_until(b'\n', &mut line)? > 0 {
        if shows(String::from_utf8_lossy(&line).trim_end_matches(['\r', '\n'])) {
            to.write_all(&line)?;
            to.flush()?;
        }
        line.clear();
    }
    Ok(())
}

fn report(summary: &TestSummary) {
    if !summary.failures().is_empty() {
        println!("\nfailed:");
        for name in summary.failures() {
            println!("  {name}");
        }
    }
    if summary.ran_nothing() {
        println!("\nfailed: no test ran");
    }
    if !summary.skips().is_empty() {
        println!("\nskipped:");
        for skip in summary.skips() {
            println!("  {skip}");
        }
    }
    let slowest = summary.slowest(SLOWEST);
    if !slowest.is_empty() {
        println!("\nslowest, in seconds:");
        for (seconds, name) in slowest {
            println!("  {seconds:8.2}  {name}");
        }
    }
    println!("\n{summary}");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(input: &[u8], expected: &[&str]) {
        let mut copy = Vec::new();
        let mut lines = Vec::new();
        copy_lines(input, &mut copy, &mut |line: &str| {
            lines.push(line.to_owned());
            line != "hidden"
        })
        .expect("memory does not fail");
        assert_eq!(copy, input.strip_suffix(b"hidden\n").unwrap_or(input));
        assert_eq!(lines, expected);
    }

    #[test]
    fn bytes_pass_unchanged_and_lines_lose_their_ends() {
        check(b"", &[]);
        check(b"a\nb\n", &["a", "b"]);
        check(b"a\r\n\nno end", &["a", "", "no end"]);
        check(b"\xff\n", &["\u{fffd}"]);
        check(b"a\nhidden\n", &["a", "hidden"]);
    }
}
