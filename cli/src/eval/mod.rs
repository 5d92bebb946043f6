//! `tribunal eval`: the metrics of public benchmarks for any scorer, from local files.

mod answer;
mod asking;
mod fields;
mod layouts;
mod report;

use std::path::{Path, PathBuf};

use curation::evaluation::{Confidence, Sampling};

pub(crate) use self::answer::{Answer, ValueArg};
use self::asking::Questions;
use self::layouts::{Benchmark, NeutralArg};
use self::report::{Evaluated, Evaluation};
use crate::error::{CliError, Outcome};
use crate::score::{Judging, Local, PartialFile, Remote, RemoteArgs};
use crate::scorers;

const EXAMPLES: &str = "\
Examples:
  tribunal eval reward-bench/data/*.parquet --benchmark reward-bench --scorer reward
  tribunal eval gsm8k.json math.json --benchmark process-bench --scorer process --threshold 0.5
  tribunal eval pairs.jsonl --benchmark judge-bench --scorer judge-pair --json
  tribunal eval total_dataset.json --benchmark rm-bench --scorer rm --url http://127.0.0.1:8080

Files are JSONL, JSON arrays (both also .gz or .zst) and Parquet, as the benchmarks are published;
nothing is downloaded. Every metric is printed over the rows that the scorer could judge, with an
interval (Wilson's for shares, else a seeded bootstrap within the benchmark's strata), with what it is
at least (rows that could not be judged counted as wrong), and with the number of rows.

Exit code: 0 the metrics were printed; 1 some questions failed through no fault of the rows, or
nothing could be judged; 2 rows that are not of the layout, or wrong use.";

/// Evaluates scorers on a benchmark.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct EvalArgs {
    /// Files of the benchmark
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Layout of the rows, and whose metrics are computed
    #[arg(long, value_enum)]
    benchmark: Benchmark,
    /// Name of a scorer (repeatable)
    #[arg(long = "scorer", value_name = "NAME", required = true)]
    scorers: Vec<String>,
    /// Configuration file with more scorers
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Use only the first N rows
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
    /// Verifier threads [default: the number of cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// Write the report as JSON
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Print the report as one line of JSON after the tables
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    reading: ReadingArgs,
    #[command(flatten)]
    interval: IntervalArgs,
    #[command(flatten)]
    remote: RemoteArgs,
}

/// How answers are read.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Reading of answers")]
pub(crate) struct ReadingArgs {
    /// Number of a verdict that responses are compared by
    #[arg(long, value_enum, default_value = "score")]
    value: ValueArg,
    /// A step that scores below this is called wrong (process-bench, prm-bench, prm800k)
    #[arg(long, value_name = "SCORE", default_value_t = 0.5)]
    threshold: f64,
    /// Judge each pair in one order: for scorers that look at one response at a time (judge-bench)
    #[arg(long)]
    single_order: bool,
    /// What a step with the rating 0 counts as (prm800k)
    #[arg(long, value_enum, default_value = "right")]
    neutral: NeutralArg,
    /// Numbers of samples to choose among (best-of-n)
    #[arg(long, value_name = "N,…", value_delimiter = ',',
          default_values_t = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024])]
    best_of: Vec<usize>,
}

/// How intervals are made.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Intervals")]
struct IntervalArgs {
    /// How sure they are
    #[arg(long, value_enum, default_value = "0.95")]
    confidence: ConfidenceArg,
    /// Resamples of a bootstrap; 0 for none
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(0..=1_000_000))]
    resamples: u32,
    /// Seed of the resamples
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
}

/// How sure an interval is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum ConfidenceArg {
    /// 90 %
    #[value(name = "0.9")]
    P90,
    /// 95 %
    #[value(name = "0.95")]
    P95,
    /// 99 %
    #[value(name = "0.99")]
    P99,
}

impl IntervalArgs {
    fn sampling(&self) -> Sampling {
        Sampling {
            resamples: usize::try_from(self.resamples).expect("a u32 fits"),
            confidence: match self.confidence {
                ConfidenceArg::P90 => Confidence::P90,
                ConfidenceArg::P95 => Confidence::P95,
                ConfidenceArg::P99 => Confidence::P99,
            },
            seed: self.seed,
        }
    }
}

/// Runs the command.
pub(crate) fn run(args: &EvalArgs) -> Result<Outcome, CliError> {
    check(args)?;
    let mut layout = args.benchmark.layout(&args.reading);
    let questions = Questions::read(args.benchmark, layout.as_mut(), &args.files, args.limit)?;
    let judging = judging(args)?;
    let asked = asking::ask(&questions, judging.as_ref(), args.reading.value)?;
    let sampling = args.interval.sampling();
    let judges = judging.judges().into_iter().zip(asked);
    let results = judges.map(|(judge, asked)| Evaluated {
        scorer: judge.name,
        digest: judge.digest,
        report: layout.report(&asked.answers, sampling),
        tally: asked.tally,
        refused: asked.refused,
    });
    let evaluation = Evaluation {
        benchmark: args.benchmark,
        rows: questions.n_rows(),
        sampling,
        results: results.collect(),
        notes: layout.notes(),
    };
    crate::print(&evaluation.text())?;
    if let Some(path) = &args.output {
        write(path, &evaluation.json())?;
    }
    if args.json {
        crate::print(&evaluation.json())?;
    }
    Ok(evaluation.outcome())
}

/// Refuses what can be seen to be wrong before anything is read.
fn check(args: &EvalArgs) -> Result<(), CliError> {
    scorers::refuse_repeated(&args.scorers)?;
    let usage = |message: String| Err(CliError::Usage(message));
    if !args.reading.threshold.is_finite() {
        return usage(format!(
            "--threshold is {}, and not a finite number",
            args.reading.threshold
        ));
    }
    if args.reading.best_of.contains(&0) {
        return usage("--best-of 0: the best of no sample is none".to_owned());
    }
    let repeated = (1..args.files.len()).find(|at| args.files[..*at].contains(&args.files[*at]));
    if let Some(at) = repeated {
        let file = args.files[at].display();
        return usage(format!("{file} is named twice, and its rows would count twice"));
    }
    if let Some(output) = &args.output {
        let outputs = [output.clone()];
        for file in args.files.iter().filter_map(|file| file.to_str()) {
            crate::score::refuse_same_file(file, &outputs)?;
        }
    }
    Ok(())
}

/// The scorers, here or on a server.
fn judging(args: &EvalArgs) -> Result<Box<dyn Judging>, CliError> {
    if let Some(url) = &args.remote.url {
        let remote = Remote::connect(&args.remote, url, &args.scorers, false)?;
        return Ok(Box::new(remote));
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = args.threads.map_or(cores, usize::from);
    let config = args.config.as_deref();
    Ok(Box::new(Local::new(&args.scorers, config, threads, false)?))
}

/// A file that appears whole or not at all.
fn write(path: &Path, json: &str) -> Result<(), CliError> {
    let mut file = PartialFile::create(path)?;
    file.write(json.as_bytes())?;
    file.commit(false)
}
