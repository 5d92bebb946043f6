//! Where scored rows and rejected rows go.

use std::io::Write;
use std::path::{Path, PathBuf};

use super::input::{Input, STREAM, refuse_same_file};
use super::journal::{Counts, Header};
use super::output::{Output, Paths, StreamOutput};
use super::partial::{PartialFile, beside};
use super::rejects::RejectForm;
use super::resume::{self, Existing, Opened};
use crate::error::CliError;

/// What to do about files and columns that are there already.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct FileArgs {
    #[command(flatten)]
    pub(crate) existing: Existing,
    /// Replace scores of the same names that rows have already
    #[arg(long)]
    pub(crate) overwrite_scores: bool,
    /// Where rejected rows go [default: OUT.rejects.jsonl; notes on standard error for a stream]
    #[arg(long, value_name = "FILE")]
    pub(crate) rejects: Option<PathBuf>,
}

/// Where scored rows and rejected rows go.
pub(crate) struct Target {
    place: Place,
    /// As it was named; a file has a default.
    rejects: Option<PathBuf>,
}

enum Place {
    File(Paths),
    Stdout,
    /// A pipe or a device, which cannot be renamed into place.
    Device(PathBuf),
}

impl Target {
    /// Resolves the output's name.
    pub(crate) fn resolve(output: &str, rejects: Option<PathBuf>) -> Result<Self, CliError> {
        let path = Path::new(output);
        let place = match std::fs::metadata(path) {
            _ if output == STREAM => Place::Stdout,
            Ok(metadata) if metadata.is_dir() => {
                return Err(CliError::Usage(format!("{output} is a folder; name a file in it")));
            }
            Ok(metadata) if !metadata.is_file() => Place::Device(path.to_owned()),
            // A path that cannot be looked at will say why when it is opened.
            Ok(_) | Err(_) => Place::File(Paths::beside(path, rejects.as_deref())),
        };
        Ok(Self { place, rejects })
    }

    /// Refuses outputs that would be written over the input or over each other.
    pub(crate) fn refuse_clash(&self, input: &str) -> Result<(), CliError> {
        let named: Vec<PathBuf> = match &self.place {
            Place::File(paths) if paths.rejects == paths.output => {
                let message = "--rejects and --output name the same file";
                return Err(CliError::Usage(message.to_owned()));
            }
            Place::File(paths) => {
                let all = [&paths.output, &paths.rejects].into_iter();
                let partials = all.clone().map(|path| beside(path, ".partial"));
                all.cloned().chain(partials).chain([paths.journal.clone()]).collect()
            }
            Place::Stdout | Place::Device(_) => self.rejects.iter().cloned().collect(),
        };
        refuse_same_file(input, &named)
    }

    /// Opens the output, where an earlier run stopped if there was one.
    pub(crate) fn open(
        &self,
        header: &Header,
        existing: Existing,
        input: &mut Input,
    ) -> Result<Opened<Output>, CliError> {
        let (name, sink): (PathBuf, Box<dyn Write>) = match &self.place {
            Place::File(paths) => {
                let opened = resume::open(paths.clone(), header, existing, input)?;
                return Ok(opened.map(Output::File));
            }
            Place::Stdout => (PathBuf::from("standard output"), Box::new(std::io::stdout())),
            Place::Device(path) => {
                let opened = std::fs::OpenOptions::new().write(true).open(path);
                (path.clone(), Box::new(opened.map_err(CliError::file("write", path))?))
            }
        };
        let counts = Counts::new(header.scorers.len());
        let rejects = self.rejects.as_deref().map(PartialFile::create).transpose()?;
        Ok(Opened::Begun(Output::Stream(StreamOutput { name, sink, rejects, counts })))
    }

    /// Whether rows go to standard output.
    pub(crate) fn is_stdout(&self) -> bool {
        matches!(self.place, Place::Stdout)
    }

    /// The output, if it is a file.
    pub(crate) fn output(&self) -> Option<&Path> {
        match &self.place {
            Place::File(paths) => Some(&paths.output),
            Place::Stdout | Place::Device(_) => None,
        }
    }

    /// The file of rejected rows, if there is one.
    pub(crate) fn rejects(&self) -> Option<&Path> {
        match &self.place {
            Place::File(paths) => Some(&paths.rejects),
            Place::Stdout | Place::Device(_) => self.rejects.as_deref(),
        }
    }

    /// The file of rejected rows as it was named.
    pub(crate) fn named_rejects(&self) -> Option<&Path> {
        self.rejects.as_deref()
    }

    /// How rejected rows are shown.
    pub(crate) fn reject_form(&self) -> RejectForm {
        if self.rejects().is_some() { RejectForm::Json } else { RejectForm::Note }
    }
}
