//! `tribunal verify`: compares answers with gold answers.

mod pairs;
mod show;

use std::path::PathBuf;
use std::sync::Arc;

use openapi::{ScoreResult, Status};
use rubrics::{Input, Passage};
use scoring::backend::LocalBackend;
use scoring::{VerdictJson, scorers};

use crate::error::{CliError, CommandOutcome};

const EXAMPLES: &str = r#"Examples:
  tribunal verify --gold '\frac12' --pred 'so \boxed{0.5}'
  tribunal verify --gold B --pred 'The answer is (B).' --scorer choice
  tribunal verify --input pairs.jsonl --json > verdicts.jsonl

A line of pairs.jsonl: {"gold": "1/2", "pred": "so \\boxed{0.5}"}, and optionally "kind", the name
of the scorer for this pair, and "question". Every line gets a verdict, in order; a line that
cannot be read gets the status `refused`.

Exit code: 0 every pair was decided, whatever the score; 1 some status is not `ok`; 2 wrong use."#;

/// Compares answers with gold answers.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct VerifyArgs {
    /// Gold answer
    #[arg(
        long,
        value_name = "TEXT",
        required_unless_present = "input",
        requires = "pred",
        allow_hyphen_values = true
    )]
    gold: Option<String>,
    /// Response to score
    #[arg(long, value_name = "TEXT", requires = "gold", allow_hyphen_values = true)]
    pred: Option<String>,
    /// Question
    #[arg(long, value_name = "TEXT", requires = "gold", allow_hyphen_values = true)]
    question: Option<String>,
    /// JSONL file of pairs; `-` for standard input
    #[arg(long, value_name = "FILE", conflicts_with = "gold")]
    input: Option<String>,
    /// Scorer, for pairs that name none themselves
    #[arg(long, value_name = "NAME", default_value = "math")]
    scorer: String,
    /// Configuration file with more scorers
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Print verdicts as JSON, one a line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    rest: RestArgs,
}

/// Rarely used options.
#[derive(Debug, clap::Args)]
struct RestArgs {
    /// Add reason.detail to the verdicts of --input; a single pair always has it
    #[arg(long)]
    explain: bool,
    /// Accepted for measuring scripts: this command has no cache
    #[arg(long)]
    no_cache: bool,
    /// Verifier threads [default: the number of cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
}

/// Runs the command.
pub(crate) fn run(args: VerifyArgs) -> Result<CommandOutcome, CliError> {
    let cores = scoring::backend::cores();
    let threads = args.rest.threads.map_or(cores, usize::from);
    let registry = scorers::registry(args.config.as_deref())?;
    // A single pair is read by a person: show the reason.
    let explain = args.rest.explain || args.input.is_none();
    let local = LocalBackend::with_rules(&registry, threads, explain)?;
    let scorer = local.find(&args.scorer)?;
    if let Some(input) = args.input {
        let run = pairs::PairRun { local: &local, scorer, json: args.json };
        return pairs::score_pairs(&run, &input);
    }
    let input = Input::of(args.pred.unwrap_or_default());
    let mut input = input.against(args.gold.unwrap_or_default());
    input.prompt = args.question.map(|question| Passage::Text(question).into());
    let results = local.score_with(scorer, &[Arc::new(input)]);
    one(&args.scorer, &results[0], args.json)
}

fn one(scorer: &str, result: &ScoreResult, json: bool) -> Result<CommandOutcome, CliError> {
    let text = if json { json_line(result) } else { show::verdict(scorer, result) };
    crate::print(&text)?;
    Ok(CommandOutcome::failed_if(result.status != Status::Ok))
}

fn json_line(result: &ScoreResult) -> String {
    let verdict = serde_json::to_string(&VerdictJson::from(result));
    verdict.expect("a verdict serialises to memory") + "\n"
}
