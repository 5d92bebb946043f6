//! What commands from dataset to dataset have in common: how inputs are read, how an output is
//! written, and the files beside it.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use datasets::format::Format;
use datasets::manifest::{Manifest, Output as OutputFile, Time};
use datasets::sink::{Sink, SinkOptions, Written, beside};
use datasets::source::{Dataset, Limits, MissingColumns, Reject, Selection, SourceOptions};
use datasets::{RecordBatch, SchemaRef};
use serde_json::Value;

use crate::error::CliError;
use crate::score::{PartialFile, refuse_same_file, remove_if_there};

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
    /// Files by their names.
    pub(crate) fn plain() -> Self {
        Self { format: None, split: None, config_name: None, missing_columns: MissingArg::Refuse }
    }

    /// Whether nothing was said.
    pub(crate) fn is_plain(&self) -> bool {
        self.format.is_none()
            && self.split.is_none()
            && self.config_name.is_none()
            && self.missing_columns == MissingArg::Refuse
    }

    /// How inputs are opened, with batches of this size.
    pub(crate) fn options(&self, limits: Limits) -> SourceOptions {
        SourceOptions {
            format: self.format.map(FormatArg::format),
            selection: Selection { config: self.config_name.clone(), split: self.split.clone() },
            missing: match self.missing_columns {
                MissingArg::Refuse => MissingColumns::Refuse,
                MissingArg::Null => MissingColumns::Null,
            },
            limits,
            ..SourceOptions::default()
        }
    }

    /// Opens the inputs, none of which may be among the outputs.
    pub(crate) fn open(&self, inputs: &[String], outputs: &[PathBuf]) -> Result<Dataset, CliError> {
        let dataset = Dataset::open(inputs, &self.options(Limits::default()))?;
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

/// An output that is being written, and the file of rows that could not be used.
pub(crate) struct DatasetOutput {
    name: String,
    overwrite: bool,
    sink: Sink,
    rejects: Option<PartialFile>,
    n_rejected: u64,
}

/// An output that is whole.
#[derive(Debug)]
pub(crate) struct Finished {
    /// As it was named.
    pub(crate) name: String,
    /// Its files and rows.
    pub(crate) written: Written,
    /// Rows that could not be used.
    pub(crate) rejected: u64,
    /// Where they are; nowhere for a stream.
    pub(crate) rejects: Option<PathBuf>,
}

/// Whether an output is a file with a name, and no stream or device.
pub(crate) fn is_file(output: &str) -> bool {
    output != "-" && std::fs::metadata(output).map_or(true, |metadata| metadata.is_file())
}

impl DatasetOutput {
    /// Begins an output.
    pub(crate) fn create(
        name: &str,
        schema: &SchemaRef,
        options: &SinkOptions,
    ) -> Result<Self, CliError> {
        Ok(Self {
            name: name.to_owned(),
            overwrite: options.overwrite,
            sink: Sink::create(name, schema, options)?,
            rejects: None,
            n_rejected: 0,
        })
    }

    /// Appends rows.
    pub(crate) fn rows(&mut self, batch: &RecordBatch) -> Result<(), CliError> {
        Ok(self.sink.write(batch)?)
    }

    /// Keeps a row that cannot be used, with the reason.
    pub(crate) fn reject(&mut self, reject: &Reject) -> Result<(), CliError> {
        self.n_rejected += 1;
        if !is_file(&self.name) {
            let note = format!("{}:{}: {}\n", reject.file, reject.row, reject.reason);
            // Standard error that cannot be written to leaves nobody to be told.
            let _ = std::io::stderr().write_all(note.as_bytes());
            return Ok(());
        }
        let file = match self.rejects.take() {
            Some(file) => file,
            None => PartialFile::create(&beside(Path::new(&self.name), ".rejects.jsonl"))?,
        };
        let mut line = serde_json::to_vec(reject).expect("a reject serialises");
        line.push(b'\n');
        self.rejects.insert(file).write(&line)
    }

    /// Ends the output and gives its files their names.
    pub(crate) fn finish(self) -> Result<Finished, CliError> {
        let path = beside(Path::new(&self.name), ".rejects.jsonl");
        let written = self.sink.finish()?;
        let mut rejects = None;
        if let Some(file) = self.rejects {
            file.commit(false)?;
            rejects = Some(path);
        } else if is_file(&self.name) && self.overwrite {
            // What an earlier run rejected is of an output that is gone.
            remove_if_there(&path)?;
        }
        Ok(Finished { name: self.name, written, rejected: self.n_rejected, rejects })
    }
}

/// What a manifest says of a run beside its files.
pub(crate) struct Account {
    /// The command.
    pub(crate) command: &'static str,
    /// Every option that bears on the output.
    pub(crate) options: Value,
    /// What became of the rows.
    pub(crate) counts: Value,
    /// When the run began.
    pub(crate) started: Instant,
}

impl Finished {
    /// Writes the manifest beside an output that is a file. Reads the inputs once more for their
    /// digests.
    pub(crate) fn account(&self, dataset: &Dataset, account: Account) -> Result<(), CliError> {
        if !is_file(&self.name) {
            return Ok(());
        }
        let manifest = Manifest {
            manifest: 1,
            program: concat!("tribunal ", env!("CARGO_PKG_VERSION")).to_owned(),
            command: account.command.to_owned(),
            inputs: dataset.digests()?,
            options: account.options,
            counts: account.counts,
            outputs: OutputFile::of(&self.written.files),
            time: Time::now(account.started.elapsed()),
        };
        manifest.write(Path::new(&self.name))?;
        Ok(())
    }

    /// Where the output is and how long it took, as lines for people.
    pub(crate) fn text(&self, started: Instant) -> String {
        let rejected = if self.rejected > 0 {
            let place = self.rejects.as_ref().map_or_else(String::new, |path| {
                format!("; they are in {}, with the reasons", path.display())
            });
            let rejected = crate::tally::grouped(self.rejected);
            format!("failed: {rejected} rows could not be used{place}\n")
        } else {
            String::new()
        };
        let seconds = started.elapsed().as_secs_f64();
        match self.written.files.as_slice() {
            [] => format!("{rejected}done in {seconds:.2} s\n"),
            [(path, _)] => format!("{rejected}wrote {} in {seconds:.2} s\n", path.display()),
            files => format!(
                "{rejected}wrote {} files as {} in {seconds:.2} s\n",
                files.len(),
                self.name
            ),
        }
    }
}
