//! Arguments of commands that read and write datasets.

use std::path::PathBuf;

use datasets::format::Format;
use datasets::sink::SinkOptions;
use datasets::source::{BatchLimits, Dataset, MissingColumns, Selection, SourceOptions};
use scoring::files::refuse_same_file;
use scoring::job::TableOptions;

use crate::error::CliError;

/// How inputs are read.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Input")]
pub(crate) struct SourceArgs {
    /// Format of every input [default: by its name]
    #[arg(long, value_enum, value_name = "FORMAT")]
    format: Option<FormatArg>,
    /// Split of a folder that has several
    #[arg(long, value_name = "NAME")]
    split: Option<String>,
    /// Configuration of a folder whose README.md lists several
    #[arg(long, value_name = "NAME")]
    config_name: Option<String>,
    /// What to do about a column that some files lack
    #[arg(long, value_enum, value_name = "HOW", default_value = "refuse")]
    missing_columns: MissingArg,
}

/// How the output is written.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct SinkArgs {
    #[command(flatten)]
    files: FileArgs,
    /// Print the summary as one line of JSON on standard output too
    #[arg(long)]
    pub(crate) json: bool,
}

/// The files of an output.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct FileArgs {
    /// Format of the output [default: by its name; JSON lines for a stream]
    #[arg(long, value_enum, value_name = "FORMAT")]
    output_format: Option<FormatArg>,
    /// Write files of N rows: OUT-00000-of-00003 and so on
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    shard_rows: Option<u64>,
    /// Replace an output that is there
    #[arg(long)]
    overwrite: bool,
}

impl FileArgs {
    /// The same for the writer.
    pub(crate) fn options(&self) -> SinkOptions {
        SinkOptions {
            format: self.output_format.map(FormatArg::format),
            shard_rows: self.shard_rows,
            overwrite: self.overwrite,
        }
    }
}

/// How rows are written in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum FormatArg {
    /// One JSON object a line
    Jsonl,
    /// Apache Parquet
    Parquet,
    /// Values between commas
    Csv,
    /// Values between tabs
    Tsv,
}

/// What to do about a column that some files lack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum MissingArg {
    /// Stop, and name file and column
    Refuse,
    /// Fill it with nulls
    Null,
}

impl FormatArg {
    /// The format of this name.
    pub(crate) fn format(self) -> Format {
        match self {
            Self::Jsonl => Format::Jsonl,
            Self::Parquet => Format::Parquet,
            Self::Csv => Format::Csv,
            Self::Tsv => Format::Tsv,
        }
    }
}

impl SourceArgs {
    /// The same for a scoring run, whose other options are not set.
    pub(crate) fn table_options(&self) -> TableOptions {
        TableOptions {
            format: self.format.map(FormatArg::format),
            part: self.part(),
            missing: self.missing(),
            ..TableOptions::default()
        }
    }

    /// How inputs are opened, with batches of this size.
    pub(crate) fn options(&self, limits: BatchLimits) -> SourceOptions {
        SourceOptions {
            format: self.format.map(FormatArg::format),
            selection: self.part(),
            missing: self.missing(),
            limits,
            ..SourceOptions::default()
        }
    }

    fn part(&self) -> Selection {
        Selection { config: self.config_name.clone(), split: self.split.clone() }
    }

    fn missing(&self) -> MissingColumns {
        match self.missing_columns {
            MissingArg::Refuse => MissingColumns::Refuse,
            MissingArg::Null => MissingColumns::Null,
        }
    }

    /// Opens the inputs, none of which may be among the outputs.
    pub(crate) fn open(&self, inputs: &[String], outputs: &[PathBuf]) -> Result<Dataset, CliError> {
        let dataset = Dataset::open(inputs, &self.options(BatchLimits::default()))?;
        for file in dataset.files().iter().filter(|file| !file.is_stdin()) {
            refuse_same_file(file.name(), outputs)?;
        }
        Ok(dataset)
    }
}

impl SinkArgs {
    /// How the output is written.
    pub(crate) fn options(&self) -> SinkOptions {
        self.files.options()
    }

    /// Refuses before any work an output that cannot be, or is there already.
    pub(crate) fn check(&self, output: &str) -> Result<(), CliError> {
        if output == "-" && self.json {
            let message = "--json and '-o -' would both write to standard output";
            return Err(CliError::Usage(message.to_owned()));
        }
        datasets::sink::check(output, &self.options())?;
        Ok(())
    }
}
