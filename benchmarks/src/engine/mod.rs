//! `tribunal bench engine`: the engine's workloads against ceilings of the same run, and with
//! `--raw` the forward alone.
//!
//! Each workload has a module with its shape, its run and its figures. Variants take turns, so that a
//! disturbance of the machine affects all of them, and medians count.

mod clocked;
mod constrained;
mod decode;
mod figures;
mod flat;
mod http;
mod overload;
mod queue;
mod raw;
mod shared;
mod subject;
mod summary;

use std::path::PathBuf;

use engine::DeviceName;

use crate::loaded::{ComputeArg, StorageArg, load_options};
use constrained::Constrained;
use decode::Decode;
pub(crate) use figures::unique_tokens as distinct_tokens;
use flat::Flat;
use http::Http;
use overload::Overload;
use queue::Queue;
use raw::RawArgs;
use scoring::error::RunError;
use shared::Shared;
use subject::Subject;
use summary::EngineSummary;

const EXAMPLES: &str = "\
Examples:
  tribunal models make-tiny --like qwen2.5-0.5b --dtype f16 random-0.5b
  tribunal bench engine --model random-0.5b --workload all --json
  tribunal bench engine --model random-0.5b --workload shared --recompute
  tribunal bench engine --model random-0.5b --workload flat --http
  tribunal bench engine --raw --model random-0.5b
  tribunal bench engine --model random-0.5b --device cuda:0 --batch-tokens 8192 --kv-tokens 262144

Workloads, all of random tokens that follow from the seed:
  shared       4 prompts of 256 tokens x 4 responses of 128 x 6 questions of 16, one label read
               each, submitted as a tree
  flat         64 sequences of 256 tokens that share nothing, one row read each, beside the forward
               of the same tokens without an engine
  decode       16 generations of 32 tokens after prompts of 32, greedy and drawn, beside a loop of
               forwards
  constrained  the same as JSON of a schema, beside free ones
  queue        what a step costs outside the forward, with 1,000 sequences running and 100 or
               10,000 waiting; the forward takes no time
  overload     twice as many sequences as the engine can do

Answers are compared with those of the forward alone, bit for bit. Exit code: 0 done; 1 an answer
failed or differed; 2 wrong use.";

/// Measures the engine, or a model's forward, in this process.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a switch of the command line, independent of the others"
)]
pub struct BenchEngineArgs {
    /// Model folder in the Hugging Face layout
    #[arg(long, value_name = "DIR")]
    model: PathBuf,
    /// How matrices are kept in memory
    #[arg(long, value_enum, default_value_t = StorageArg::AsStored)]
    storage: StorageArg,
    /// Arithmetic of the linear layers [default: f32; on a card bf16]
    #[arg(long, value_enum)]
    compute: Option<ComputeArg>,
    /// Where the model computes: auto, cpu, or a card such as cuda:0
    #[arg(long, value_name = "NAME", default_value_t)]
    device: DeviceName,
    /// Workload to run
    #[arg(long, value_enum, default_value_t = Workload::Shared)]
    workload: Workload,
    /// With `shared`: also run the same sequences without sharing
    #[arg(long)]
    recompute: bool,
    /// Also run the `flat` sequences through a server in this process: one per request, 16 at a time
    #[arg(long)]
    http: bool,
    /// Rounds of each workload
    #[arg(long, value_name = "N", default_value_t = 3,
          value_parser = clap::value_parser!(u16).range(1..=1000))]
    rounds: u16,
    /// Seconds of each part of `overload`
    #[arg(long, value_name = "S", default_value_t = 10,
          value_parser = clap::value_parser!(u16).range(1..=3600))]
    seconds: u16,
    /// Small shapes, for a test: figures mean little
    #[arg(long)]
    short: bool,
    /// Most tokens of a step
    #[arg(long, value_name = "N", default_value_t = 1024,
          value_parser = clap::value_parser!(u32).range(16..=1_048_576))]
    batch_tokens: u32,
    /// Tokens that the KV memory holds
    #[arg(long, value_name = "N", default_value_t = 32_768,
          value_parser = clap::value_parser!(u32).range(1024..=16_777_216))]
    kv_tokens: u32,
    /// Seed of all tokens
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// The forward alone, without an engine: load, prefill, decode, adapters
    #[arg(long, conflicts_with_all = ["workload", "recompute", "http", "rounds", "seconds", "short",
          "batch_tokens", "kv_tokens", "seed"])]
    raw: bool,
    #[command(flatten)]
    raw_sizes: RawArgs,
    /// Print the summary as one line of JSON after the table
    #[arg(long)]
    json: bool,
}

/// Workloads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Workload {
    /// Many questions about few texts
    Shared,
    /// Sequences without a common prefix
    Flat,
    /// Generations in one batch
    Decode,
    /// Generations constrained to JSON
    Constrained,
    /// The scheduler alone
    Queue,
    /// More work than the engine can do
    Overload,
    /// All of them in turn
    All,
}

impl BenchEngineArgs {
    fn load_options(&self) -> models::LoadOptions {
        load_options(self.storage, self.compute)
    }
}

impl Workload {
    fn includes(self, other: Workload) -> bool {
        self == Workload::All || self == other
    }
}

/// Runs the measurement.
pub(crate) fn run(args: &BenchEngineArgs) -> Result<bool, RunError> {
    if args.raw {
        return raw::measure(args);
    }
    let mut subject = Subject::start(args)?;
    let mut summary = EngineSummary::new(args, &subject);
    if args.workload.includes(Workload::Shared) {
        summary.shared = Some(Shared::measure(args, &mut subject)?);
    }
    if args.workload.includes(Workload::Flat) {
        summary.flat = Some(Flat::measure(args, &mut subject)?);
    }
    if args.http {
        summary.http = Some(Http::measure(args, &mut subject)?);
    }
    if args.workload.includes(Workload::Decode) {
        summary.decode = Some(Decode::measure(args, &mut subject)?);
    }
    if args.workload.includes(Workload::Constrained) {
        summary.constrained = Some(Constrained::measure(args, &mut subject)?);
    }
    if args.workload.includes(Workload::Queue) {
        summary.queue = Some(Queue::measure(args)?);
    }
    if args.workload.includes(Workload::Overload) {
        summary.overload = Some(Overload::measure(args, &subject)?);
    }
    crate::print(&summary.table())?;
    if args.json {
        crate::print(&(summary.json() + "\n"))?;
    }
    Ok(summary.failed())
}
