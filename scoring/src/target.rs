//! Names of the files that scored rows and rejected rows go to.

use std::path::{Path, PathBuf};

use datasets::sink::beside;

use crate::error::RunError;
use crate::files::{STREAM, refuse_same_file};
use crate::rejects::RejectForm;

/// Name of the column that holds the verdicts.
pub(crate) const SCORES_COLUMN: &str = "scores";

/// Where scored rows and rejected rows go.
pub(crate) struct OutputTarget {
    pub(crate) destination: Destination,
    /// The name that the caller gave.
    rejects: Option<PathBuf>,
}

/// The kinds of outputs.
pub(crate) enum Destination {
    File(Paths),
    Stdout,
    /// A pipe or a device, which cannot be renamed into place.
    Device(PathBuf),
}

/// The files of a run whose output is a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Paths {
    /// The output.
    pub(crate) output: PathBuf,
    /// The rejected rows.
    pub(crate) rejects: PathBuf,
    /// The journal.
    pub(crate) journal: PathBuf,
}

impl Paths {
    /// The files beside `output`.
    pub(crate) fn beside(output: &Path, rejects: Option<&Path>) -> Self {
        let default = || beside(output, ".rejects.jsonl");
        Self {
            output: output.to_owned(),
            rejects: rejects.map_or_else(default, Path::to_owned),
            journal: beside(output, ".journal"),
        }
    }
}

impl OutputTarget {
    /// Resolves the output's name.
    pub(crate) fn resolve(output: &str, rejects: Option<PathBuf>) -> Result<Self, RunError> {
        let path = Path::new(output);
        let destination = match std::fs::metadata(path) {
            _ if output == STREAM => Destination::Stdout,
            Ok(metadata) if metadata.is_dir() => {
                return Err(RunError::Usage(format!("{output} is a folder; name a file in it")));
            }
            Ok(metadata) if !metadata.is_file() => Destination::Device(path.to_owned()),
            // A path that cannot be inspected gives its error when it is opened.
            Ok(_) | Err(_) => Destination::File(Paths::beside(path, rejects.as_deref())),
        };
        Ok(Self { destination, rejects })
    }

    /// Refuses outputs that would be written over the input or over each other.
    pub(crate) fn refuse_clash(&self, input: &str) -> Result<(), RunError> {
        let named: Vec<PathBuf> = match &self.destination {
            Destination::File(paths) if paths.rejects == paths.output => {
                let message = "--rejects and --output name the same file";
                return Err(RunError::Usage(message.to_owned()));
            }
            Destination::File(paths) => {
                let all = [&paths.output, &paths.rejects].into_iter();
                let partials = all.clone().map(|path| beside(path, ".partial"));
                all.cloned().chain(partials).chain([paths.journal.clone()]).collect()
            }
            Destination::Stdout | Destination::Device(_) => self.rejects.iter().cloned().collect(),
        };
        refuse_same_file(input, &named)
    }

    /// Whether rows go to standard output.
    pub(crate) fn is_stdout(&self) -> bool {
        matches!(self.destination, Destination::Stdout)
    }

    /// The output file; `None` for a stream.
    pub(crate) fn output(&self) -> Option<&Path> {
        match &self.destination {
            Destination::File(paths) => Some(&paths.output),
            Destination::Stdout | Destination::Device(_) => None,
        }
    }

    /// The file of rejected rows; `None` prints them.
    pub(crate) fn rejects(&self) -> Option<&Path> {
        match &self.destination {
            Destination::File(paths) => Some(&paths.rejects),
            Destination::Stdout | Destination::Device(_) => self.rejects.as_deref(),
        }
    }

    /// The file of rejected rows that the caller named; `None` for the default.
    pub(crate) fn named_rejects(&self) -> Option<&Path> {
        self.rejects.as_deref()
    }

    /// How rejected rows are shown.
    pub(crate) fn reject_form(&self) -> RejectForm {
        if self.rejects().is_some() { RejectForm::Json } else { RejectForm::Note }
    }
}
