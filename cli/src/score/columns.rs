//! Columns as the command line and files name them.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::mapping::Field;
use crate::error::CliError;

/// Which columns hold which fields.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Columns")]
pub(crate) struct MappingArgs {
    #[command(flatten)]
    pub(super) named: Named,
    /// TOML file with the options above it: `response = "model.solution"`; what the command line
    /// names goes first
    #[arg(long, value_name = "FILE")]
    pub(super) columns: Option<PathBuf>,
    /// Do not read this field from the column of its name (repeatable)
    #[arg(long, value_name = "FIELD")]
    pub(super) ignore: Vec<Field>,
    /// Take the final answer out of a reference that is a whole solution, such as one that ends
    /// in `#### 18` or `A: 18`; other references are used as they are
    #[arg(long)]
    pub(super) extract_reference: bool,
}

/// Columns that somebody named.
#[derive(Debug, Default, clap::Args, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Named {
    /// Column of the prompt: text or messages. A dot leads into an object: `a.b` [default: prompt]
    #[arg(long, value_name = "COL")]
    pub(super) prompt: Option<String>,
    /// Column of the response: text or messages [default: response]
    #[arg(long, value_name = "COL", conflicts_with = "responses")]
    pub(super) response: Option<String>,
    /// Column of a list of responses, which are one group [default: responses]; given several
    /// times, each column holds one response of the group
    #[arg(long, value_name = "COL")]
    #[serde(default)]
    pub(super) responses: Vec<String>,
    /// Column of the gold answer: text, number, or list of texts [default: reference]
    #[arg(long, value_name = "COL")]
    pub(super) reference: Option<String>,
    /// Column of the response's steps [default: steps]
    #[arg(long, value_name = "COL")]
    pub(super) steps: Option<String>,
    /// Column of a list of principles [default: principles]
    #[arg(long, value_name = "COL")]
    pub(super) principles: Option<String>,
    /// Column of supporting texts [default: context]
    #[arg(long, value_name = "COL")]
    pub(super) context: Option<String>,
    /// Column of the row's id, which rejected rows are listed with [default: id]
    #[arg(long, value_name = "COL")]
    pub(super) id: Option<String>,
}

impl Named {
    /// These names, and those of `file` for fields that have none.
    pub(super) fn or(self, file: Self) -> Result<Self, CliError> {
        if file.response.is_some() && !file.responses.is_empty() {
            let message = "--columns: 'response' and 'responses' cannot both be named";
            return Err(CliError::Usage(message.to_owned()));
        }
        let says_which = self.response.is_some() || !self.responses.is_empty();
        let (response, responses) = if says_which {
            (self.response, self.responses)
        } else {
            (file.response, file.responses)
        };
        Ok(Self {
            prompt: self.prompt.or(file.prompt),
            response,
            responses,
            reference: self.reference.or(file.reference),
            steps: self.steps.or(file.steps),
            principles: self.principles.or(file.principles),
            context: self.context.or(file.context),
            id: self.id.or(file.id),
        })
    }
}

/// The names in a file.
pub(super) fn columns_file(path: &Path) -> Result<Named, CliError> {
    let text = std::fs::read_to_string(path).map_err(CliError::named(path))?;
    let named = toml::from_str(&text);
    named.map_err(|error| CliError::Usage(format!("{}: {error}", path.display())))
}
