//! `tribunal rubric`: rubric files, without a model.

use std::path::{Path, PathBuf};

use rubrics::Registry;
use rubrics::rubric::scaffold::{self, GroupDecay, Schedule, StepDecay, TrainingSample};
use rubrics::rubric::{Rubric, parse};

use crate::error::{CliError, CommandOutcome};
use scoring::scorers;

const CHECK_EXAMPLES: &str = "\
Examples:
  tribunal rubric check rubrics/helpful.toml rubrics/*.json
  tribunal rubric check rubric.toml --config tribunal.toml

Exit code: 0 all are sound; 1 something is wrong, and every problem is named; 2 wrong use.";

const SCAFFOLD_EXAMPLES: &str = "\
Examples:
  tribunal rubric scaffold rubric.toml --group-size 8 --step 20 --steps 350
  tribunal rubric scaffold rubric.toml --group-size 8 --step 1 --steps 350 --decay linear

Each sample of the group is printed with how many items it is shown, and its system message.";

/// What to do with rubric files.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum RubricCommand {
    /// Name everything that is wrong with rubric files
    #[command(after_help = CHECK_EXAMPLES)]
    Check(CheckArgs),
    /// Print the part of a rubric that each sample of a group is shown while it rolls out
    #[command(after_help = SCAFFOLD_EXAMPLES)]
    Scaffold(ScaffoldArgs),
}

/// Which files to check.
#[derive(Debug, clap::Args)]
pub(crate) struct CheckArgs {
    /// Rubrics in TOML, or in JSON where the name ends with .json
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Configuration file whose scorers items may name
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// Which samples to print.
#[derive(Debug, clap::Args)]
pub(crate) struct ScaffoldArgs {
    /// A rubric in TOML or JSON
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Configuration file whose scorers items may name
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Samples of a group
    #[arg(long, value_name = "N", default_value_t = 8)]
    group_size: usize,
    /// Step of training, from 1
    #[arg(long, value_name = "N", default_value_t = 1)]
    step: usize,
    /// Steps of the complete training
    #[arg(long, value_name = "N", default_value_t = 350)]
    steps: usize,
    /// How much less is shown as training goes on
    #[arg(long, value_name = "RULE", default_value = "sigmoid")]
    decay: Decay,
    /// Where the sigmoid has lost half
    #[arg(long, value_name = "X", default_value_t = 0.2)]
    start: f64,
    /// How steep the sigmoid is
    #[arg(long, value_name = "X", default_value_t = 125.0)]
    steep: f64,
    /// The power of (1 - x)
    #[arg(long, value_name = "X", default_value_t = 2.0)]
    power: f64,
    /// Show everything to this many samples of each group and nothing to the others
    #[arg(long, value_name = "N")]
    full: Option<usize>,
    /// Which items are shown follows from it
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
}

/// Rules of decay.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Decay {
    /// As much at the end as at the beginning.
    None,
    /// 1 / (1 + exp(steep (x - start))).
    Sigmoid,
    /// 1 - x.
    Linear,
    /// (1 - x)^power.
    Power,
}

/// Runs the command.
pub(crate) fn run(command: RubricCommand) -> Result<CommandOutcome, CliError> {
    match command {
        RubricCommand::Check(args) => check_rubric(&args),
        RubricCommand::Scaffold(args) => show(&args),
    }
}

fn check_rubric(args: &CheckArgs) -> Result<CommandOutcome, CliError> {
    let registry = scorers::registry(args.config.as_deref())?;
    let mut is_failed = false;
    for file in &args.files {
        match read_rubric(file, &registry)? {
            Ok(rubric) => {
                let line = format!("{}: {} items\n", file.display(), rubric.items.len());
                crate::print(&line)?;
            }
            Err(problems) => {
                is_failed = true;
                eprintln!("{problems}");
            }
        }
    }
    Ok(CommandOutcome::failed_if(is_failed))
}

fn show(args: &ScaffoldArgs) -> Result<CommandOutcome, CliError> {
    let registry = scorers::registry(args.config.as_deref())?;
    let rubric = read_rubric(&args.file, &registry)?.map_err(CliError::Failed)?;
    let schedule = Schedule {
        group: args.full.map_or(GroupDecay::Linear, GroupDecay::Binary),
        step: match args.decay {
            Decay::None => StepDecay::None,
            Decay::Sigmoid => StepDecay::Sigmoid { start: args.start, steep: args.steep },
            Decay::Linear => StepDecay::Linear,
            Decay::Power => StepDecay::Power(args.power),
        },
    };
    for index in 0..args.group_size {
        let sample =
            TrainingSample { index, group: args.group_size, step: args.step, steps: args.steps };
        let wrong = |error: scaffold::ScaffoldError| CliError::Usage(error.to_string());
        let shown = scaffold::shown(&schedule, sample, rubric.items.len()).map_err(wrong)?;
        let message = scaffold::message(&rubric, &schedule, sample, args.seed).map_err(wrong)?;
        let n_items = rubric.items.len();
        crate::print(&format!("# sample {index}: {shown} of {n_items} items\n"))?;
        if let Some(message) = message {
            crate::print(&format!("{message}\n\n"))?;
        }
    }
    Ok(CommandOutcome::Done)
}

/// The rubric of a file, or its problems, one a line.
fn read_rubric(file: &Path, registry: &Registry) -> Result<Result<Rubric, String>, CliError> {
    let text = std::fs::read_to_string(file).map_err(CliError::named(file))?;
    let scorers: Vec<&str> = registry.iter().map(|scorer| scorer.name()).collect();
    let parsed = parse(&file.display().to_string(), &text, &scorers);
    Ok(parsed.map_err(|problems| {
        let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
        lines.join("\n")
    }))
}
