//! `tribunal bench verify`: verdicts per second of one scorer in this process.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use base::human::grouped;
use hdrhistogram::Histogram;
use rubrics::{Input, ScoreOptions, Scorer, evaluate_now};
use serde::Serialize;

use super::generated;
use scoring::error::RunError;
use scoring::lines::Input as Lines;
use scoring::pairs::Pairs;
use scoring::scorers;

const EXAMPLES: &str = "\
Examples:
  tribunal bench verify
  tribunal bench verify --input pairs.jsonl --seconds 10 --json

Every thread scores the pairs in a loop, one at a time, without cache, queue or HTTP. Latency is
the time of one verdict.";

/// Measures a verifier in this process.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct BenchVerifyArgs {
    /// JSONL file of pairs (`gold`, `pred`); without it, pairs are generated
    #[arg(long, value_name = "FILE")]
    input: Option<String>,
    /// Pairs to generate
    #[arg(long, value_name = "N", default_value_t = 10_000, conflicts_with = "input",
          value_parser = clap::value_parser!(u32).range(1..))]
    count: u32,
    /// Seed of generated pairs
    #[arg(long, value_name = "N", default_value_t = 0, conflicts_with = "input")]
    seed: u64,
    /// Time to measure
    #[arg(long, value_name = "S", default_value_t = 3.0)]
    seconds: f64,
    /// Threads, each on the same pairs
    #[arg(long, value_name = "N", default_value_t = 1,
          value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: u16,
    /// Scorer
    #[arg(long, value_name = "NAME", default_value = "math")]
    scorer: String,
    /// Configuration file with more scorers
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Print the summary as one line of JSON after the table
    #[arg(long)]
    json: bool,
}

/// Figures. Times are in microseconds for one verdict.
#[derive(Debug, Serialize)]
struct VerifySummary<'a> {
    scorer: &'a str,
    digest: String,
    pairs: usize,
    threads: u16,
    seconds: f64,
    verdicts: u64,
    ok: u64,
    mean_score: Option<f64>,
    verdicts_per_s: f64,
    p50_us: f64,
    p99_us: f64,
    max_us: f64,
}

/// Counts of one thread.
struct ThreadCounts {
    nanos: Histogram<u64>,
    ok: u64,
    score_sum: f64,
}

/// Runs the measurement.
pub(crate) fn run(args: &BenchVerifyArgs) -> Result<bool, RunError> {
    if !(args.seconds > 0.0 && args.seconds <= 3600.0) {
        let message = "--seconds must be above 0 and at most 3600".to_owned();
        return Err(RunError::Usage(message));
    }
    let registry = scorers::registry(args.config.as_deref())?;
    let scorer = registry.get(&args.scorer).ok_or_else(|| {
        scorers::unknown_scorer(&args.scorer, registry.iter().map(|scorer| scorer.name()))
    })?;
    let pairs = match &args.input {
        Some(input) => read_pairs(input)?,
        None => generated::pairs(args.count as usize, args.seed),
    };
    let pairs: Vec<Arc<Input>> = pairs.into_iter().map(Arc::new).collect();
    // Once round without the clock: memory is touched, tables are built, code is loaded.
    for pair in &pairs {
        drop(evaluate_now(scorer, pair, &ScoreOptions::default()));
    }
    let summary = time_verdicts(args, scorer, &pairs);
    crate::print(&summary_text(&summary))?;
    if args.json {
        let line = serde_json::to_string(&summary).expect("a summary serialises");
        crate::print(&(line + "\n"))?;
    }
    Ok(false)
}

fn time_verdicts<'a>(
    args: &BenchVerifyArgs,
    scorer: &'a Arc<Scorer>,
    pairs: &[Arc<Input>],
) -> VerifySummary<'a> {
    let time = Duration::from_secs_f64(args.seconds);
    let begin = Instant::now();
    let counted: Vec<ThreadCounts> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..args.threads)
            .map(|_| scope.spawn(|| judge_until(begin + time, scorer, pairs)))
            .collect();
        threads.into_iter().map(|t| t.join().expect("a measuring thread does not panic")).collect()
    });
    let seconds = begin.elapsed().as_secs_f64();
    let mut all = histogram();
    for one in &counted {
        all.add(&one.nanos).expect("histograms are of one shape");
    }
    let ok: u64 = counted.iter().map(|c| c.ok).sum();
    let score_sum: f64 = counted.iter().map(|c| c.score_sum).sum();
    #[expect(clippy::cast_precision_loss, reason = "counts and times stay far below 2^53")]
    let number = |count: u64| count as f64;
    VerifySummary {
        scorer: scorer.name(),
        digest: scorer.digest_text(),
        pairs: pairs.len(),
        threads: args.threads,
        seconds,
        verdicts: all.len(),
        ok,
        mean_score: (ok > 0).then(|| score_sum / number(ok)),
        verdicts_per_s: number(all.len()) / seconds,
        p50_us: number(all.value_at_quantile(0.5)) / 1e3,
        p99_us: number(all.value_at_quantile(0.99)) / 1e3,
        max_us: number(all.max()) / 1e3,
    }
}

/// Scores pairs until `end`. Each measurement begins where the last one ended, so no time is left out.
fn judge_until(end: Instant, scorer: &Arc<Scorer>, pairs: &[Arc<Input>]) -> ThreadCounts {
    let mut counted = ThreadCounts { nanos: histogram(), ok: 0, score_sum: 0.0 };
    let options = ScoreOptions::default();
    let mut last = Instant::now();
    for pair in pairs.iter().cycle() {
        if let Ok(reward) = evaluate_now(scorer, pair, &options) {
            counted.ok += 1;
            counted.score_sum += reward.score;
        }
        let now = Instant::now();
        let nanos = u64::try_from((now - last).as_nanos()).unwrap_or(u64::MAX);
        counted.nanos.saturating_record(nanos.max(1));
        last = now;
        if now >= end {
            break;
        }
    }
    counted
}

/// Nanoseconds from 1 to a minute, to three digits.
fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, 60_000_000_000, 3).expect("the bounds are valid")
}

fn read_pairs(input: &str) -> Result<Vec<Input>, RunError> {
    let (pairs, mut source) = (Pairs::new(), Lines::open(input, None)?);
    let mut inputs = Vec::new();
    while let Some(chunk) = source.next_chunk()? {
        for line in chunk.lines() {
            inputs.push(
                pairs
                    .input(line)
                    .map_err(|why| RunError::Usage(format!("{input}:{}: {why}", line.number)))?,
            );
        }
    }
    if inputs.is_empty() {
        return Err(RunError::Usage(format!("{input} holds no pair")));
    }
    Ok(inputs)
}

fn summary_text(summary: &VerifySummary<'_>) -> String {
    let mean = summary.mean_score.map_or_else(|| "-".to_owned(), |mean| format!("{mean:.4}"));
    let rows = [
        ("scorer", format!("{} {}", summary.scorer, summary.digest)),
        ("pairs", format!("{}, {} threads", grouped(summary.pairs as u64, ','), summary.threads)),
        ("verdicts", format!("{} in {:.2} s", grouped(summary.verdicts, ','), summary.seconds)),
        ("decided", format!("{} with mean score {mean}", grouped(summary.ok, ','))),
        ("rate", format!("{:.0} verdicts/s", summary.verdicts_per_s)),
        ("p50", format!("{:.2} us", summary.p50_us)),
        ("p99", format!("{:.2} us", summary.p99_us)),
        ("max", format!("{:.2} us", summary.max_us)),
    ];
    let mut text = String::new();
    for (name, value) in rows {
        writeln!(text, "{name:9} {value}").expect("writing to memory does not fail");
    }
    text
}
