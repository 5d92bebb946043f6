//! `tribunal bench`: measurements of verifiers, models, engine, scorers and servers.
//!
//! Each measurement has a module with its arguments, which runs it and prints what it found. Only
//! the command line names this crate: nothing that serves or trains may depend on it.

mod engine;
mod generated;
pub mod kernel_rates;
mod kernels;
mod loaded;
mod scorers;
pub mod throughput;
mod verify;

use std::io::Write as _;
use std::path::Path;

use scoring::error::RunError;

pub use loaded::{AnyForward, EngineSizes, LoadedModel};

/// The measurements.
#[derive(Debug, clap::Subcommand)]
pub enum BenchCommand {
    /// Rate of a verifier in this process
    Verify(verify::BenchVerifyArgs),
    /// Rate of a model's forward in this process
    Engine(engine::BenchEngineArgs),
    /// Products with weights, against the machine's peak rates
    Kernels(kernels::BenchKernelsArgs),
    /// Scorers that use models, over HTTP, against the engine alone
    Scorers(scorers::BenchScorersArgs),
    /// Throughput and latency of a running server
    Serve(Box<loadtest::BenchServe>),
}

/// Runs a measurement and prints what it found. Returns whether an answer failed or was wrong.
///
/// # Errors
/// Arguments that do not fit each other, and whatever ends the measurement.
pub fn run(command: BenchCommand) -> Result<bool, RunError> {
    match command {
        BenchCommand::Verify(args) => verify::run(&args),
        BenchCommand::Engine(args) => engine::run(&args),
        BenchCommand::Kernels(args) => kernels::run(&args),
        BenchCommand::Scorers(args) => scorers::run(&args),
        BenchCommand::Serve(args) => serve(&args),
    }
}

fn serve(args: &loadtest::BenchServe) -> Result<bool, RunError> {
    let report = loadtest::run(args, loadtest::on_stderr().as_mut()).map_err(|error| {
        let message = error.to_string();
        if error.exit_code() == 2 { RunError::Usage(message) } else { RunError::Failed(message) }
    })?;
    let printed = report.print(args, &mut std::io::stdout().lock());
    printed.map_err(RunError::file("write", Path::new("standard output")))?;
    Ok(report.failed())
}

/// Writes to standard output.
fn print(text: &str) -> Result<(), RunError> {
    let mut stdout = std::io::stdout().lock();
    let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    written.map_err(RunError::file("write", Path::new("standard output")))
}
