//! `tribunal merge`: merges the outputs of shards.

use base::human::grouped;
use scoring::merge::merge;

use crate::dataset_args::FileArgs;
use crate::error::{CliError, CommandOutcome};

const EXAMPLES: &str = "\
Example, on two machines and then on one of them:
  tribunal score data/ -o part1.parquet --scorer math --shard 1/2
  tribunal score data/ -o part2.parquet --scorer math --shard 2/2
  tribunal merge part1.parquet part2.parquet -o scored.parquet

Every part has a manifest beside it (PART.manifest.json). Parts may be named in any order. Refused
are missing or repeated parts, parts of other inputs, scorers or options, and a part with another
number of rows than its manifest says.

Exit code: 0 done; 1 something failed; 2 the parts do not go together.";

/// Merges the outputs of shards.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct MergeArgs {
    /// The outputs of `tribunal score --shard i/n`, all n of them
    #[arg(value_name = "PART", required = true)]
    parts: Vec<String>,
    /// Merged output
    #[arg(short, long, value_name = "OUT")]
    output: String,
    #[command(flatten)]
    files: FileArgs,
}

/// Runs the command.
pub(crate) fn run(args: &MergeArgs) -> Result<CommandOutcome, CliError> {
    let merged = merge(&args.parts, &args.output, &args.files.options())?;
    let rows = grouped(merged.rows, ',');
    eprintln!("{rows} rows of {} parts\nwrote {}", merged.parts, args.output);
    Ok(CommandOutcome::Done)
}
