//! `tribunal bench engine --raw`: how fast a model loads and runs forward in this process.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Instant;

use clap::ValueEnum as _;
use models::throughput::{self, Plan, Throughput, Timed};
use models::weights::Storage;
use models::{LoadOptions, Model, Runner};
use serde::Serialize;

use crate::error::{CliError, Outcome};

const EXAMPLES: &str = "\
Examples:
  tribunal models make-tiny --like qwen2.5-0.5b --dtype f16 random-0.5b
  tribunal bench engine --raw --model random-0.5b --json

Prefill, decode and mixed adapters are run in turn, several times; the median counts.";

/// Measures a model's forward in this process.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct BenchEngineArgs {
    /// The forward alone: no scheduler and no HTTP, which this version does not have
    #[arg(long, required = true)]
    raw: bool,
    /// Model folder in the Hugging Face layout
    #[arg(long, value_name = "DIR")]
    model: PathBuf,
    /// How matrices are kept in memory
    #[arg(long, value_enum, default_value_t = StorageArg::AsStored)]
    storage: StorageArg,
    /// Tokens of the prefill
    #[arg(long, value_name = "N", default_value_t = 512,
          value_parser = clap::value_parser!(u32).range(8..=1_048_576))]
    prompt_tokens: u32,
    /// Sequences that decode together
    #[arg(long, value_name = "N", default_value_t = 4,
          value_parser = clap::value_parser!(u32).range(1..=1024))]
    decode_batch: u32,
    /// Tokens that each has before it decodes
    #[arg(long, value_name = "N", default_value_t = 64,
          value_parser = clap::value_parser!(u32).range(1..=65_536))]
    context_tokens: u32,
    /// Tokens that each decodes
    #[arg(long, value_name = "N", default_value_t = 16,
          value_parser = clap::value_parser!(u32).range(1..=65_536))]
    decode_steps: u32,
    /// Adapters mixed in one batch
    #[arg(long, value_name = "N", default_value_t = 8,
          value_parser = clap::value_parser!(u32).range(1..=64))]
    adapters: u32,
    /// Rank of each
    #[arg(long, value_name = "N", default_value_t = 16,
          value_parser = clap::value_parser!(u32).range(1..=512))]
    rank: u32,
    /// Times that everything is run
    #[arg(long, value_name = "N", default_value_t = 5,
          value_parser = clap::value_parser!(u32).range(1..=1000))]
    repeats: u32,
    /// Print the summary as one line of JSON after the table
    #[arg(long)]
    json: bool,
}

/// [`Storage`] on the command line.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum StorageArg {
    /// As the files have them
    AsStored,
    /// 32-bit floats
    F32,
    /// IEEE half precision
    F16,
    /// bfloat16
    Bf16,
    /// 8-bit integers in linear layers
    Int8,
}

/// What was measured.
#[derive(Debug, Serialize)]
struct Summary {
    model: String,
    digest: String,
    storage: String,
    parameters: u64,
    file_bytes: u64,
    load_s: f64,
    /// Most resident memory of the process until the model was loaded, where the system tells.
    peak_resident_bytes: Option<u64>,
    threads: usize,
    prefill: Rate,
    decode: Rate,
    decode_batch: u32,
    adapters: u32,
    rank: u32,
    base: Rate,
    adapted: Rate,
    /// By how much the adapters made the same tokens slower, in per cent of the base's time.
    adapter_cost_percent: f64,
}

/// Tokens a second.
#[derive(Debug, Serialize)]
struct Rate {
    tokens: usize,
    tokens_per_s: f64,
    best_tokens_per_s: f64,
}

/// Runs the measurement.
pub(crate) fn run(args: &BenchEngineArgs) -> Result<Outcome, CliError> {
    let begin = Instant::now();
    let options = LoadOptions {
        storage: args.storage.into(),
    };
    let model = Model::load(&args.model, &options).map_err(|error| failed(&error))?;
    let load_s = begin.elapsed().as_secs_f64();
    let peak_resident_bytes = peak_resident_bytes();
    let plan = args.plan();
    let loaded = Loaded {
        load_s,
        peak_resident_bytes,
        file_bytes: file_bytes(&model)?,
    };
    let (digest, parameters) = (model.digest, model.parameters);
    let runner = Runner::new(model.decoder, model.head);
    let mut runner = runner
        .with_kv(throughput::blocks_needed(&plan))
        .map_err(|error| failed(&error))?;
    let measured = throughput::measure(&mut runner, &plan).map_err(|error| failed(&error))?;
    let summary = args.summary((digest, parameters), &loaded, &measured);
    crate::print(&table(&summary))?;
    if args.json {
        let line = serde_json::to_string(&summary).expect("a summary serialises");
        crate::print(&(line + "\n"))?;
    }
    Ok(Outcome::Done)
}

/// What the load cost.
struct Loaded {
    load_s: f64,
    peak_resident_bytes: Option<u64>,
    file_bytes: u64,
}

impl BenchEngineArgs {
    fn plan(&self) -> Plan {
        Plan {
            prompt_tokens: self.prompt_tokens as usize,
            decode_batch: self.decode_batch as usize,
            context_tokens: self.context_tokens as usize,
            decode_steps: self.decode_steps as usize,
            adapters: self.adapters as usize,
            rank: self.rank as usize,
            repeats: self.repeats as usize,
        }
    }

    fn summary(&self, of: (String, u64), loaded: &Loaded, measured: &Throughput) -> Summary {
        let (base, adapted) = (measured.base.median(), measured.adapted.median());
        Summary {
            model: self.model.display().to_string(),
            digest: of.0,
            storage: self.storage.name(),
            parameters: of.1,
            file_bytes: loaded.file_bytes,
            load_s: loaded.load_s,
            peak_resident_bytes: loaded.peak_resident_bytes,
            threads: models::threads(),
            prefill: Rate::of(&measured.prefill),
            decode: Rate::of(&measured.decode),
            decode_batch: self.decode_batch,
            adapters: self.adapters,
            rank: self.rank,
            base: Rate::of(&measured.base),
            adapted: Rate::of(&measured.adapted),
            adapter_cost_percent: (base / adapted - 1.0) * 100.0,
        }
    }
}

impl Rate {
    fn of(timed: &Timed) -> Rate {
        Rate {
            tokens: timed.tokens,
            tokens_per_s: timed.median(),
            best_tokens_per_s: timed.best(),
        }
    }
}

impl StorageArg {
    fn name(self) -> String {
        let value = self.to_possible_value().expect("no value is hidden");
        value.get_name().to_owned()
    }
}

impl From<StorageArg> for Storage {
    fn from(arg: StorageArg) -> Storage {
        match arg {
            StorageArg::AsStored => Storage::AsStored,
            StorageArg::F32 => Storage::F32,
            StorageArg::F16 => Storage::F16,
            StorageArg::Bf16 => Storage::Bf16,
            StorageArg::Int8 => Storage::Int8,
        }
    }
}

fn failed(error: &models::ModelError) -> CliError {
    CliError::Failed(error.to_string())
}

fn file_bytes(model: &Model) -> Result<u64, CliError> {
    let size = |path: &PathBuf| {
        let metadata = std::fs::metadata(path).map_err(CliError::file("read", path))?;
        Ok(metadata.len())
    };
    model.files.iter().map(size).sum()
}

/// The high-water mark of resident memory, from `/proc` where there is one.
fn peak_resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

fn table(summary: &Summary) -> String {
    #[expect(
        clippy::cast_precision_loss,
        reason = "sizes of files, shown to three digits"
    )]
    let mib = |bytes: u64| format!("{:.0} MiB", bytes as f64 / f64::from(1 << 20));
    let rate = |rate: &Rate| {
        format!(
            "{:.1} tokens/s (best {:.1})",
            rate.tokens_per_s, rate.best_tokens_per_s
        )
    };
    let peak = summary
        .peak_resident_bytes
        .map_or_else(|| "not known".to_owned(), mib);
    let rows = [
        ("model", format!("{} {}", summary.model, summary.digest)),
        (
            "weights",
            format!(
                "{} in files, {} parameters, {}",
                mib(summary.file_bytes),
                summary.parameters,
                summary.storage
            ),
        ),
        (
            "load",
            format!("{:.2} s, {peak} resident at most", summary.load_s),
        ),
        ("threads", summary.threads.to_string()),
        (
            "prefill",
            format!(
                "{} over {} tokens",
                rate(&summary.prefill),
                summary.prefill.tokens
            ),
        ),
        (
            "decode",
            format!(
                "{} in a batch of {}",
                rate(&summary.decode),
                summary.decode_batch
            ),
        ),
        (
            "base",
            format!("{} in {} sequences", rate(&summary.base), summary.adapters),
        ),
        (
            "adapters",
            format!(
                "{} with {} adapters of rank {}: {:+.1} %",
                rate(&summary.adapted),
                summary.adapters,
                summary.rank,
                summary.adapter_cost_percent
            ),
        ),
    ];
    let mut text = String::new();
    for (name, value) in rows {
        writeln!(text, "{name:9} {value}").expect("writing to memory does not fail");
    }
    text
}
