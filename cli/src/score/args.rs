//! Arguments of `tribunal score`.

use std::path::PathBuf;

use openapi::Status;
use scoring::job::{
    ExistingOptions, JobOptions, OverwriteMode, RowOptions, TableOptions, WritingOptions,
};
use scoring::mapping::{ColumnNames, Field, MappingOptions};
use scoring::selection::Shard;
use scoring::status_counts::STATUSES;
use serve::convert::status_name;

use super::RemoteArgs;
use crate::dataset_args::{FormatArg, SourceArgs};

const EXAMPLES: &str = "\
Examples:
  tribunal score rows.jsonl -o scored.jsonl --scorer math
  tribunal score 'data/*.parquet' -o scored.parquet --scorer math --scorer arithmetic
  tribunal score gsm8k.jsonl -o scored.jsonl --scorer math --scorer arithmetic \\
      --response model.solution --reference answer --extract-reference
  zcat rows.jsonl.gz | tribunal score - -o - --scorer math | gzip > scored.jsonl.gz
  tribunal score rows.jsonl -o scored.jsonl --scorer math --url http://127.0.0.1:8080
  tribunal score scored.parquet -o again.parquet --scorer judge --retry-status timeout,overloaded

Every row keeps its columns and gets a column `scores`: {\"NAME\": verdict}. A verdict is a result
of POST /v1/score without the fields that differ from run to run or belong to a request: id,
timing, cached, metadata, and usage where it is zero. From one file of JSON lines to another,
every other byte of a row stays as it was written; everything else is a table, whose values keep
their types.

The output gets its name when it is complete. Until then OUT.journal and OUT.partial, or
OUT.verdicts, hold the finished rows; after an interruption the same command resumes there and
ends with the same bytes. A run over lines that reads standard input, and one that writes to a
stream, cannot be resumed. OUT.manifest.json records how the output was made.

Exit code: 0 every row was scored; 1 some rows were rejected (see OUT.rejects.jsonl), a scorer
refused all or could use no reference, or something failed; 2 wrong use.";

/// Scores the rows of a dataset.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ScoreArgs {
    /// Files, globs, dataset folders, or `-` for standard input
    #[arg(value_name = "IN", required = true)]
    inputs: Vec<String>,
    /// Where the scored rows go; `-` for standard output
    #[arg(short, long, value_name = "OUT")]
    pub(super) output: String,
    /// Name of a scorer (repeatable)
    #[arg(long = "scorer", value_name = "NAME", required = true)]
    scorers: Vec<String>,
    /// Configuration file with more scorers
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Add reason.detail to every verdict
    #[arg(long)]
    explain: bool,
    /// Score only the first N rows
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
    /// Verifier threads [default: the number of cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// Print the summary as one line of JSON on standard output too
    #[arg(long)]
    pub(super) json: bool,
    /// Sign the verdicts with this Ed25519 key in PEM [default: that of --config]
    #[arg(long, value_name = "FILE", conflicts_with_all = ["url", "flat"])]
    signing_key: Option<PathBuf>,
    #[command(flatten)]
    files: FileArgs,
    #[command(flatten)]
    mapping: MappingArgs,
    #[command(flatten)]
    table: TableArgs,
    #[command(flatten)]
    remote: RemoteArgs,
}

/// Which columns hold which fields.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Columns")]
pub(crate) struct MappingArgs {
    #[command(flatten)]
    named: ColumnArgs,
    /// TOML file with the options above it: `response = "model.solution"`; names on the command
    /// line take precedence
    #[arg(long, value_name = "FILE")]
    columns: Option<PathBuf>,
    /// Do not read this field from the column of its name (repeatable)
    #[arg(long, value_name = "FIELD")]
    ignore: Vec<FieldArg>,
    /// Extract the final answer from a reference that is a complete solution, such as one that ends
    /// in `#### 18` or `A: 18`; other references are used as they are
    #[arg(long)]
    extract_reference: bool,
}

/// Columns by field.
#[derive(Debug, Default, clap::Args)]
struct ColumnArgs {
    /// Column of the prompt: text or messages. A dot leads into an object: `a.b` [default: prompt]
    #[arg(long, value_name = "COL")]
    prompt: Option<String>,
    /// Column of the response: text or messages [default: response]
    #[arg(long, value_name = "COL", conflicts_with = "responses")]
    response: Option<String>,
    /// Column of a list of responses, which are one group [default: responses]; given several
    /// times, each column holds one response of the group
    #[arg(long, value_name = "COL")]
    responses: Vec<String>,
    /// Column of the gold answer: text, number, or list of texts [default: reference]
    #[arg(long, value_name = "COL")]
    reference: Option<String>,
    /// Column of the response's steps [default: steps]
    #[arg(long, value_name = "COL")]
    steps: Option<String>,
    /// Column of a list of principles [default: principles]
    #[arg(long, value_name = "COL")]
    principles: Option<String>,
    /// Column of supporting texts [default: context]
    #[arg(long, value_name = "COL")]
    context: Option<String>,
    /// Column of the row's id, which identifies rejected rows [default: id]
    #[arg(long, value_name = "COL")]
    id: Option<String>,
}

/// Options of tables.
#[derive(Debug, clap::Args)]
struct TableArgs {
    #[command(flatten)]
    reading: SourceArgs,
    #[command(flatten)]
    rows: RowArgs,
    #[command(flatten)]
    writing: WritingArgs,
}

/// Which rows are scored.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Rows")]
struct RowArgs {
    /// Score only N rows, drawn uniformly
    #[arg(long, value_name = "N")]
    sample: Option<u64>,
    /// Seed of the draw
    #[arg(long, value_name = "SEED", default_value = "0")]
    seed: u64,
    /// Score one of n pieces of the rows, counted from 1: `3/8`; `tribunal merge` puts the outputs
    /// together
    #[arg(long, value_name = "i/n")]
    shard: Option<Shard>,
    /// Score only the rows whose verdicts have one of these statuses, or none, and keep the other
    /// verdicts
    #[arg(long, value_name = "STATUS", value_delimiter = ',', value_parser = status)]
    retry_status: Vec<Status>,
}

/// How the output is written.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Output")]
struct WritingArgs {
    /// Format of the output [default: by its name]
    #[arg(long, value_enum, value_name = "FORMAT")]
    output_format: Option<FormatArg>,
    /// Rows of an output file; then OUT becomes several
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    shard_rows: Option<u64>,
    /// Write flat columns `NAME_status`, `NAME_score` … and no column `scores`
    #[arg(long)]
    flat: bool,
}
/// How files and columns that exist already are treated.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Output")]
struct FileArgs {
    #[command(flatten)]
    existing: OverwriteArgs,
    /// Replace scores of the same names that rows have already
    #[arg(long)]
    overwrite_scores: bool,
    /// Where rejected rows go [default: OUT.rejects.jsonl; notes on standard error for a stream]
    #[arg(long, value_name = "FILE")]
    rejects: Option<PathBuf>,
}

/// How files that exist already are treated.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Output")]
struct OverwriteArgs {
    /// Replace an output file that exists
    #[arg(long)]
    overwrite: bool,
    /// Discard an unfinished run
    #[arg(long)]
    restart: bool,
}

/// The fields that columns are read into.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum FieldArg {
    /// Prompt
    Prompt,
    /// One response
    Response,
    /// A group of responses
    Responses,
    /// The gold answer
    Reference,
    /// Steps
    Steps,
    /// Principles
    Principles,
    /// Supporting texts
    Context,
    /// The row's id
    Id,
}

impl From<FieldArg> for Field {
    fn from(arg: FieldArg) -> Self {
        match arg {
            FieldArg::Prompt => Self::Prompt,
            FieldArg::Response => Self::Response,
            FieldArg::Responses => Self::Responses,
            FieldArg::Reference => Self::Reference,
            FieldArg::Steps => Self::Steps,
            FieldArg::Principles => Self::Principles,
            FieldArg::Context => Self::Context,
            FieldArg::Id => Self::Id,
        }
    }
}

fn status(name: &str) -> Result<Status, String> {
    let found = STATUSES.iter().find(|status| status_name(**status) == name);
    found.copied().ok_or_else(|| {
        let names: Vec<&str> = STATUSES.iter().map(|status| status_name(*status)).collect();
        format!("the statuses are {}", names.join(", "))
    })
}

impl MappingArgs {
    /// The same for a mapping.
    pub(crate) fn options(self) -> MappingOptions {
        let named = self.named;
        MappingOptions {
            named: ColumnNames {
                prompt: named.prompt,
                response: named.response,
                responses: named.responses,
                reference: named.reference,
                steps: named.steps,
                principles: named.principles,
                context: named.context,
                id: named.id,
            },
            file: self.columns,
            ignore: self.ignore.into_iter().map(Field::from).collect(),
            extract_reference: self.extract_reference,
        }
    }
}

impl TableArgs {
    fn options(self) -> TableOptions {
        TableOptions {
            rows: RowOptions {
                sample: self.rows.sample,
                seed: self.rows.seed,
                shard: self.rows.shard,
                retry_status: self.rows.retry_status,
            },
            writing: WritingOptions {
                format: self.writing.output_format.map(FormatArg::format),
                shard_rows: self.writing.shard_rows,
                flat: self.writing.flat,
            },
            ..self.reading.table_options()
        }
    }
}

impl ScoreArgs {
    /// The options of the run.
    pub(super) fn options(self) -> JobOptions {
        let existing = ExistingOptions {
            mode: OverwriteMode {
                overwrite: self.files.existing.overwrite,
                restart: self.files.existing.restart,
            },
            overwrite_scores: self.files.overwrite_scores,
        };
        JobOptions {
            inputs: self.inputs,
            output: self.output,
            scorers: self.scorers,
            config: self.config,
            explain: self.explain,
            limit: self.limit,
            device: self.remote.device,
            threads: self.threads.map(usize::from),
            existing,
            rejects: self.files.rejects,
            mapping: self.mapping.options(),
            table: self.table.options(),
            remote: self.remote.options(),
            signing_key: self.signing_key,
        }
    }
}
