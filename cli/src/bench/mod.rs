//! `tribunal bench`: measurements.

mod generated;
mod verify;

use crate::error::{CliError, Outcome};

/// What to measure.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum BenchCommand {
    /// Rate of a verifier in this process
    Verify(verify::BenchVerifyArgs),
}

/// Runs a measurement.
pub(crate) fn run(command: BenchCommand) -> Result<Outcome, CliError> {
    match command {
        BenchCommand::Verify(args) => verify::run(&args),
    }
}
