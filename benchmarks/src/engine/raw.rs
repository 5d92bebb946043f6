//! `tribunal bench engine --raw`: how fast a model loads and its forward runs in this process.

use std::fmt::Write as _;
use std::path::PathBuf;

use crate::throughput::{self, Throughput, ThroughputPlan, Timed};
use engine::Device;
use serde::Serialize;

use super::BenchEngineArgs;
use crate::loaded::{LoadedModel, open};
use base::memory;
use scoring::error::RunError;

/// Sizes of the raw measurement.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "With --raw")]
pub(super) struct RawArgs {
    /// Tokens of the prefill
    #[arg(long, value_name = "N", default_value_t = 512, requires = "raw",
          value_parser = clap::value_parser!(u32).range(8..=1_048_576))]
    prompt_tokens: u32,
    /// Sequences that decode together
    #[arg(long, value_name = "N", default_value_t = 4, requires = "raw",
          value_parser = clap::value_parser!(u32).range(1..=1024))]
    decode_batch: u32,
    /// Tokens of each sequence before it decodes
    #[arg(long, value_name = "N", default_value_t = 64, requires = "raw",
          value_parser = clap::value_parser!(u32).range(1..=65_536))]
    context_tokens: u32,
    /// Tokens that each sequence decodes
    #[arg(long, value_name = "N", default_value_t = 16, requires = "raw",
          value_parser = clap::value_parser!(u32).range(1..=65_536))]
    decode_steps: u32,
    /// Adapters mixed in one batch
    #[arg(long, value_name = "N", default_value_t = 8, requires = "raw",
          value_parser = clap::value_parser!(u32).range(1..=64))]
    adapters: u32,
    /// Rank of each adapter
    #[arg(long, value_name = "N", default_value_t = 16, requires = "raw",
          value_parser = clap::value_parser!(u32).range(1..=512))]
    rank: u32,
    /// Repetitions of the measurement
    #[arg(long, value_name = "N", default_value_t = 5, requires = "raw",
          value_parser = clap::value_parser!(u32).range(1..=1000))]
    repeats: u32,
}

/// Figures of the measurement.
#[derive(Debug, Serialize)]
struct RawSummary {
    model: String,
    digest: String,
    device: String,
    storage: String,
    numerics: String,
    parameters: u64,
    file_bytes: u64,
    load_s: f64,
    /// Peak resident memory up to the end of loading; `None` where the system does not report it.
    peak_resident_bytes: Option<u64>,
    threads: usize,
    prefill: Rate,
    decode: Rate,
    decode_batch: u32,
    adapters: u32,
    rank: u32,
    base: Rate,
    adapted: Rate,
    /// Slowdown by the adapters, in per cent of the base's time.
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
pub(super) fn measure(args: &BenchEngineArgs) -> Result<bool, RunError> {
    let device = open(args.device)?;
    let loaded = LoadedModel::read(&args.model, &args.load_options(), &device);
    let loaded = loaded.map_err(|error| failed(&error))?;
    let peak_resident_bytes = memory::peak_resident_bytes();
    let plan = args.raw_sizes.plan();
    let mut runner = loaded.runner(throughput::blocks_needed(&plan) * models::BLOCK)?;
    let measured = throughput::measure(&mut runner, &loaded.model.config, &plan)
        .map_err(|error| failed(&error))?;
    let mut summary = summary(args, (&loaded, &device), &measured)?;
    summary.peak_resident_bytes = peak_resident_bytes;
    crate::print(&summary_text(&summary))?;
    if args.json {
        let line = serde_json::to_string(&summary).expect("a summary serialises");
        crate::print(&(line + "\n"))?;
    }
    Ok(false)
}

impl RawArgs {
    fn plan(&self) -> ThroughputPlan {
        ThroughputPlan {
            prompt_tokens: self.prompt_tokens as usize,
            decode_batch: self.decode_batch as usize,
            context_tokens: self.context_tokens as usize,
            decode_steps: self.decode_steps as usize,
            adapters: self.adapters as usize,
            rank: self.rank as usize,
            repeats: self.repeats as usize,
        }
    }
}

fn summary(
    args: &BenchEngineArgs,
    (loaded, device): (&LoadedModel, &Device),
    measured: &Throughput,
) -> Result<RawSummary, RunError> {
    let (base, adapted) = (measured.base.median(), measured.adapted.median());
    Ok(RawSummary {
        model: args.model.display().to_string(),
        digest: loaded.model.digest.clone(),
        device: device.to_string(),
        storage: args.storage.name(),
        numerics: loaded.model.numerics.numerics.name().into_owned(),
        parameters: loaded.model.parameters,
        file_bytes: file_bytes(&loaded.model.files)?,
        load_s: loaded.seconds,
        peak_resident_bytes: None,
        threads: models::threads(),
        prefill: Rate::of(&measured.prefill),
        decode: Rate::of(&measured.decode),
        decode_batch: args.raw_sizes.decode_batch,
        adapters: args.raw_sizes.adapters,
        rank: args.raw_sizes.rank,
        base: Rate::of(&measured.base),
        adapted: Rate::of(&measured.adapted),
        adapter_cost_percent: (base / adapted - 1.0) * 100.0,
    })
}

impl Rate {
    fn of(timed: &Timed) -> Rate {
        Rate { tokens: timed.tokens, tokens_per_s: timed.median(), best_tokens_per_s: timed.best() }
    }
}

fn failed(error: &impl ToString) -> RunError {
    RunError::Failed(error.to_string())
}

fn file_bytes(files: &[PathBuf]) -> Result<u64, RunError> {
    let size = |path: &PathBuf| {
        let metadata = std::fs::metadata(path).map_err(RunError::file("read", path))?;
        Ok(metadata.len())
    };
    files.iter().map(size).sum()
}

fn summary_text(summary: &RawSummary) -> String {
    let rate = |rate: &Rate| {
        format!("{:.1} tokens/s (best {:.1})", rate.tokens_per_s, rate.best_tokens_per_s)
    };
    let peak = summary.peak_resident_bytes.map_or_else(|| "not known".to_owned(), memory::mib);
    let rows = [
        ("model", format!("{} {}", summary.model, summary.digest)),
        (
            "weights",
            format!(
                "{} in files, {} parameters, {}, {}",
                memory::mib(summary.file_bytes),
                summary.parameters,
                summary.storage,
                summary.numerics
            ),
        ),
        ("load", format!("{:.2} s, {peak} resident at most", summary.load_s)),
        ("device", format!("{}, {} threads", summary.device, summary.threads)),
        ("prefill", format!("{} over {} tokens", rate(&summary.prefill), summary.prefill.tokens)),
        ("decode", format!("{} in a batch of {}", rate(&summary.decode), summary.decode_batch)),
        ("base", format!("{} in {} sequences", rate(&summary.base), summary.adapters)),
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
