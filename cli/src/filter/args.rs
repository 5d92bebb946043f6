//! The command line of `tribunal filter`.

use std::path::PathBuf;

use curation::filter::{Dedupe, FilterOptions};
use curation::minhash;
use datasets::sink::SinkOptions;
use datasets::source::{BatchLimits, SourceOptions};

use super::groups::GroupArgs;
use crate::dataset_args::{FileArgs, SourceArgs};
use crate::error::CliError;

const EXAMPLES: &str = r#"Examples:
  tribunal filter scored.jsonl -o right.parquet --where "scores.math.score = 1"
  tribunal filter 'data/*.parquet' -o best.jsonl --where "scores['helpful']['score'] > 0.5" \
      --order-by "scores.helpful.score DESC" --top-k 1000 --select "prompt, response"
  tribunal filter dataset/ --split train -o small.parquet --sample 10000 --seed 7 --dedupe exact
  tribunal filter prompts.parquet -o apart.parquet --dedupe near --dedupe-by prompt --similarity 0.7
  zcat rows.jsonl.gz | tribunal filter - -o - --where "length(response) < 4000" > short.jsonl

GSM8K, from four models' solutions of each question to pairs for a trainer of preferences. Each
solution becomes a row, two scorers judge it, questions stay of which one to three solutions are
right, and the best and the worst solution of each make a pair:
  tribunal filter example_model_solutions.jsonl -o solutions.jsonl --sql "
    SELECT question, ground_truth,
      unnest(['6b_finetuning', '6b_verification', '175b_finetuning', '175b_verification']) AS model,
      unnest([\"6b_finetuning\".solution, \"6b_verification\".solution,
        \"175b_finetuning\".solution, \"175b_verification\".solution]) AS solution
    FROM data"
  tribunal score solutions.jsonl -o scored.jsonl --scorer math --scorer arithmetic \
      --prompt question --response solution --reference ground_truth --extract-reference
  tribunal filter scored.jsonl -o band.parquet --group-by question \
      --score scores.math.score --pass-rate 0.25:0.75 --report band.html
  tribunal filter band.parquet -o pairs.parquet --group-by question \
      --score "scores.math.score + scores.arithmetic.score / 10" \
      --pairs best-worst --margin 0.5 --prompt question --response solution

Inputs are files, globs, folders in the layout of Hugging Face datasets, and `-`. JSON lines,
Parquet, CSV and TSV are known by their names; texts may be packed with gzip or Zstandard.

Conditions are SQL over every column, with names as they are written in the file; one that has other
characters than letters stands in double quotes ("6b_verification".solution). A null meets no
condition. With several conditions, each counts the rows that it drops of those that are left. Rows
stay in their order unless --order-by gives another; then nulls come last. --sql takes a whole query
over the table `data`.

Steps are done in this order: --where, --dedupe, groups, --sample, --order-by, --top-k or --limit,
--select. Rows of equal values in --group-by are a group, wherever they stand; a score that is
null or not finite was not measured, and is no 0. Choices follow from the content of rows and
--seed, not from where rows stand. Each step says what it dropped and why.

The output appears under its name when it is complete, and OUT.manifest.json beside it says what
made it.

Exit code: 0 done; 1 some rows could not be read (see OUT.rejects.jsonl), or something failed; 2 the
command cannot work as it was written."#;

/// Keeps the rows of a dataset that meet conditions.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct FilterArgs {
    /// Files, globs, folders; `-` for standard input
    #[arg(value_name = "IN", required = true)]
    pub(super) inputs: Vec<String>,
    /// Where the rows go; `-` for standard output
    #[arg(short, long, value_name = "OUT")]
    pub(super) output: String,
    #[command(flatten)]
    pub(super) question: QuestionArgs,
    #[command(flatten)]
    pub(super) reading: ReadingArgs,
    #[command(flatten)]
    pub(super) writing: WritingArgs,
}

/// Which rows and columns.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Rows and columns")]
pub(super) struct QuestionArgs {
    /// Keep rows that meet this condition (repeatable)
    #[arg(long = "where", value_name = "SQL")]
    wheres: Vec<String>,
    /// Write these columns and expressions, as in a SELECT [default: all columns]
    #[arg(long, value_name = "SQL")]
    select: Option<String>,
    /// Order rows, as in an ORDER BY
    #[arg(long, value_name = "SQL")]
    order_by: Option<String>,
    /// Keep the first K rows of the order
    #[arg(long, value_name = "K")]
    top_k: Option<u64>,
    /// Keep the first N rows
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
    /// Draw N rows, each with the same chance
    #[arg(long, value_name = "N")]
    sample: Option<u64>,
    /// The same seed gives the same draws and the same choices between equals
    #[arg(long, value_name = "SEED", default_value = "0")]
    seed: u64,
    /// Drop rows that are like an earlier one
    #[arg(long, value_enum, value_name = "HOW")]
    dedupe: Option<DedupeArg>,
    /// Columns in which rows are compared [default: all; near wants columns of text]
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',', requires = "dedupe")]
    dedupe_by: Vec<String>,
    /// Jaccard similarity from which texts are near [default: 0.8]
    #[arg(long, value_name = "S", requires = "dedupe", allow_negative_numbers = true)]
    similarity: Option<f64>,
    /// Words in a shingle, the unit that near texts share [default: 5]
    #[arg(long, value_name = "N", requires = "dedupe")]
    shingle_words: Option<usize>,
    /// Answer a whole query over the table `data`
    #[arg(long, value_name = "SQL")]
    sql: Option<String>,
    // Last, because its heading holds for what comes after it.
    #[command(flatten)]
    groups: GroupArgs,
}

/// How inputs are read.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Input")]
pub(super) struct ReadingArgs {
    #[command(flatten)]
    source: SourceArgs,
    /// Threads that read [default: the number of cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
}

/// How the output is written.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Output")]
pub(super) struct WritingArgs {
    #[command(flatten)]
    files: FileArgs,
    /// Write a page with plots of dropped rows and the distribution of scores
    #[arg(long, value_name = "FILE.html")]
    pub(super) report: Option<PathBuf>,
    /// Print the summary as one line of JSON on standard output too
    #[arg(long)]
    pub(super) json: bool,
}

/// How rows are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum DedupeArg {
    /// Equal to the last byte
    Exact,
    /// Texts that share most of their shingles
    Near,
}

impl ReadingArgs {
    /// Threads that read.
    pub(super) fn threads(&self) -> usize {
        self.threads.map_or_else(scoring::backend::cores, usize::from)
    }

    /// How inputs are opened.
    pub(super) fn options(&self) -> SourceOptions {
        self.source.options(BatchLimits::default())
    }
}

impl WritingArgs {
    /// How the output is written.
    pub(super) fn sink(&self) -> SinkOptions {
        self.files.options()
    }
}

impl QuestionArgs {
    /// Converts the options.
    pub(super) fn options(self) -> Result<FilterOptions, CliError> {
        let dedupe = self.dedupe()?;
        Ok(FilterOptions {
            wheres: self.wheres,
            select: self.select,
            order_by: self.order_by,
            top_k: self.top_k,
            limit: self.limit,
            sample: self.sample,
            seed: self.seed,
            dedupe,
            group: self.groups.options()?,
            sql: self.sql,
        })
    }

    fn dedupe(&self) -> Result<Option<Dedupe>, CliError> {
        let by = self.dedupe_by.clone();
        let default = minhash::MinHashOptions::default();
        match self.dedupe {
            None => Ok(None),
            Some(DedupeArg::Exact) if self.similarity.is_some() || self.shingle_words.is_some() => {
                let message = "--similarity and --shingle-words are for --dedupe near";
                Err(CliError::Usage(message.to_owned()))
            }
            Some(DedupeArg::Exact) => Ok(Some(Dedupe::Exact { by })),
            Some(DedupeArg::Near) => Ok(Some(Dedupe::Near {
                by,
                similarity: self.similarity.unwrap_or(default.threshold),
                words: self.shingle_words.unwrap_or(default.words),
            })),
        }
    }
}
