//! Names that the options of a scorer may refer to.

use std::path::Path;

use crate::config::{Section, nearest};

/// Names of models and scorers that the options of a scorer may refer to, and the folder of its
/// files.
pub(crate) struct Names<'r> {
    /// The scorers that come before it in the file, and the built-in ones, in order of name.
    pub(crate) scorers: &'r [String],
    /// The configured models and adapters.
    pub(crate) models: &'r [String],
    /// The folder that file paths are relative to; `None` if no file may be read.
    pub(crate) base: Option<&'r Path>,
}

impl Names<'_> {
    /// Whether a scorer has this name.
    pub(crate) fn has_scorer(&self, name: &str) -> bool {
        self.scorers.iter().any(|known| known == name)
    }

    /// The scorer name most similar to `given`, as `; did you mean '…'?`; empty if none is similar.
    pub(crate) fn scorer_hint(&self, given: &str) -> String {
        hint(given, self.scorers)
    }

    /// The model or adapter at `key`, which may be left out if there is only one. `None` if it is
    /// missing or unknown, which becomes a problem of the section.
    pub(crate) fn model(&self, section: &Section<'_, '_>, key: &'static str) -> Option<String> {
        let Some(name) = section.text(key) else {
            if section.has(key) {
                return None;
            }
            if let [only] = self.models {
                return Some(only.clone());
            }
            let message = match self.models {
                [] => "missing: this kind asks a model, and the file has no [[model]]".to_owned(),
                models => format!("missing; the models are {}", models.join(", ")),
            };
            section.problem(key, message);
            return None;
        };
        if self.models.contains(&name) {
            return Some(name);
        }
        let hint = hint(&name, self.models);
        section.problem(key, format!("no model or adapter is called '{name}'{hint}"));
        None
    }
}

fn hint(given: &str, known: &[String]) -> String {
    let near = nearest(given, known.iter().map(String::as_str));
    near.map(|near| format!("; did you mean '{near}'?")).unwrap_or_default()
}
