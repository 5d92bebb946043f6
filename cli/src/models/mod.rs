//! `tribunal models`: model and adapter folders.

mod inspect;
mod make_tiny;
mod show;

use crate::error::{CliError, CommandOutcome};

/// What to do with a folder.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum ModelsCommand {
    /// Say what a model or adapter folder holds, and everything that is wrong with it
    Inspect(inspect::InspectArgs),
    /// Make a model folder with random weights, for tests and measurements
    MakeTiny(make_tiny::MakeTinyArgs),
}

/// Runs the command.
pub(crate) fn run(command: ModelsCommand) -> Result<CommandOutcome, CliError> {
    match command {
        ModelsCommand::Inspect(args) => inspect::run(&args),
        ModelsCommand::MakeTiny(args) => make_tiny::run(&args),
    }
}
