//! `tribunal score`: scores the rows of a dataset, as lines ([`chunk`], [`resume`]) or as tables
//! ([`table`]).

mod ahead;
mod cell;
mod chunk;
mod columns;
mod input;
mod journal;
mod judging;
mod local;
mod lock;
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
mod store;
mod summary;
mod table;
mod target;

use std::path::{Path, PathBuf};
use std::time::Instant;

use datasets::manifest::Time;
use datasets::source::InputDigest;

use self::ahead::{Ahead, Known};
use self::chunk::Process;
use self::input::Input;
use self::journal::Counts;
use self::output::Output;
use self::plan::Plan;
use self::progress::Progress;
use self::resume::Opened;
use self::store::Store;
use self::summary::Summary;
use crate::error::{CliError, Outcome};
use crate::stream::{self, Window};

pub(crate) use self::ahead::judge_all;
pub(crate) use self::input::{Input as RowInput, refuse_same_file};
pub(crate) use self::judging::{Judged, Judging};
pub(crate) use self::local::Local;
pub(crate) use self::mapping::Mapping;
pub(crate) use self::partial::{PartialFile, remove_if_there};
pub(crate) use self::remote::{Remote, RemoteArgs};
pub(crate) use self::row::Row;
pub(crate) use self::table::Shard;

const EXAMPLES: &str = "\
Examples:
  tribunal score rows.jsonl -o scored.jsonl --scorer math
  tribunal score 'data/*.parquet' -o scored.parquet --scorer math --scorer arithmetic
  tribunal score gsm8k.jsonl -o scored.jsonl --scorer math --scorer arithmetic \\
      --response model.solution --reference answer --extract-reference
  zcat rows.jsonl.gz | tribunal score - -o - --scorer math | gzip > scored.jsonl.gz
  tribunal score rows.jsonl -o scored.jsonl --scorer math --url http://127.0.0.1:8080
  tribunal score scored.parquet -o again.parquet --scorer judge --retry-status timeout,overloaded

Every row keeps its columns and gets a column `scores`: {\"NAME\": verdict}. A verdict is a result of
POST /v1/score without what differs from run to run or belongs to a request: id, timing, cached,
metadata, and usage where it is zero. From one file of JSON lines to another, every other byte of a row
stays as it was written; everything else is a table, whose values keep their types.

The output appears under its name when it is whole. Until then OUT.journal and OUT.partial, or
OUT.verdicts, hold what is done; the same command after an interruption goes on from there and ends
with the same bytes. A run over lines that reads standard input, and one that writes to a stream, cannot
be gone on with. OUT.manifest.json says what made the output.

Exit code: 0 every row was scored; 1 some rows were rejected (see OUT.rejects.jsonl), or
something failed; 2 the command cannot work as it was written.";

/// Scores the rows of a dataset.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ScoreArgs {
    /// Files, globs, dataset folders, or `-` for standard input
    #[arg(value_name = "IN", required = true)]
    inputs: Vec<String>,
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
    mapping: columns::MappingArgs,
    #[command(flatten)]
    table: table::TableArgs,
    #[command(flatten)]
    remote: RemoteArgs,
}

/// Memory for chunks under way.
const WINDOW_BYTES: usize = 256 << 20;

/// Runs the command.
pub(crate) fn run(args: ScoreArgs) -> Result<Outcome, CliError> {
    let plan = Plan::resolve(args)?;
    if plan.is_table() {
        return table::run(&plan);
    }
    let started = Instant::now();
    let judging = plan.judging()?;
    let mut input = Input::open(plan.input(), plan.limit)?;
    plan.check_first_rows(&mut input)?;
    match plan.open(judging.judges(), &mut input)? {
        Opened::Complete(counts) => {
            let progress = Progress::start(None, &counts, plan.target.is_stdout());
            manifest(&plan, judging.as_ref(), &counts, started)?;
            report(&plan, judging.as_ref(), counts, &progress)
        }
        Opened::Begun(output) if judging.asks_models() && !input.is_stdin() => {
            let store = ask_ahead(&plan, judging.as_ref())?;
            let known = Known::new(judging.as_ref(), &store);
            let (counts, progress) = score(&plan, &known, input, output)?;
            manifest(&plan, &known, &counts, started)?;
            store.remove()?;
            report(&plan, &known, counts, &progress)
        }
        Opened::Begun(output) => {
            let (counts, progress) = score(&plan, judging.as_ref(), input, output)?;
            manifest(&plan, judging.as_ref(), &counts, started)?;
            report(&plan, judging.as_ref(), counts, &progress)
        }
    }
}

/// Judges what the rows of the input will ask models.
fn ask_ahead(plan: &Plan, judging: &dyn Judging) -> Result<Store, CliError> {
    let header = plan.verdict_header(plan.input(), judging.judges());
    let folder = plan.work_folder();
    let mut store = match plan.target.output() {
        Some(output) => {
            let path = partial::beside(output, ".verdicts");
            Store::open(&path, &header, plan.existing.restart)?
        }
        None => Store::unnamed(&folder, &header)?,
    };
    let process = Process::new(plan, judging);
    let mut ahead = Ahead::new(&folder)?;
    let mut input = Input::open(plan.input(), plan.limit)?;
    while let Some(chunk) = input.next()? {
        for input in process.inputs(&chunk) {
            ahead.add(&input, &store)?;
        }
    }
    ahead.judge(judging, &mut store)?;
    Ok(store)
}

fn score(
    plan: &Plan,
    judging: &dyn Judging,
    mut input: Input,
    mut output: Output,
) -> Result<(Counts, Progress), CliError> {
    let mut progress = Progress::start(input.total_bytes, output.counts(), plan.target.is_stdout());
    let is_stdin = input.is_stdin();
    let process = Process::new(plan, judging);
    let window = Window { workers: plan.lanes, bytes: WINDOW_BYTES };
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
    Ok((output.finish()?, progress))
}

/// Writes what made the output beside it, where both are files.
fn manifest(
    plan: &Plan,
    judging: &dyn Judging,
    counts: &Counts,
    started: Instant,
) -> Result<(), CliError> {
    let Some(output) = plan.target.output().filter(|_| plan.input() != input::STREAM) else {
        return Ok(());
    };
    let input = Path::new(plan.input());
    let metadata = std::fs::metadata(input).map_err(CliError::file("read", input))?;
    if !metadata.is_file() {
        return Ok(());
    }
    let inputs = vec![InputDigest {
        file: plan.input().to_owned(),
        bytes: metadata.len(),
        digest: datasets::source::digest(input)?,
    }];
    let files = [(output.to_owned(), counts.scored)];
    let time = Time::now(started.elapsed());
    plan.manifest(judging, inputs, counts, (&files, time)).write(output)?;
    Ok(())
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
