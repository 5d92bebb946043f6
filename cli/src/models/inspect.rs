//! `tribunal models inspect`: what a folder holds.

use std::path::PathBuf;

use ::models::inspect::InspectOptions;

use super::show;
use crate::error::{CliError, CommandOutcome};

const EXAMPLES: &str = "\
Examples:
  tribunal models inspect models/Qwen3-0.6B
  tribunal models inspect models/Qwen3-0.6B --check --json
  tribunal models inspect adapters/strict --base models/Qwen3-0.6B
  tribunal models inspect hf:Qwen/Qwen3-0.6B@main

Exit code: 0 the folder can be used; 1 it has problems, and all of them are listed; 2 wrong use.";

/// Says what a folder holds.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct InspectArgs {
    /// Folder of a model in the Hugging Face layout or of a PEFT adapter, or hf:ORG/NAME@REVISION
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// Folder of the base model, for an adapter
    #[arg(long, value_name = "DIR")]
    base: Option<PathBuf>,
    /// Read every tensor and look for numbers that are not finite
    #[arg(long)]
    check: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) fn run(args: &InspectArgs) -> Result<CommandOutcome, CliError> {
    let base = args.base.as_deref().map(crate::hub::folder).transpose()?;
    let options = InspectOptions { check: args.check, base };
    let found = ::models::inspect::inspect(&crate::hub::folder(&args.dir)?, &options)
        .map_err(|error| CliError::Usage(error.to_string()))?;
    let text = if args.json {
        serde_json::to_string(&found).expect("an inspection serialises to memory") + "\n"
    } else {
        show::table(&found)
    };
    crate::print(&text)?;
    Ok(CommandOutcome::failed_if(!found.problems.is_empty()))
}
