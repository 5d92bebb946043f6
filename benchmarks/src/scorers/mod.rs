//! `tribunal bench scorers`: scorers that use models, over HTTP or as `tribunal score` runs them,
//! against the engine alone on the same sequences.
//!
//! Each round sends new inputs to a server in this process and records the scorers' requests to the
//! engine. Then the same engine gets the same requests at once, under another cache salt so that nothing
//! is in its cache. The difference is the cost of everything but the model: HTTP, prompts, tokenizing,
//! waiting between the turns of a dialogue, arithmetic.

mod offline;
mod replay;
mod served;
mod workloads;

use std::fmt::Write as _;

use ::models::weights::FloatType;
use engine::DeviceName;
use rubrics::RecordedRequest;
use serde::Serialize;
use tiny_models::Preset;

use offline::Offline;
use scoring::error::RunError;
use served::Served;
use workloads::{WORKLOADS, Workload};

const EXAMPLES: &str = "\
Examples:
  tribunal bench scorers
  tribunal bench scorers --workload principles --like qwen2.5-0.5b --dtype f16 --json
  tribunal bench scorers --offline --repeats 8 --inputs 512 --kv-mib 16

The models are created for the run with random weights: their answers mean nothing, their cost is
that of a real model. Exit code: 0 done; 1 an input had no verdict; 2 wrong use.";

/// Measures scorers that use models, against the engine alone.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct BenchScorersArgs {
    /// Workload to run; all of them if not given
    #[arg(long, value_name = "NAME", value_parser = names())]
    workload: Vec<String>,
    /// Shape of the models
    #[arg(long, value_name = "PRESET", default_value = "qwen2", value_parser = presets())]
    like: Preset,
    /// Type of the weights: f32, f16 or bf16
    #[arg(long, value_name = "TYPE", default_value_t)]
    dtype: FloatType,
    /// Where the models compute: auto, cpu, or a card such as cuda:0
    #[arg(long, value_name = "NAME", default_value_t)]
    device: DeviceName,
    /// Inputs of a round
    #[arg(long, value_name = "N", default_value_t = 64,
          value_parser = clap::value_parser!(u32).range(1..=100_000))]
    inputs: u32,
    /// Inputs of a request
    #[arg(long, value_name = "N", default_value_t = 8,
          value_parser = clap::value_parser!(u32).range(1..=10_000))]
    batch: u32,
    /// Rounds; the median counts
    #[arg(long, value_name = "N", default_value_t = 3,
          value_parser = clap::value_parser!(u16).range(1..=1000))]
    rounds: u16,
    /// Score in this process as `tribunal score` does, without HTTP
    #[arg(long)]
    offline: bool,
    /// Rows of repeated questions, N responses each, shuffled, instead of the workloads
    #[arg(long, value_name = "N", requires = "offline", conflicts_with = "workload",
          value_parser = clap::value_parser!(u16).range(1..=1000))]
    repeats: Option<u16>,
    /// Keep the order of the rows
    #[arg(long, requires = "offline")]
    as_they_come: bool,
    /// Memory for keys and values of the engine, in MiB
    #[arg(long, value_name = "N", default_value_t = 1024,
          value_parser = clap::value_parser!(u16).range(1..=32_768))]
    kv_mib: u16,
    /// Print the figures as one line of JSON after the table
    #[arg(long)]
    json: bool,
}

fn names() -> clap::builder::PossibleValuesParser {
    clap::builder::PossibleValuesParser::new(WORKLOADS.iter().map(|workload| workload.name))
}

fn presets() -> impl clap::builder::TypedValueParser<Value = Preset> {
    use clap::builder::{PossibleValuesParser, TypedValueParser as _};
    PossibleValuesParser::new(Preset::ALL.into_iter().map(Preset::name))
        .try_map(|name| name.parse::<Preset>())
}

/// The requests, the recorded requests to the engine, and the engine alone on the same.
type Round = (served::Sent, Vec<RecordedRequest>, replay::Replayed);

/// Figures of a workload.
#[derive(Debug, Clone, Serialize)]
struct Figures {
    workload: &'static str,
    /// Whether the model generates: see [`Workload::writes`].
    writes: bool,
    inputs: usize,
    /// Inputs without a verdict, by their statuses.
    failed: std::collections::BTreeMap<String, usize>,
    /// Seconds of the median round.
    seconds: f64,
    inputs_per_s: f64,
    /// Tokens run through the model a second.
    tokens_per_s: f64,
    /// The same of the engine alone.
    engine_tokens_per_s: f64,
    /// In per cent of the engine's rate. Only tokens that are run through the model count, not those
    /// that the server finds in its cache.
    percent_of_engine: f64,
    /// Tokens run through the model in a round.
    computed_tokens: usize,
    /// Distinct tokens that were read, and generated ones: those that must be run through the model.
    unique_tokens: usize,
    computed_per_unique: f64,
}

impl Figures {
    /// Whether an input that should have a verdict has none.
    fn is_amiss(&self) -> bool {
        let expected = |status: &String| {
            self.writes && ["truncated", "parse_error"].iter().any(|s| status.starts_with(s))
        };
        !self.failed.keys().all(expected)
    }
}

/// Runs the measurement.
pub(crate) fn run(args: &BenchScorersArgs) -> Result<bool, RunError> {
    let chosen = WORKLOADS
        .iter()
        .filter(|w| args.workload.is_empty() || args.workload.iter().any(|name| name == w.name));
    let chosen: Vec<&'static Workload> = match args.repeats {
        Some(_) => vec![&offline::REPEATED],
        None => chosen.collect(),
    };
    let mut figures = Vec::new();
    for workload in chosen {
        let found = measure_workload(args, workload)?;
        crate::print(&line(&found))?;
        figures.push(found);
    }
    let failed = figures.iter().any(Figures::is_amiss);
    if args.json {
        let text = serde_json::to_string(&figures).expect("figures serialise");
        crate::print(&format!("{text}\n"))?;
    }
    Ok(failed)
}

fn measure_workload(
    args: &BenchScorersArgs,
    workload: &'static Workload,
) -> Result<Figures, RunError> {
    let mut rounds =
        if args.offline { offline_rounds(args, workload)? } else { served_rounds(args, workload)? };
    let slower = |(sent, _, alone): &Round| sent.seconds / alone.seconds;
    rounds.sort_by(|a, b| slower(a).total_cmp(&slower(b)));
    let (sent, recorder, alone) = rounds.swap_remove(rounds.len() / 2);
    let computed_tokens: usize = recorder.iter().map(|work| work.computed_tokens).sum();
    let unique_tokens = replay::unique_tokens(&recorder);
    let tokens_per_s = float(computed_tokens) / sent.seconds;
    let engine_tokens_per_s = float(alone.computed_tokens) / alone.seconds;
    Ok(Figures {
        workload: workload.name,
        writes: workload.writes,
        inputs: args.inputs as usize,
        failed: sent.failed,
        seconds: sent.seconds,
        inputs_per_s: f64::from(args.inputs) / sent.seconds,
        tokens_per_s,
        engine_tokens_per_s,
        percent_of_engine: 100.0 * tokens_per_s / engine_tokens_per_s,
        computed_tokens,
        unique_tokens,
        computed_per_unique: float(computed_tokens) / float(unique_tokens),
    })
}

fn served_rounds(args: &BenchScorersArgs, workload: &Workload) -> Result<Vec<Round>, RunError> {
    let served = Served::start(args, workload)?;
    let mut rounds: Vec<Round> = Vec::new();
    // The first round warms up and is not counted.
    for round in 0..=args.rounds {
        let inputs = (workload.inputs)(args.inputs as usize, u64::from(round));
        let sent = served.send(&inputs, args.batch as usize)?;
        let recorder = served.take_recorded();
        let alone = replay::replay(&served.host, &recorder, u64::from(round) + 1)?;
        rounds.push((sent, recorder, alone));
    }
    served.stop()?;
    rounds.remove(0);
    Ok(rounds)
}

fn offline_rounds(args: &BenchScorersArgs, workload: &Workload) -> Result<Vec<Round>, RunError> {
    let offline = Offline::start(args, workload)?;
    let mut rounds: Vec<Round> = Vec::new();
    // The first round warms up and is not counted.
    for round in 0..=u64::from(args.rounds) {
        let count = args.inputs as usize;
        let inputs = match args.repeats {
            Some(repeats) => offline::repeated(count, usize::from(repeats), round),
            None => (workload.inputs)(count, round),
        };
        rounds.push(offline.round(inputs, round + 1)?);
    }
    rounds.remove(0);
    Ok(rounds)
}

#[expect(clippy::cast_precision_loss, reason = "counts of tokens are below 2^53")]
fn float(tokens: usize) -> f64 {
    tokens as f64
}

fn line(found: &Figures) -> String {
    let mut text = format!(
        "{:11} {:>9.2} inputs/s {:>7.1} % of the engine alone {:>9} tokens computed, {:.3} of the \
         distinct ones",
        found.workload,
        found.inputs_per_s,
        found.percent_of_engine,
        found.computed_tokens,
        found.computed_per_unique,
    );
    for (status, count) in &found.failed {
        write!(text, ", {count} {status}").expect("writing to memory does not fail");
    }
    text.push('\n');
    text
}
