//! `tribunal filter`: keeps the rows of a dataset that meet conditions.

mod output;
mod page;
mod plot;
mod summary;

use std::path::{Path, PathBuf};
use std::time::Instant;

use datasets::filter::{MEMORY_BYTES, Options, Plan, Resources};
use datasets::format::Format;
use datasets::manifest::{Manifest, Output as OutputFile, Time};
use datasets::sink::{self, SinkOptions};
use datasets::source::{Dataset, MissingColumns, Selection, SourceOptions};

use self::output::Output;
use self::summary::Summary;
use crate::error::{CliError, Outcome};
use crate::score::refuse_same_file;

const EXAMPLES: &str = r#"Examples:
  tribunal filter scored.jsonl -o right.parquet --where "scores.math.score = 1"
  tribunal filter 'data/*.parquet' -o best.jsonl --where "scores['helpful']['score'] > 0.5" \
      --order-by "scores.helpful.score DESC" --top-k 1000 --select "prompt, response"
  tribunal filter dataset/ --split train -o small.parquet --sample 10000 --seed 7 --dedupe exact
  zcat rows.jsonl.gz | tribunal filter - -o - --where "length(response) < 4000" > short.jsonl

GSM8K, from answers to rewards to the answers that are right, the shortest of each question:
  tribunal score gsm8k.jsonl -o scored.jsonl --scorer math --response model.solution \
      --reference answer --extract-reference
  tribunal filter scored.jsonl -o right.jsonl --report right.html \
      --where "scores.math.status = 'ok' AND scores.math.score = 1"
  tribunal filter right.jsonl -o shortest.parquet --dedupe exact --dedupe-by question \
      --order-by "length(model.solution)"

Inputs are files, globs, folders in the layout of Hugging Face datasets, and `-`. JSON lines, Parquet,
CSV and TSV are known by their names; texts may be packed with gzip or Zstandard.

Conditions are SQL over every column, with names as they are written in the file; one that has other
characters than letters stands in double quotes ("6b_verification".solution). A null meets no
condition. With several conditions, each counts the rows that it drops of those that are left. Rows
stay in their order unless --order-by gives another; then nulls come last. --sql takes a whole query
over the table `data`.

The output appears under its name when it is whole, and OUT.manifest.json beside it says what made it.

Exit code: 0 done; 1 some rows could not be read (see OUT.rejects.jsonl), or something failed; 2 the
command cannot work as it was written."#;

/// Keeps the rows of a dataset that meet conditions.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct FilterArgs {
    /// Files, globs, folders; `-` for standard input
    #[arg(value_name = "IN", required = true)]
    inputs: Vec<String>,
    /// Where the rows go; `-` for standard output
    #[arg(short, long, value_name = "OUT")]
    output: String,
    #[command(flatten)]
    question: QuestionArgs,
    #[command(flatten)]
    reading: ReadingArgs,
    #[command(flatten)]
    writing: WritingArgs,
}

/// Which rows and columns.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Rows and columns")]
struct QuestionArgs {
    /// Keep rows that meet this condition (repeatable)
    #[arg(long = "where", value_name = "SQL")]
    wheres: Vec<String>,
    /// Write these columns and expressions, as in a SELECT [default: all columns]
    #[arg(long, value_name = "SQL")]
    select: Option<String>,
    /// Order rows, as in an ORDER BY
    #[arg(long, value_name = "SQL")]
    order_by: Option<String>,
    /// Keep the first K rows of the order
    #[arg(long, value_name = "K")]
    top_k: Option<u64>,
    /// Keep the first N rows
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
    /// Draw N rows, each with the same chance
    #[arg(long, value_name = "N")]
    sample: Option<u64>,
    /// What the draw follows from
    #[arg(long, value_name = "SEED", default_value = "0")]
    seed: u64,
    /// Drop rows that are like an earlier one
    #[arg(long, value_enum, value_name = "HOW")]
    dedupe: Option<DedupeArg>,
    /// Columns in which rows are compared [default: all]
    #[arg(
        long,
        value_name = "COLUMNS",
        value_delimiter = ',',
        requires = "dedupe"
    )]
    dedupe_by: Vec<String>,
    /// Answer a whole query over the table `data`
    #[arg(long, value_name = "SQL")]
    sql: Option<String>,
}

/// How inputs are read.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Input")]
struct ReadingArgs {
    /// Format of every input [default: by its name]
    #[arg(long, value_enum, value_name = "FORMAT")]
    format: Option<FormatArg>,
    /// Split of a folder that has several
    #[arg(long, value_name = "NAME")]
    split: Option<String>,
    /// Configuration of a folder whose README.md lists several
    #[arg(long, value_name = "NAME")]
    config_name: Option<String>,
    /// What to do about a column that some files lack
    #[arg(long, value_enum, value_name = "HOW", default_value = "refuse")]
    missing_columns: MissingArg,
    /// Threads that read [default: the number of cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
}

/// How the output is written.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Output")]
struct WritingArgs {
    /// Format of the output [default: by its name; JSON lines for a stream]
    #[arg(long, value_enum, value_name = "FORMAT")]
    output_format: Option<FormatArg>,
    /// Write files of N rows: OUT-00000-of-00003 and so on
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    shard_rows: Option<u64>,
    /// Replace an output that is there
    #[arg(long)]
    overwrite: bool,
    /// Write a page with plots of what was dropped and how scores are spread
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
    /// Print the summary as one line of JSON on standard output too
    #[arg(long)]
    json: bool,
}

/// How rows are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum DedupeArg {
    /// Equal to the last byte
    Exact,
}

/// How rows are written in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum FormatArg {
    /// One JSON object a line
    Jsonl,
    /// Apache Parquet
    Parquet,
    /// Values between commas
    Csv,
    /// Values between tabs
    Tsv,
}

/// What to do about a column that some files lack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum MissingArg {
    /// Stop, and name file and column
    Refuse,
    /// Fill it with nulls
    Null,
}

impl FormatArg {
    fn format(self) -> Format {
        match self {
            Self::Jsonl => Format::Jsonl,
            Self::Parquet => Format::Parquet,
            Self::Csv => Format::Csv,
            Self::Tsv => Format::Tsv,
        }
    }
}

/// Runs the command.
pub(crate) fn run(args: FilterArgs) -> Result<Outcome, CliError> {
    let started = Instant::now();
    let sink = SinkOptions {
        format: args.writing.output_format.map(FormatArg::format),
        shard_rows: args.writing.shard_rows,
        overwrite: args.writing.overwrite,
    };
    refuse_clash(&args)?;
    sink::check(&args.output, &sink)?;
    let threads = args.reading.threads.map(usize::from);
    let threads =
        threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    let dataset = Dataset::open(&args.inputs, &source_options(&args.reading))?;
    refuse_inputs(&args, &dataset)?;
    let options = options(args.question);
    let resources = Resources {
        threads,
        memory_bytes: MEMORY_BYTES,
        spill: output::spill_folder(&args.output),
    };
    let plan = Plan::new(&dataset, options.clone(), resources)?;
    let mut output = Output::new(&args.output, sink);
    // Inputs are hashed while they are read: the bytes are in memory then.
    let hashed = dataset.clone();
    let digests = output
        .is_file()
        .then(|| std::thread::spawn(move || hashed.digests()));
    let report = plan.run(&mut output)?;
    let (written, rejects) = output.finish()?;
    let summary = Summary {
        output: args.output.clone(),
        files: written.files,
        rejects,
        report,
        elapsed: started.elapsed(),
    };
    if let Some(page) = &args.writing.report {
        let html = page::html(&summary)?;
        datasets::manifest::write_whole(page, &html)?;
    }
    if let Some(digests) = digests {
        let inputs = digests
            .join()
            .map_err(|_| CliError::Failed("the inputs could not be hashed".to_owned()))??;
        let manifest = Manifest {
            manifest: 1,
            program: concat!("tribunal ", env!("CARGO_PKG_VERSION")).to_owned(),
            command: "filter".to_owned(),
            inputs,
            options: serde_json::to_value(&options).expect("options serialise"),
            counts: serde_json::to_value(&summary.report).expect("counts serialise"),
            outputs: OutputFile::of(&summary.files),
            time: Time::now(started.elapsed()),
        };
        manifest.write(Path::new(&args.output))?;
    }
    eprint!("{}", summary.text());
    if args.writing.json {
        crate::print(&(summary.json() + "\n"))?;
    }
    Ok(Outcome::failed_if(summary.report.rejected > 0))
}

fn source_options(args: &ReadingArgs) -> SourceOptions {
    SourceOptions {
        format: args.format.map(FormatArg::format),
        selection: Selection {
            config: args.config_name.clone(),
            split: args.split.clone(),
        },
        missing: match args.missing_columns {
            MissingArg::Refuse => MissingColumns::Refuse,
            MissingArg::Null => MissingColumns::Null,
        },
        ..SourceOptions::default()
    }
}

fn options(args: QuestionArgs) -> Options {
    Options {
        wheres: args.wheres,
        select: args.select,
        order_by: args.order_by,
        top_k: args.top_k,
        limit: args.limit,
        sample: args.sample,
        seed: args.seed,
        dedupe_by: args.dedupe.map(|how| match how {
            DedupeArg::Exact => args.dedupe_by,
        }),
        sql: args.sql,
    }
}

fn refuse_clash(args: &FilterArgs) -> Result<(), CliError> {
    if args.output == "-" && args.writing.json {
        let message = "--json and '-o -' would both write to standard output";
        return Err(CliError::Usage(message.to_owned()));
    }
    let page = args.writing.report.as_ref();
    if page.is_some_and(|page| page.as_path() == Path::new(&args.output)) {
        let message = "--report and --output name the same file";
        return Err(CliError::Usage(message.to_owned()));
    }
    Ok(())
}

/// Nothing is written over what is read.
fn refuse_inputs(args: &FilterArgs, dataset: &Dataset) -> Result<(), CliError> {
    let mut outputs = vec![PathBuf::from(&args.output)];
    outputs.extend(args.writing.report.clone());
    let files = dataset.files().iter().filter(|file| !file.is_stdin());
    for file in files {
        refuse_same_file(file.name(), &outputs)?;
    }
    Ok(())
}
