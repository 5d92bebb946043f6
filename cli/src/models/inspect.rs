//! `tribunal models inspect`: what a folder holds.

use std::fmt::Write as _;
use std::path::PathBuf;

use ::models::inspect::{Inspection, Kind, Options};

use crate::error::{CliError, Outcome};

const EXAMPLES: &str = "\
Examples:
  tribunal models inspect models/Qwen3-0.6B
  tribunal models inspect models/Qwen3-0.6B --check --json

Exit code: 0 the folder can be used; 1 it has problems, and all of them are listed; 2 wrong use.";

/// Says what a folder holds.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct InspectArgs {
    /// Folder in the Hugging Face layout
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// Read every tensor and look for numbers that are not finite
    #[arg(long)]
    check: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) fn run(args: &InspectArgs) -> Result<Outcome, CliError> {
    let options = Options { check: args.check };
    let found = ::models::inspect::inspect(&args.dir, &options)
        .map_err(|error| CliError::Usage(error.to_string()))?;
    let text = if args.json {
        serde_json::to_string(&found).expect("an inspection serialises to memory") + "\n"
    } else {
        table(&found)
    };
    crate::print(&text)?;
    Ok(Outcome::failed_if(!found.problems.is_empty()))
}

/// One fact a line.
fn table(found: &Inspection) -> String {
    let mut lines = vec![("kind", kind(found.kind).to_owned())];
    for file in &found.weights.files {
        lines.push((
            "file",
            format!(
                "{}: {} tensors, {} bytes, {}",
                file.name, file.n_tensors, file.bytes, file.digest
            ),
        ));
    }
    for (dtype, bytes) in &found.weights.bytes_by_dtype {
        lines.push(("stored", format!("{bytes} bytes of {dtype}")));
    }
    for problem in &found.problems {
        lines.push(("problem", problem.clone()));
    }
    let mut text = String::new();
    for (name, value) in lines {
        writeln!(text, "{name:10} {value}").expect("writing to memory does not fail");
    }
    text
}

fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Model => "model",
        Kind::Adapter => "adapter",
        Kind::Unknown => "unknown",
    }
}
