//! What commands that read and write tables of any format have in common on the command line.

use datasets::format::Format;
use datasets::source::{Limits, MissingColumns, Selection, SourceOptions};

/// How rows are written in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum FormatArg {
    /// JSON lines
    Jsonl,
    /// Parquet
    Parquet,
    /// Values between commas
    Csv,
    /// Values between tabs
    Tsv,
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

/// [`MissingColumns`] on the command line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum MissingArg {
    /// An error that names file and column
    #[default]
    Refuse,
    /// Nulls
    Null,
}

/// How inputs are read.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Input")]
pub(crate) struct ReadingArgs {
    /// Format of every input [default: by their names]
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(crate) format: Option<FormatArg>,
    /// Split of a dataset folder
    #[arg(long, value_name = "NAME")]
    pub(crate) split: Option<String>,
    /// Configuration of a dataset folder
    #[arg(long, value_name = "NAME")]
    pub(crate) config_name: Option<String>,
    /// What to do about a column that some files lack
    #[arg(long, value_enum, value_name = "HOW", default_value = "refuse")]
    pub(crate) missing_columns: MissingArg,
}

impl ReadingArgs {
    /// Files by their names.
    pub(crate) fn plain() -> Self {
        Self {
            format: None,
            split: None,
            config_name: None,
            missing_columns: MissingArg::Refuse,
        }
    }

    /// Whether nothing was said.
    pub(crate) fn is_plain(&self) -> bool {
        self.format.is_none()
            && self.split.is_none()
            && self.config_name.is_none()
            && self.missing_columns == MissingArg::Refuse
    }

    /// The same for the reader, with batches of this many rows and bytes.
    pub(crate) fn options(&self, limits: Limits) -> SourceOptions {
        SourceOptions {
            format: self.format.map(FormatArg::format),
            selection: Selection {
                config: self.config_name.clone(),
                split: self.split.clone(),
            },
            missing: match self.missing_columns {
                MissingArg::Refuse => MissingColumns::Refuse,
                MissingArg::Null => MissingColumns::Null,
            },
            limits,
            ..SourceOptions::default()
        }
    }
}
