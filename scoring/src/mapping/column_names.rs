//! Columns as options and files name them.

use std::path::Path;

use serde::Deserialize;

use crate::error::RunError;

/// Columns that the caller names, by field.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ColumnNames {
    /// Column of the prompt: text or messages. A dot leads into an object: `a.b`
    pub prompt: Option<String>,
    /// Column of the response: text or messages
    pub response: Option<String>,
    /// Column of a list of responses, which are one group; given several
    /// times, each column holds one response of the group
    #[serde(default)]
    pub responses: Vec<String>,
    /// Column of the gold answer: text, number, or list of texts
    pub reference: Option<String>,
    /// Column of the response's steps
    pub steps: Option<String>,
    /// Column of a list of principles
    pub principles: Option<String>,
    /// Column of supporting texts
    pub context: Option<String>,
    /// Column of the row's id, which rejected rows are listed with
    pub id: Option<String>,
}

impl ColumnNames {
    /// Adds the names of `file` for fields that have none.
    pub(super) fn or(self, file: Self) -> Result<Self, RunError> {
        if file.response.is_some() && !file.responses.is_empty() {
            let message = "--columns: 'response' and 'responses' cannot both be named";
            return Err(RunError::Usage(message.to_owned()));
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

    /// Reads the names of a TOML file.
    pub(super) fn read(path: &Path) -> Result<Self, RunError> {
        let text = std::fs::read_to_string(path).map_err(RunError::named(path))?;
        let named = toml::from_str(&text);
        named.map_err(|error| RunError::Usage(format!("{}: {error}", path.display())))
    }
}
