//! `tribunal score`: scores the rows of a JSONL file.

mod chunk;
mod input;
mod journal;
mod judging;
mod local;
mod mapping;
mod output;
mod partial;
mod plan;
mod progress;
mod rejects;
mod remote;
mod resume;
mod row;
mod scores;
mod summary;
mod target;

use std::path::{Path, PathBuf};

use self::chunk::Process;
use self::input::Input;
use self::journal::Counts;
use self::output::Output;
use self::plan::Plan;
use self::progress::Progress;
use self::resume::Opened;
use self::summary::Summary;
use crate::error::{CliError, Outcome};
use crate::stream::{self, Window};

pub(crate) use self::input::{Input as RowInput, refuse_same_file};
pub(crate) use self::judging::Judging;
pub(crate) use self::local::Local;
pub(crate) use self::mapping::Mapping;
pub(crate) use self::partial::{PartialFile, remove_if_there};
pub(crate) use self::remote::{Remote, RemoteArgs};
pub(crate) use self::row::Row;

const EXAMPLES: &str = "\
Examples:
  tribunal score rows.jsonl -o scored.jsonl --scorer math
  tribunal score gsm8k.jsonl -o scored.jsonl --scorer math --scorer arithmetic \\
      --response model.solution --reference answer --extract-reference
  zcat rows.jsonl.gz | tribunal score - -o - --scorer math | gzip > scored.jsonl.gz
  tribunal score rows.jsonl -o scored.jsonl --scorer math --url http://127.0.0.1:8080

Every row keeps its columns as they were written, and gets a column `scores`:
{\"NAME\": verdict}. A verdict is a result of POST /v1/score without what differs from run to
run or belongs to a request: id, timing, cached, metadata, and usage where it is zero.

The output appears under its name when it is whole. Until then OUT.partial and OUT.journal hold
what is done; the same command after an interruption goes on from there and ends with the same
bytes. A run that reads standard input or writes to a stream cannot be gone on with.

Exit code: 0 every row was scored; 1 some rows were rejected (see OUT.rejects.jsonl), or
something failed; 2 the command cannot work as it was written.";

/// Scores the rows of a JSONL file.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ScoreArgs {
    /// JSONL file, one row a line; `-` for standard input
    #[arg(value_name = "IN")]
    input: String,
    /// Where the scored rows go; `-` for standard output
    #[arg(short, long, value_name = "OUT")]
    output: String,
    /// Name of a scorer (repeatable)
    #[arg(long = "scorer", value_name = "NAME", required = true)]
    scorers: Vec<String>,
    /// Configuration file with more scorers
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Add reason.detail to every verdict
    #[arg(long)]
    explain: bool,
    /// Score only the first N rows
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
    /// Verifier threads [default: the number of cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// Print the summary as one line of JSON on standard output too
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    files: target::FileArgs,
    #[command(flatten)]
    mapping: mapping::MappingArgs,
    #[command(flatten)]
    remote: RemoteArgs,
}

/// Memory for chunks under way.
const WINDOW_BYTES: usize = 256 << 20;

/// Runs the command.
pub(crate) fn run(args: ScoreArgs) -> Result<Outcome, CliError> {
    let plan = Plan::resolve(args)?;
    let judging = plan.judging()?;
    let mut input = Input::open(&plan.input, plan.limit)?;
    plan.check_first_rows(&mut input)?;
    match plan.open(judging.judges(), &mut input)? {
        Opened::Complete(counts) => {
            let progress = Progress::start(None, &counts, plan.target.is_stdout());
            report(&plan, judging.as_ref(), counts, &progress)
        }
        Opened::Begun(output) => score(&plan, judging.as_ref(), input, output),
    }
}

fn score(
    plan: &Plan,
    judging: &dyn Judging,
    mut input: Input,
    mut output: Output,
) -> Result<Outcome, CliError> {
    let mut progress = Progress::start(input.total_bytes, output.counts(), plan.target.is_stdout());
    let is_stdin = input.is_stdin();
    let process = Process::new(plan, judging);
    let window = Window {
        workers: plan.lanes,
        bytes: WINDOW_BYTES,
    };
    let scored = stream::run(
        window,
        move || input.next(),
        |chunk| process.chunk(&chunk),
        |finished| {
            output.write(&finished, &progress)?;
            progress.update(finished.end.bytes, output.counts());
            Ok(())
        },
    );
    progress.finish();
    if let Err(error) = scored {
        if let (Output::File(file), false) = (&output, is_stdin) {
            let rows = file.counts.rows();
            eprintln!("{rows} rows are done; the same command goes on from there");
        }
        return Err(error);
    }
    let counts = output.finish()?;
    report(plan, judging, counts, &progress)
}

fn report(
    plan: &Plan,
    judging: &dyn Judging,
    counts: Counts,
    progress: &Progress,
) -> Result<Outcome, CliError> {
    let summary = Summary {
        scorers: judging.judges(),
        resumed_rows: progress.resumed_rows(),
        elapsed: progress.elapsed(),
        rows_per_s: progress.rows_per_s(&counts),
        output: plan.target.output().map(Path::to_owned),
        rejects: plan.target.rejects().map(Path::to_owned),
        counts,
    };
    eprint!("{}", summary.text());
    if plan.json {
        crate::print(&(summary.json() + "\n"))?;
    }
    Ok(summary.outcome())
}
