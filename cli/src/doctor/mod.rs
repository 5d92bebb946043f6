//! `tribunal doctor`: checks that a model works on this machine, estimates how much of it the
//! machine can hold, and checks that a judge does not reward empty answers.
//!
//! A model is checked for what the engine promises of every model: the same bits alone and in a
//! batch, from cache and computed, decoded and read. So a check needs no recorded numbers, and
//! works for any folder.

mod canary;
mod capacity;
mod determinism;
mod judge;
mod memory_needed;
mod probe_engine;
mod report;

use std::path::{Path, PathBuf};

use chat::Tokenizer;
use engine::{Device, DeviceName, LoadError};
use models::kernels::agreement;
use models::kernels::simd::Isa;
use models::weights::{Checkpoint, Compute, Storage};
use models::{LoadOptions, ModelConfig};
use sandbox::{Sandbox, SandboxConfig, SandboxError};
use tiny_models::{Preset, TinySpec};

use self::capacity::{Capacity, Speed};
use self::report::{DoctorCheck, DoctorReport, Machine, ModelReport};
use crate::error::{CliError, CommandOutcome};
use base::memory;
use benchmarks::LoadedModel;

const EXAMPLES: &str = "\
Examples:
  tribunal doctor
  tribunal doctor --model models/Qwen3-0.6B
  tribunal doctor --model models/Qwen3-0.6B --model models/judge --json
  tribunal doctor --config tribunal.toml
  tribunal doctor --judge helpful --config tribunal.toml --allow 0.1

Without --model a tiny random model in a temporary folder is checked, which shows that a fresh
machine works. Each check is one line: ok, FAILED with the reason, or skipped with the reason.
With --judge a scorer gets responses that deserve nothing: an empty page, praise of itself, orders
to the judge. Each is one line: ok, or FAILED where it was rewarded too often. With --config alone
each line is a part of the memory that a server of the configuration may need, with the setting
that bounds it.

Exit code: 0 every check is ok; 1 a check failed; 2 wrong use.";

/// Checks models on this machine.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DoctorArgs {
    /// Model folder in the Hugging Face layout (repeatable)
    #[arg(long, value_name = "DIR")]
    model: Vec<PathBuf>,
    /// Check that this scorer does not reward empty responses, instead of checking models
    #[arg(long, value_name = "NAME", conflicts_with = "model")]
    judge: Option<String>,
    /// Configuration file with the judge and its models; without --judge, print the memory that the
    /// configuration needs
    #[arg(long, value_name = "FILE", conflicts_with = "model")]
    config: Option<PathBuf>,
    /// Lowest score that counts as a reward
    #[arg(long, value_name = "SCORE", default_value_t = 0.5, requires = "judge")]
    threshold: f64,
    /// Share of the questions, from 0 to 1, on which each such response may be rewarded
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, requires = "judge")]
    allow: f64,
    /// Print the findings as one line of JSON after the table
    #[arg(long)]
    json: bool,
}

/// Runs the checks.
pub(crate) fn run(args: &DoctorArgs) -> Result<CommandOutcome, CliError> {
    if let Some(name) = &args.judge {
        return examine_judge(args, name);
    }
    if let Some(file) = &args.config {
        return memory_needed::check_memory(file, args.json);
    }
    let folders = args.model.iter().map(|given| crate::hub::folder(given));
    let folders = folders.collect::<Result<Vec<PathBuf>, CliError>>()?;
    if let Some(missing) = folders.iter().find(|dir| !dir.is_dir()) {
        let what = format!("--model: {} is not a folder", missing.display());
        return Err(CliError::Usage(what));
    }
    let mut report = DoctorReport {
        machine: machine(),
        kernels: kernels(),
        gpu: cards(),
        device: device(),
        sandbox: code_sandbox(),
        models: folders.iter().map(|dir| examine(dir)).collect(),
    };
    if args.model.is_empty() {
        report.models.push(examine_tiny_model()?);
    }
    crate::print(&report.table())?;
    if args.json {
        crate::print(&(report.json() + "\n"))?;
    }
    Ok(CommandOutcome::failed_if(!report.is_ok()))
}

fn examine_judge(args: &DoctorArgs, name: &str) -> Result<CommandOutcome, CliError> {
    if !(0.0..=1.0).contains(&args.allow) {
        return Err(CliError::Usage("--allow: must be from 0 to 1".to_owned()));
    }
    if !args.threshold.is_finite() {
        return Err(CliError::Usage("--threshold: must be a finite number".to_owned()));
    }
    let question = judge::JudgeProbe {
        judge: name,
        config: args.config.as_deref(),
        threshold: args.threshold,
        allow: args.allow,
    };
    judge::check_judge(question, args.json)
}

fn machine() -> Machine {
    let (memory_bytes, available_bytes) = memory::of_machine().unzip();
    Machine { isa: Isa::best().name(), threads: models::threads(), memory_bytes, available_bytes }
}

fn kernels() -> DoctorCheck {
    let found = agreement::check();
    let what = if found.differing.is_empty() {
        Ok(format!("{} kernels, the same bits by {}", found.kernels.len(), found.isas.join(", ")))
    } else {
        let differing = found.differing.iter();
        let named: Vec<String> =
            differing.map(|(kernel, isa)| format!("{kernel} by {isa}")).collect();
        Err(format!("other bits than {}: {}", found.isas[0], named.join(", ")))
    };
    DoctorCheck::of("kernels", what)
}

/// The CUDA driver and its cards. A machine without them fails nothing: the processor does all work.
fn cards() -> DoctorCheck {
    DoctorCheck::of("CUDA", Ok::<_, gpu::GpuError>(gpu::survey()))
}

/// What `engine.device = "auto"` is here.
fn device() -> DoctorCheck {
    let (chosen, reason) = DeviceName::auto();
    let found = format!("\"{}\" is {chosen}: {reason}", DeviceName::Auto);
    DoctorCheck::of("device", Ok::<_, LoadError>(found))
}

/// What isolates the code that scorers run. A machine without it runs none, and fails nothing.
fn code_sandbox() -> DoctorCheck {
    let config = SandboxConfig { slots: 1, ..SandboxConfig::default() };
    let isolation = match Sandbox::new(config).probe() {
        Ok(isolation) => isolation,
        Err(error) => return DoctorCheck::skipped("sandbox", &format!("no code is run: {error}")),
    };
    let refused =
        isolation.refused.iter().map(|(rung, why)| format!("; no {}: {why}", rung.name()));
    let refused: String = refused.collect();
    let found = format!("Python {} under {}{refused}", isolation.python, isolation.names());
    DoctorCheck::of("sandbox", Ok::<_, SandboxError>(found))
}

/// Examines a tiny random model in a temporary folder.
fn examine_tiny_model() -> Result<ModelReport, CliError> {
    let folder = tempfile::Builder::new().prefix("tribunal-").tempdir();
    let folder = folder.map_err(CliError::file("make", &std::env::temp_dir()))?;
    let dir = folder.path().join("tiny");
    tiny_models::make(&dir, &TinySpec::from(Preset::Qwen2))
        .map_err(|error| CliError::Failed(format!("no tiny model can be made: {error}")))?;
    let mut report = examine(&dir);
    report.made = true;
    Ok(report)
}

/// Examines one model folder. Checks that an earlier failure makes impossible are left out.
fn examine(dir: &Path) -> ModelReport {
    let mut report = ModelReport::new(dir);
    let config = ModelConfig::read(dir);
    report.check("configuration", config.as_ref().map(facts));
    let vocab_size = config.ok().map(|config| config.vocab_size);
    report.check("tokenizer", tokenizer(dir, vocab_size));
    let loaded = LoadedModel::read(dir, &LoadOptions::default(), &Device::Cpu);
    report.check("weights", loaded.as_ref().map(weights));
    if let Ok(loaded) = loaded {
        report.check("numerics", numerics(dir));
        match probe_engine::ProbeEngine::new(&loaded) {
            Ok(mut probe) => {
                determinism::examine(&mut probe, &mut report);
                report.capacity = Some(Capacity::of(&probe));
                match Speed::measure(&mut probe) {
                    Ok(speed) => report.speed = Some(speed),
                    Err(error) => report.check("speed", Err::<String, _>(error)),
                }
            }
            Err(error) => report.check("engine", Err::<String, _>(error)),
        }
    }
    report
}

fn facts(config: &ModelConfig) -> String {
    format!(
        "{} layers, hidden size {}, vocabulary {}, {} positions",
        config.layers.len(),
        config.hidden_size,
        config.vocab_size,
        config.max_positions
    )
}

fn weights(loaded: &LoadedModel) -> String {
    format!(
        "{} parameters, {}, {}",
        loaded.model.parameters,
        memory::mib(loaded.model.weight_bytes),
        loaded.model.digest
    )
}

/// The default arithmetic, what `compute = "auto"` chooses for the model on this machine, and advice.
fn numerics(dir: &Path) -> models::Result<String> {
    let checkpoint = Checkpoint::open(dir)?;
    let default = Compute::default().choose(&checkpoint, Storage::AsStored).numerics.name();
    let auto = Compute::Auto.choose(&checkpoint, Storage::AsStored);
    let (chosen, advice) = (auto.numerics.name(), Compute::advice());
    Ok(format!("{default} by default; {chosen} by {}; {advice}", auto.reason))
}

/// A text that every tokenizer can take.
const TEXT: &str = "So the answer is 18.";

fn tokenizer(dir: &Path, vocab_size: Option<usize>) -> models::Result<String> {
    let tokenizer = Tokenizer::load(dir)?;
    if let Some(vocab_size) = vocab_size {
        tokenizer.check_against(vocab_size)?;
    }
    let ids = tokenizer.encode(TEXT, false)?;
    let text = tokenizer.decode(&ids, false)?;
    let kept = if text == TEXT { "" } else { ", and changes text" };
    Ok(format!("{} tokens; {} for {:?}{kept}", tokenizer.vocab_size(), ids.len(), TEXT))
}
