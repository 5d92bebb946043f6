//! `tribunal principles`: from people's feedback to rows of principles.

mod answers;
mod client;
mod judge;
mod run;
mod similar;
mod summary;

use std::path::PathBuf;

use curation::principles::{ExtractionOptions, FeedbackColumns};
use datasets::SchemaRef;

use crate::dataset_args::{SinkArgs, SourceArgs};
use crate::error::{CliError, CommandOutcome};
use crate::score::RemoteArgs;

const EXAMPLES: &str = "\
Examples:
  tribunal principles feedback.jsonl -o principles.jsonl --judge qwen --config tribunal.toml
  tribunal principles helpsteer3/ --split train -o principles.parquet --prompt context \\
      --response response1 --feedback feedback1 --judge deepseek --url http://127.0.0.1:8000 \\
      --similarity embedding --embedding-model Qwen3-Embedding-8B \\
      --embedding-url http://127.0.0.1:8001
  tribunal principles rows.parquet -o out.parquet --feedback alice --feedback bob --judge qwen

A row is a prompt, a response, and the feedback of several annotators: columns of texts, each one
annotator, or a column with a list of texts. The judge lists the principles of each feedback, each
with a verdict and the words that say so. What it lists passes through these steps; the report says
how many principles each of them drops:
  evidence       the words must be found in the feedback (partial_ratio above --evidence)
  consensus      each other annotator must have a principle that is alike (cosine above --cosine)
  listed         principles named by --leave-out go
  partially      principles that are met in part go
  contradicted   alike principles with different verdicts go (--contradictions keep)
  repeated       of alike principles with one verdict the first stays

The similarity `ngram` compares spelling by character n-gram TF-IDF within one row and is no neural
embedding: it takes nothing but the program. `embedding` reads an embedding model.

If the judge's text on any feedback of a row cannot be read, or has no end, the row is rejected with
the reason: without one annotator's principles there is no saying what the others agree on.

Exit code: 0 done; 1 some rows could not be used (see OUT.rejects.jsonl); 2 the command cannot work
as it was written.";

/// Makes principle rows of feedback, after RLBFF.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct PrinciplesArgs {
    /// Files, globs, folders; `-` for standard input
    #[arg(value_name = "IN", required = true)]
    inputs: Vec<String>,
    /// Where the rows go; `-` for standard output
    #[arg(short, long, value_name = "OUT")]
    output: String,
    #[command(flatten)]
    columns: ColumnArgs,
    #[command(flatten)]
    judge: JudgeArgs,
    #[command(flatten)]
    similarity: SimilarityArgs,
    #[command(flatten)]
    steps: StepArgs,
    #[command(flatten)]
    source: SourceArgs,
    #[command(flatten)]
    sink: SinkArgs,
}

/// Where things stand in a row.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Columns")]
struct ColumnArgs {
    /// Column of the prompt: a text or messages
    #[arg(long, value_name = "COLUMN", default_value = "prompt")]
    prompt: String,
    /// Column of the response
    #[arg(long, value_name = "COLUMN", default_value = "response")]
    response: String,
    /// Column of one annotator's texts, or of lists of texts, an annotator each (repeatable)
    /// [default: feedback]
    #[arg(long, value_name = "COLUMN")]
    feedback: Vec<String>,
    /// Columns that each principle's row carries along, such as an id
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    carry: Vec<String>,
}

/// The judge that lists principles.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Judge")]
struct JudgeArgs {
    /// Model or adapter that lists principles; with --url, of that server's /v1/chat/completions
    #[arg(long = "judge", value_name = "MODEL")]
    model: String,
    /// Configuration file that names models
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Most tokens of one list; a longer one is a failure
    #[arg(long, value_name = "N", default_value_t = 1024,
          value_parser = clap::value_parser!(u32).range(1..=131_072))]
    max_tokens: u32,
    /// Temperature of the judge
    #[arg(long, value_name = "T", default_value_t = 0.0, value_parser = temperature)]
    temperature: f32,
    /// What chance follows from
    #[arg(long, value_name = "SEED", default_value_t = 0)]
    seed: u64,
    /// Keep the judge's lists in this file, and take those that are there from it: a run that
    /// was interrupted goes on
    #[arg(long, value_name = "FILE")]
    answers: Option<PathBuf>,
    /// Threads that make prompts [default: the number of cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    #[command(flatten)]
    remote: RemoteArgs,
}

/// What principles are alike.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Similarity")]
struct SimilarityArgs {
    /// What makes principles alike
    #[arg(long, value_enum, default_value = "ngram")]
    similarity: SimilarityArg,
    /// Model whose hidden state at the last token is a text's direction
    #[arg(long, value_name = "MODEL", required_if_eq("similarity", "embedding"))]
    embedding_model: Option<String>,
    /// Server whose /v1/embeddings runs the embedding model
    #[arg(long, value_name = "URL", requires = "embedding_model")]
    embedding_url: Option<String>,
}

/// What makes principles alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum SimilarityArg {
    /// Cosine of character n-gram TF-IDF within the row: spelling, not meaning
    Ngram,
    /// Cosine of a model's embeddings
    Embedding,
}

/// The conditions under which principles are dropped.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Steps")]
struct StepArgs {
    /// Rows with feedback of fewer annotators are left out
    #[arg(long, value_name = "N", default_value_t = 2,
          value_parser = clap::value_parser!(u16).range(2..))]
    min_annotators: u16,
    /// Ratio, from 0 to 100, above which words are found in the feedback
    #[arg(long, value_name = "RATIO", default_value_t = 60.0, value_parser = ratio)]
    evidence: f64,
    /// Cosine above which principles are alike
    #[arg(long, value_name = "COSINE", default_value_t = 0.8, value_parser = cosine,
          allow_negative_numbers = true)]
    cosine: f64,
    /// Principles that are left out (repeatable) [default: helpfulness]
    #[arg(long, value_name = "PRINCIPLE")]
    leave_out: Vec<String>,
    /// What becomes of alike principles with different verdicts
    #[arg(long, value_enum, default_value = "drop")]
    contradictions: ContradictionsArg,
}

/// What becomes of alike principles with different verdicts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum ContradictionsArg {
    /// All of them go
    Drop,
    /// They stay, one of each verdict
    Keep,
}

/// Runs the command.
pub(crate) fn run(args: &PrinciplesArgs) -> Result<CommandOutcome, CliError> {
    run::run(args)
}

impl ColumnArgs {
    fn find(&self, schema: &SchemaRef) -> Result<FeedbackColumns, CliError> {
        let feedback = self.feedback();
        Ok(FeedbackColumns::find(schema, &self.prompt, &self.response, &feedback)?)
    }

    /// The columns of feedback.
    fn feedback(&self) -> Vec<String> {
        if self.feedback.is_empty() { vec!["feedback".to_owned()] } else { self.feedback.clone() }
    }
}

impl StepArgs {
    fn options(&self) -> ExtractionOptions {
        ExtractionOptions {
            min_annotators: usize::from(self.min_annotators),
            evidence: self.evidence,
            cosine: self.cosine,
            left_out: if self.leave_out.is_empty() {
                vec!["helpfulness".to_owned()]
            } else {
                self.leave_out.clone()
            },
            keep_contradictions: self.contradictions == ContradictionsArg::Keep,
        }
    }
}

fn parse_within(text: &str, least: f64, most: f64) -> Result<f64, String> {
    let value: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    let is_within = (least..=most).contains(&value);
    is_within.then_some(value).ok_or_else(|| format!("it is from {least} to {most}"))
}

fn ratio(text: &str) -> Result<f64, String> {
    parse_within(text, 0.0, 100.0)
}

fn cosine(text: &str) -> Result<f64, String> {
    parse_within(text, -1.0, 1.0)
}

fn temperature(text: &str) -> Result<f32, String> {
    let value = parse_within(text, 0.0, 100.0)?;
    #[expect(clippy::cast_possible_truncation, reason = "sampling is in f32")]
    Ok(value as f32)
}
