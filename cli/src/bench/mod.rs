//! `tribunal bench`: measurements.

mod engine;
mod generated;
mod kernels;
mod scorers;
mod verify;

use std::path::Path;

use crate::error::{CliError, Outcome};

/// What to measure.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum BenchCommand {
    /// Rate of a verifier in this process
    Verify(verify::BenchVerifyArgs),
    /// Rate of a model's forward in this process
    Engine(engine::BenchEngineArgs),
    /// Products with weights, against the machine's arithmetic and memory
    Kernels(kernels::BenchKernelsArgs),
    /// Scorers that ask models, over HTTP, against the engine alone
    Scorers(scorers::BenchScorersArgs),
    /// Throughput and latency of a running server
    Serve(Box<loadtest::BenchServe>),
}

/// Runs a measurement.
pub(crate) fn run(command: BenchCommand) -> Result<Outcome, CliError> {
    match command {
        BenchCommand::Verify(args) => verify::run(&args),
        BenchCommand::Engine(args) => engine::run(&args),
        BenchCommand::Kernels(args) => kernels::run(&args),
        BenchCommand::Scorers(args) => scorers::run(&args),
        BenchCommand::Serve(args) => serve(&args),
    }
}

fn serve(args: &loadtest::BenchServe) -> Result<Outcome, CliError> {
    let report = loadtest::run(args, loadtest::on_stderr().as_mut()).map_err(|error| {
        let message = error.to_string();
        if error.exit_code() == 2 { CliError::Usage(message) } else { CliError::Failed(message) }
    })?;
    let printed = report.print(args, &mut std::io::stdout().lock());
    printed.map_err(CliError::file("write", Path::new("standard output")))?;
    Ok(Outcome::failed_if(report.failed()))
}
