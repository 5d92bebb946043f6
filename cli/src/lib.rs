//! The `tribunal` program: everything that the other crates do, from a shell.
//!
//! Each command has a module with its arguments and what it prints; the work is done by libraries.
//! A library itself, because a program's own crate is compiled only after all libraries.

mod allocator;
mod args;
mod build_info;
mod calibrate;
mod completions;
mod config;
mod dataset_args;
mod doctor;
mod error;
mod eval;
mod filter;
mod hub;
mod merge;
mod models;
mod openapi;
mod preferences;
mod principles;
mod rubric;
mod runs;
mod score;
mod serve;
mod show;
mod train;
mod verify;
mod verify_signature;

use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory as _, FromArgMatches as _};

use ::serve::logs::{self, LogFormat};
use args::{Cli, Command};
use error::{CliError, CommandOutcome, exit_code, is_closed_pipe};

/// Runs the command of the process's arguments. `commit` is what the program was built from.
pub fn main(commit: &'static str) -> ExitCode {
    let build = build_info::BuildInfo::new(commit);
    let matches = Cli::command().long_version(build.text()).get_matches();
    let command = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit()).command;
    train::leave_threads_to_workers();
    if matches!(command, Command::Train(_)) {
        allocator::keep_free_pages();
    }
    if !matches!(command, Command::Serve(_)) {
        // A scorer that fails says why in the log. The server starts its own.
        let filter = ::serve::config::log_filter();
        let filter = filter.as_deref().unwrap_or("warn,hub=info");
        if let Err(problem) = logs::init(filter, LogFormat::Text) {
            Cli::command()
                .error(ErrorKind::InvalidValue, format!("TRIBUNAL_LOG: {problem}"))
                .exit();
        }
    }
    let ended = match command {
        Command::Serve(args) => serve::run(&args, &build),
        Command::Score(args) => score::run(*args),
        Command::Merge(args) => merge::run(&args),
        Command::Filter(args) => filter::run(*args),
        Command::Denoise(args) => preferences::run(&args),
        Command::Principles(args) => principles::run(&args),
        Command::Show(args) => show::run(*args),
        Command::Verify(args) => verify::run(args),
        Command::VerifySignature(args) => verify_signature::run(*args),
        Command::Calibrate(args) => calibrate::run(&args),
        Command::Eval(args) => eval::run(&args),
        Command::Bench(command) => benchmarks::run(command).map(CommandOutcome::failed_if),
        Command::Train(args) => train::run(&args),
        Command::Runs(args) => runs::run(&args),
        Command::Rubric(command) => rubric::run(command),
        Command::Models(command) => models::run(command),
        Command::Config(command) => config::run(command),
        Command::Doctor(args) => doctor::run(&args),
        Command::Openapi => openapi::run(),
        Command::Completions(args) => completions::run(&args, Cli::command()),
        Command::Man(args) => completions::write_pages(&args, Cli::command()),
    };
    match ended {
        Ok(outcome) => outcome.exit_code(),
        Err(error) => {
            if !is_closed_pipe(&error) {
                eprintln!("error: {error}");
            }
            exit_code(&error)
        }
    }
}

/// Writes to standard output. A reader that has gone away is an error like any other.
fn print(text: &str) -> Result<(), CliError> {
    let mut stdout = std::io::stdout().lock();
    let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    written.map_err(CliError::file("write", Path::new("standard output")))
}
