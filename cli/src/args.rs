//! The commands and their arguments.

use benchmarks::BenchCommand;
use clap::{Parser, Subcommand};

use crate::calibrate::CalibrateArgs;
use crate::completions::{CompletionsArgs, ManArgs};
use crate::config::ConfigCommand;
use crate::doctor::DoctorArgs;
use crate::eval::EvalArgs;
use crate::filter::FilterArgs;
use crate::merge::MergeArgs;
use crate::models::ModelsCommand;
use crate::preferences::DenoiseArgs;
use crate::principles::PrinciplesArgs;
use crate::rubric::RubricCommand;
use crate::runs::RunsArgs;
use crate::score::ScoreArgs;
use crate::serve::ServeArgs;
use crate::show::ShowArgs;
use crate::train::TrainArgs;
use crate::verify::VerifyArgs;
use crate::verify_signature::VerifySignatureArgs;

const EXAMPLES: &str = "\
Examples:
  tribunal verify --gold '\\frac12' --pred 'so \\boxed{0.5}'
  tribunal score rows.jsonl -o scored.jsonl --scorer math
  tribunal serve

Exit code: 0 done; 1 something failed, and the summary says what; 2 wrong use.";

/// Most columns of help.
const WIDTH: usize = 100;

/// Turns model outputs into rewards: verifiers, step scorers and pipelines, from the shell or
/// over HTTP.
#[derive(Debug, Parser)]
#[command(name = "tribunal", version, after_help = EXAMPLES, max_term_width = WIDTH)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve scorers over HTTP
    Serve(ServeArgs),
    /// Score the rows of a dataset
    Score(Box<ScoreArgs>),
    /// Show scored rows as a page with filters, reasons and marked answers
    Show(Box<ShowArgs>),
    /// Merge the outputs of shards
    Merge(MergeArgs),
    /// Keep the rows of a dataset that meet conditions
    Filter(Box<FilterArgs>),
    /// Flip, smooth, drop or keep preference pairs by the votes of several scorers
    Denoise(Box<DenoiseArgs>),
    /// Extract principles from people's feedback
    Principles(Box<PrinciplesArgs>),
    /// Compare answers with gold answers
    Verify(VerifyArgs),
    /// Check the signatures of verdicts
    VerifySignature(Box<VerifySignatureArgs>),
    /// Fit a map from raw values to probabilities on labelled rows
    Calibrate(CalibrateArgs),
    /// Evaluate scorers on a public benchmark, from local files
    Eval(Box<EvalArgs>),
    /// Measure
    #[command(subcommand)]
    Bench(BenchCommand),
    /// Train a model from a run file
    Train(TrainArgs),
    /// Compare training runs, or show the evaluations of one
    Runs(RunsArgs),
    /// Check rubric files, and print the scaffolds that a policy sees
    #[command(subcommand)]
    Rubric(RubricCommand),
    /// Inspect model and adapter folders
    #[command(subcommand)]
    Models(ModelsCommand),
    /// Make and check configuration files of the server
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Check models on this machine and its capacity for them
    Doctor(DoctorArgs),
    /// Print the description of the HTTP interface (the `OpenAPI` document)
    #[command(after_help = "Example:\n  tribunal openapi > openapi.json")]
    Openapi,
    /// Print the completions of a shell
    Completions(CompletionsArgs),
    /// Write the manual pages of all commands into a folder
    Man(ManArgs),
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    /// A longer line would be broken again behind its own breaks, with a word or two on a line.
    #[test]
    fn lines_below_options_fit_the_width_of_help() {
        let mut commands = vec![Cli::command()];
        while let Some(command) = commands.pop() {
            let below = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            let long = below.lines().find(|line| line.chars().count() > WIDTH);
            assert_eq!(long, None, "{}", command.get_name());
            commands.extend(command.get_subcommands().cloned());
        }
    }
}
