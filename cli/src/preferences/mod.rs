//! `tribunal denoise`: preference pairs that several scorers vote on.

mod run;
mod summary;
mod voting;

use std::path::{Path, PathBuf};

use curation::preferences::{Action, StdDevKind, StrengthRange, StrengthRule, StrengthRules};
use datasets::sink::SinkOptions;

use crate::dataset_args::{SinkArgs, SourceArgs};
use crate::error::{CliError, CommandOutcome};
use crate::eval::ValueArg;
use crate::score::RemoteArgs;

const EXAMPLES: &str = "\
Examples:
  tribunal denoise pairs.jsonl -o measured.jsonl --scorer reward
  tribunal denoise 'data/*.parquet' -o clean.parquet --scorer rm-1 --scorer rm-2 --scorer rm-3 \\
      --config scorers.toml --value raw --rescale \\
      --flip ..10% --soft-label 10%..40% --smoothing 0.1 --drop 95%..
  tribunal denoise scored.parquet -o clean.parquet --chosen-score score_chosen \\
      --rejected-score score_rejected --flip ..-0.5 --left-out dropped.parquet

Each voter gives a pair a difference: its score of the chosen response less that of the rejected
one. Their mean is the strength of the preference, their standard deviation its spread. Rules say
what becomes of pairs by strength. A RANGE is FROM..BELOW: strengths, such as -0.5..0.5, or shares
of all measured pairs from the weakest on, such as 10%..40%; one side may be left out. Where
ranges overlap, the first of --keep, --drop, --flip, --flip-and-soft-label and --soft-label
decides; pairs in no range are kept. Without a rule nothing is changed: look at the strengths
first.

Every row keeps its columns and gets a column `denoise`: votes, mean, std, measured, unmeasured,
against, decision, flipped, label (soft label of the pair as it is written: q = (1 - EPS) y + EPS/2)
and margin (strength of the pair as it is written, for the loss -log s(D - margin)).

A score that could not be measured is no vote, and is counted. Strengths take 8 bytes of memory a
pair. A percentage or --rescale needs a pass over all pairs before the first row is written, and
then 8 bytes more for each vote. For a run of hours that can be resumed, score the responses with
`tribunal score` and name the columns of scores here.

Exit code: 0 done; 1 some rows could not be used (see OUT.rejects.jsonl), or some votes failed
through no fault of the rows; 2 the command cannot work as it was written.";

/// Denoises preference pairs, after Secrets of RLHF II.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DenoiseArgs {
    /// Files, globs, folders; `-` for standard input
    #[arg(value_name = "IN", required = true)]
    inputs: Vec<String>,
    /// Where the rows go; `-` for standard output
    #[arg(short, long, value_name = "OUT")]
    output: String,
    #[command(flatten)]
    voters: VoterArgs,
    #[command(flatten)]
    rules: RuleArgs,
    #[command(flatten)]
    added: AddedArgs,
    #[command(flatten)]
    source: SourceArgs,
    #[command(flatten)]
    sink: SinkArgs,
}

/// The voters, and the columns of a pair.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Voters")]
struct VoterArgs {
    /// Scorer that scores both responses of each pair (repeatable)
    #[arg(long = "scorer", value_name = "NAME")]
    scorers: Vec<String>,
    /// Column that holds differences, chosen less rejected, already (repeatable)
    #[arg(long = "strength", value_name = "COLUMN")]
    strengths: Vec<String>,
    /// Column that holds the chosen response's scores (repeatable, with --rejected-score)
    #[arg(long = "chosen-score", value_name = "COLUMN")]
    chosen_scores: Vec<String>,
    /// Column that holds the rejected response's scores
    #[arg(long = "rejected-score", value_name = "COLUMN")]
    rejected_scores: Vec<String>,
    /// Number of a verdict that is compared
    #[arg(long, value_enum, default_value = "score")]
    value: ValueArg,
    /// Configuration file with more scorers
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Verifier threads [default: the number of cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// Column of the prompt [default: prompt, or what both conversations begin with]
    #[arg(long, value_name = "COLUMN")]
    prompt: Option<String>,
    /// Column of the chosen response
    #[arg(long, value_name = "COLUMN", default_value = "chosen")]
    chosen: String,
    /// Column of the rejected response
    #[arg(long, value_name = "COLUMN", default_value = "rejected")]
    rejected: String,
    /// Two more columns that change places in a flipped pair, as A:B (repeatable); those of
    /// --chosen-score and --rejected-score do without being named
    #[arg(long, value_name = "A:B", value_parser = both)]
    exchange: Vec<(String, String)>,
    #[command(flatten)]
    remote: RemoteArgs,
}

/// What becomes of pairs.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Rules")]
struct RuleArgs {
    /// Exchange chosen and rejected: label flipping
    #[arg(long, value_name = "RANGE", allow_hyphen_values = true)]
    flip: Vec<StrengthRange>,
    /// Smooth the label: label smoothing with --smoothing
    #[arg(long, value_name = "RANGE", allow_hyphen_values = true, requires = "smoothing")]
    soft_label: Vec<StrengthRange>,
    /// Exchange chosen and rejected, and smooth the label
    #[arg(long, value_name = "RANGE", allow_hyphen_values = true, requires = "smoothing")]
    flip_and_soft_label: Vec<StrengthRange>,
    /// Drop the pair
    #[arg(long, value_name = "RANGE", allow_hyphen_values = true)]
    drop: Vec<StrengthRange>,
    /// Keep the pair as it is, whatever other rules say
    #[arg(long, value_name = "RANGE", allow_hyphen_values = true)]
    keep: Vec<StrengthRange>,
    /// Smoothing of soft labels, from 0 to 1: q = (1 - EPS) y + EPS/2
    #[arg(long, value_name = "EPS", value_parser = parse_share)]
    smoothing: Option<f64>,
    /// Drop pairs on which the standard deviation of the votes is greater
    #[arg(long, value_name = "STD", value_parser = not_negative)]
    max_std: Option<f64>,
    /// How the standard deviation is taken
    #[arg(long, value_enum, default_value = "population")]
    std: SpreadArg,
    /// Votes that a pair needs to be judged
    #[arg(long, value_name = "N", default_value_t = 1,
          value_parser = clap::value_parser!(u16).range(1..))]
    min_votes: u16,
    /// What becomes of pairs with fewer votes
    #[arg(long, value_enum, default_value = "drop")]
    unmeasured: UnmeasuredArg,
    /// Divide each voter's differences by their root mean square over all pairs, so that none
    /// outvotes the others by large numbers
    #[arg(long)]
    rescale: bool,
}

/// Added columns and the reject file.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Columns")]
struct AddedArgs {
    /// Name of the column that is added
    #[arg(long, value_name = "NAME", default_value = "denoise")]
    column: String,
    /// Add a column for each part (`denoise_mean`, `denoise_std`, …) in the place of one object
    #[arg(long)]
    flat: bool,
    /// Write the pairs that are dropped here, with the same columns
    #[arg(long, value_name = "FILE")]
    left_out: Option<String>,
}

/// How a standard deviation is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum SpreadArg {
    /// Over the voters as they are
    Population,
    /// As of a sample of voters; not known for one vote
    Sample,
}

/// What becomes of pairs with too few votes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum UnmeasuredArg {
    /// They go
    Drop,
    /// They stay as they are, without label and margin
    Keep,
}

/// Runs the command.
pub(crate) fn run(args: &DenoiseArgs) -> Result<CommandOutcome, CliError> {
    run::run(args)
}

impl RuleArgs {
    /// The rules in order of precedence, and their texts for people.
    fn rules(&self) -> (StrengthRules, Vec<String>) {
        let smoothing = self.smoothing.unwrap_or(0.0);
        let listed = [
            ("keep", &self.keep, Action::Keep),
            ("drop", &self.drop, Action::Drop),
            ("flip", &self.flip, Action::Flip),
            ("flip-and-soft-label", &self.flip_and_soft_label, Action::FlipAndSoften { smoothing }),
            ("soft-label", &self.soft_label, Action::Soften { smoothing }),
        ];
        let (mut rules, mut words) = (Vec::new(), Vec::new());
        for (name, ranges, action) in listed {
            for range in ranges {
                rules.push(StrengthRule { from: range.from, below: range.below, action });
                words.push(format!("{name} {}", range.text));
            }
        }
        let rules = StrengthRules {
            rules,
            most_spread: self.max_std,
            least_measured: usize::from(self.min_votes),
        };
        (rules, words)
    }

    fn std_dev(&self) -> StdDevKind {
        match self.std {
            SpreadArg::Population => StdDevKind::Population,
            SpreadArg::Sample => StdDevKind::Sample,
        }
    }
}

impl AddedArgs {
    /// How the pairs that go are written: as the others, but in the format of their own name.
    fn left_out_options(sink: &SinkArgs) -> SinkOptions {
        SinkOptions { format: None, ..sink.options() }
    }
}

impl DenoiseArgs {
    /// Every file that the run writes under a name of its own.
    fn outputs(&self) -> Vec<PathBuf> {
        let left_out = self.added.left_out.iter();
        let all = left_out.chain([&self.output]).filter(|name| *name != "-");
        all.map(PathBuf::from).collect()
    }

    /// Refuses what can be seen to be wrong before anything is read.
    fn check(&self) -> Result<(), CliError> {
        let usage = |message: &str| Err(CliError::Usage(message.to_owned()));
        self.sink.check(&self.output)?;
        if let Some(left_out) = &self.added.left_out {
            if left_out == "-" || Path::new(left_out) == Path::new(&self.output) {
                return usage("--left-out names a file of its own");
            }
            datasets::sink::check(left_out, &AddedArgs::left_out_options(&self.sink))?;
        }
        if self.rules.smoothing.is_some()
            && self.rules.soft_label.is_empty()
            && self.rules.flip_and_soft_label.is_empty()
        {
            return usage("--smoothing says how soft labels are: name them with --soft-label");
        }
        Ok(())
    }
}

/// Two names with a colon between.
fn both(text: &str) -> Result<(String, String), String> {
    match text.split_once(':') {
        Some((first, second)) if !first.is_empty() && !second.is_empty() => {
            Ok((first.to_owned(), second.to_owned()))
        }
        Some(_) | None => Err("two columns are A:B".to_owned()),
    }
}

/// A number from 0 to 1.
fn parse_share(text: &str) -> Result<f64, String> {
    let value: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    let is_share = (0.0..=1.0).contains(&value);
    is_share.then_some(value).ok_or_else(|| "it is from 0 to 1".to_owned())
}

/// A number of 0 or more.
fn not_negative(text: &str) -> Result<f64, String> {
    let value: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    let is_one = value.is_finite() && value >= 0.0;
    is_one.then_some(value).ok_or_else(|| "it is finite, and 0 or more".to_owned())
}
