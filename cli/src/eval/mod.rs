//! `tribunal eval`: the metrics of public benchmarks for any scorer, from local files or the Hub.

mod download;
mod report;

use std::path::{Path, PathBuf};

use clap::ValueEnum as _;
use curation::evaluation::metrics::{Confidence, IntervalOptions};
use curation::evaluation::{
    Benchmark, BenchmarkInputs, BenchmarkOptions, InputScores, NeutralLabel, VerdictValue,
};
use scoring::backend::{Backend, BackendOptions};
use scoring::files::PartialFile;
use scoring::progress::ItemProgress;
use scoring::scorers;
use scoring::status_counts::StatusCounts;

use self::report::{Evaluation, ScorerReport};
use crate::error::{CliError, CommandOutcome};
use crate::score::RemoteArgs;

const EXAMPLES: &str = "\
Examples:
  tribunal eval reward-bench/data/*.parquet --benchmark reward-bench --scorer reward
  tribunal eval gsm8k.json math.json --benchmark process-bench --scorer process --threshold 0.5
  tribunal eval pairs.jsonl --benchmark judge-bench --scorer judge-pair --json
  tribunal eval total_dataset.json --benchmark rm-bench --scorer rm --url http://127.0.0.1:8080
  tribunal eval --download --benchmark process-bench --scorer process

Files are JSONL, JSON arrays (both also .gz or .zst) and Parquet, as the benchmarks are published;
nothing is downloaded without --download. Every metric is printed over the rows that the scorer
could judge, with an interval (Wilson's for shares, else a seeded bootstrap within the benchmark's
strata), with what it is at least (rows that could not be judged counted as wrong), and with the
number of rows.

Exit code: 0 the metrics were printed; 1 some questions failed through no fault of the rows, or
nothing could be judged; 2 rows that are not of the layout, or wrong use.";

/// Evaluates scorers on a benchmark.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct EvalArgs {
    /// Files of the benchmark
    #[arg(value_name = "FILE", required_unless_present = "download")]
    files: Vec<PathBuf>,
    /// Fetch the benchmark's files from the Hugging Face Hub into its cache, at a branch, tag or commit
    #[arg(long, value_name = "REVISION", num_args = 0..=1, require_equals = true,
          default_missing_value = "main", conflicts_with = "files")]
    download: Option<String>,
    /// Layout of the rows, and whose metrics are computed
    #[arg(long, value_enum)]
    benchmark: BenchmarkArg,
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

/// How verdicts are compared.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Reading of answers")]
struct ReadingArgs {
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

/// A benchmark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum BenchmarkArg {
    /// `RewardBench`: pairs in 23 subsets, weighted sections
    RewardBench,
    /// `RewardBench` 2: the best of four, and Ties
    #[value(name = "reward-bench-2")]
    RewardBench2,
    /// `RM-Bench`: three styles against three, easy to hard
    RmBench,
    /// `JudgeBench`: pairs judged in both orders
    JudgeBench,
    /// `ProcessBench`: the first wrong step
    ProcessBench,
    /// `PRMBench`: steps spoilt in nine ways
    PrmBench,
    /// `PRM800K`: steps with people's ratings
    Prm800k,
    /// Best of n over samples with known outcomes, as `PRM800K`'s repository evaluates
    BestOfN,
}

/// The number of a verdict that responses are compared by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ValueArg {
    /// The score: calibrated or defined
    Score,
    /// The raw value: an unbounded logit; a scorer without one has judged nothing
    Raw,
}

/// What a step with the rating 0 counts as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum NeutralArg {
    /// A right step
    Right,
    /// A wrong step
    Wrong,
    /// A step without a label
    Skip,
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

impl BenchmarkArg {
    fn benchmark(self) -> Benchmark {
        match self {
            Self::RewardBench => Benchmark::RewardBench,
            Self::RewardBench2 => Benchmark::RewardBench2,
            Self::RmBench => Benchmark::RmBench,
            Self::JudgeBench => Benchmark::JudgeBench,
            Self::ProcessBench => Benchmark::ProcessBench,
            Self::PrmBench => Benchmark::PrmBench,
            Self::Prm800k => Benchmark::Prm800k,
            Self::BestOfN => Benchmark::BestOfN,
        }
    }

    /// Its name on the command line.
    fn name(self) -> String {
        let value = self.to_possible_value().expect("no value is hidden");
        value.get_name().to_owned()
    }
}

impl ValueArg {
    pub(crate) fn value(self) -> VerdictValue {
        match self {
            Self::Score => VerdictValue::Score,
            Self::Raw => VerdictValue::Raw,
        }
    }
}

impl ReadingArgs {
    fn options(&self) -> BenchmarkOptions {
        BenchmarkOptions {
            threshold: self.threshold,
            single_order: self.single_order,
            neutral: match self.neutral {
                NeutralArg::Right => NeutralLabel::Right,
                NeutralArg::Wrong => NeutralLabel::Wrong,
                NeutralArg::Skip => NeutralLabel::Skip,
            },
            best_of: self.best_of.clone(),
        }
    }
}

impl IntervalArgs {
    fn options(&self) -> IntervalOptions {
        IntervalOptions {
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
pub(crate) fn run(args: &EvalArgs) -> Result<CommandOutcome, CliError> {
    check_options(args)?;
    let downloaded = match &args.download {
        Some(revision) => Some(download::download(args.benchmark, revision)?),
        None => None,
    };
    let files = downloaded.as_ref().map_or(&args.files, |downloaded| &downloaded.files);
    let benchmark = args.benchmark.benchmark();
    let mut rows = benchmark.rows(&args.reading.options());
    let inputs = BenchmarkInputs::read(benchmark, rows.as_mut(), files, args.limit)?;
    let judging = BackendOptions {
        scorers: &args.scorers,
        config: args.config.as_deref(),
        device: args.remote.device,
        threads: args.threads.map(usize::from),
        explain: false,
        remote: &args.remote.options(),
    }
    .open()?;
    let scored = score_inputs(&inputs, judging.as_ref(), args.reading.value.value())?;
    let intervals = args.interval.options();
    let results = judging.scorers().into_iter().zip(scored).map(|(judge, scored)| ScorerReport {
        scorer: judge.name,
        digest: judge.digest,
        report: rows.report(&inputs.by_row(scored.scores), intervals),
        tally: scored.tally,
        refused: scored.refused,
    });
    let evaluation = Evaluation {
        name: args.benchmark.name(),
        title: benchmark.title(),
        rows: inputs.n_rows(),
        intervals,
        results: results.collect(),
        notes: downloaded
            .map(|downloaded| format!("rows of {}", downloaded.source))
            .into_iter()
            .chain(rows.notes())
            .collect(),
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

/// Inputs that are scored together.
const BATCH: usize = 256;

/// What one scorer gave all inputs.
#[derive(Debug, Default)]
struct Scored {
    /// One entry for each input.
    scores: Vec<InputScores>,
    /// Results by status.
    tally: StatusCounts,
    /// Inputs that could not be sent at all, such as those above a server's limits.
    refused: u64,
}

/// Scores every input with every scorer; returns one entry for each scorer.
fn score_inputs(
    inputs: &BenchmarkInputs,
    judging: &dyn Backend,
    value: VerdictValue,
) -> Result<Vec<Scored>, CliError> {
    let mut all: Vec<Scored> = judging.scorers().iter().map(|_| Scored::default()).collect();
    let mut progress = ItemProgress::start("questions", inputs.inputs().len() as u64);
    for batch in inputs.inputs().chunks(BATCH) {
        for judged in judging.score(batch.to_vec())? {
            let Ok(results) = judged else {
                for scored in &mut all {
                    scored.refused += 1;
                    scored.scores.push(InputScores::default());
                }
                continue;
            };
            for (scored, result) in all.iter_mut().zip(&results) {
                scored.tally.add(result);
                scored.scores.push(InputScores::new(result, value));
            }
        }
        progress.advance(batch.len() as u64);
    }
    Ok(all)
}

/// Refuses what can be seen to be wrong before anything is read.
fn check_options(args: &EvalArgs) -> Result<(), CliError> {
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
            scoring::files::refuse_same_file(file, &outputs)?;
        }
    }
    Ok(())
}

/// Writes a file atomically.
fn write(path: &Path, json: &str) -> Result<(), CliError> {
    let mut file = PartialFile::create(path)?;
    file.write(json.as_bytes())?;
    file.commit(false)
}
