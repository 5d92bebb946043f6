//! The `tribunal` binary: everything that the other crates do, from a shell.
//!
//! Each command has a module; what commands share is small: how they end ([`error`]), how verdicts
//! look in files ([`verdict`]) and how they are counted ([`tally`]), and large inputs in bounded
//! memory ([`stream`]).

mod args;
mod attempts;
mod bench;
mod calibrate;
mod dataset_files;
mod doctor;
mod error;
mod eval;
mod filter;
mod loaded;
mod memory;
mod merge;
mod models;
mod openapi;
mod preferences;
mod principles;
mod progress;
mod rubric;
mod score;
mod scorers;
mod serve;
mod stream;
mod tally;
mod temporary;
mod train;
mod verdict;
mod verify;

use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use clap::Parser as _;

use ::serve::logs::{self, LogFormat};
use args::{Cli, Command};
use error::CliError;

/// Requests are made of many small texts; the system's allocator took a sixth of the server's time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let command = Cli::parse().command;
    if matches!(command, Command::Train(_)) {
        train::leave_threads_to_workers();
        train::keep_memory();
    }
    if !matches!(command, Command::Serve(_)) {
        // A scorer that fails says why in the log. The server starts its own.
        logs::init("warn", LogFormat::Text).expect("logging starts once, with a valid filter");
    }
    let ended = match command {
        Command::Serve(args) => serve::run(&args),
        Command::Score(args) => score::run(*args),
        Command::Merge(args) => merge::run(&args),
        Command::Filter(args) => filter::run(*args),
        Command::Denoise(args) => preferences::run(&args),
        Command::Principles(args) => principles::run(&args),
        Command::Verify(args) => verify::run(args),
        Command::Calibrate(args) => calibrate::run(&args),
        Command::Eval(args) => eval::run(&args),
        Command::Bench(command) => bench::run(command),
        Command::Train(args) => train::run(&args),
        Command::Rubric(command) => rubric::run(command),
        Command::Models(command) => models::run(command),
        Command::Doctor(args) => doctor::run(&args),
        Command::Openapi => openapi::run(),
    };
    match ended {
        Ok(outcome) => outcome.exit_code(),
        Err(error) => {
            eprintln!("error: {error}");
            error.exit_code()
        }
    }
}

/// Writes to standard output. A reader that has gone away is an error like any other.
fn print(text: &str) -> Result<(), CliError> {
    let mut stdout = std::io::stdout().lock();
    let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    written.map_err(CliError::file("write", Path::new("standard output")))
}

/// Waits for `future` on this thread. The scorers' own threads do the work.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime.expect("a runtime without drivers needs nothing from the system").block_on(future)
}
