//! Kinds that ask models, by the words that configurations use.

use std::path::Path;

use crate::Scorer;
use crate::calibration::ScorerCalibration;
use crate::config::{Section, nearest};
use crate::kinds::{
    Kind, critic, grounded, judge, principles, process, reward, rubric, tool, validate,
};
use crate::method::Common;
use crate::registry::Registry;

/// Reads the options of a kind; what is wrong with them becomes problems.
pub(super) type Reader = fn(&Section<'_, '_>, &Scope<'_>) -> Option<Box<dyn Kind>>;

const KINDS: &[(&str, Reader)] = &[
    (critic::WORD, critic::read),
    (grounded::WORD, grounded::read),
    (judge::WORD, judge::read),
    (principles::WORD, principles::read),
    (process::WORD, process::read),
    (reward::WORD, reward::read),
    (rubric::WORD, rubric::read),
    (tool::WORD, tool::read),
    (validate::WORD, validate::read),
];

/// What a scorer's options may refer to.
pub(crate) struct Scope<'r> {
    /// The scorers that come before it in the file, and the built-in ones.
    pub(crate) registry: &'r Registry,
    /// The names of the configured models and adapters.
    pub(crate) models: &'r [String],
    /// The folder that files are relative to; without it none is read.
    pub(crate) base: Option<&'r Path>,
}

impl Scope<'_> {
    /// The model or adapter that `key` names. It may be left out where there is only one.
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
        let hint = nearest(&name, self.models.iter().map(String::as_str))
            .map(|near| format!("; did you mean '{near}'?"))
            .unwrap_or_default();
        let message = format!("no model or adapter is called '{name}'{hint}");
        section.problem(key, message);
        None
    }
}

/// The words of all kinds here.
pub(super) fn words() -> impl Iterator<Item = &'static str> {
    KINDS.iter().map(|(word, _)| *word)
}

/// How to read the options of a kind, where it is one of these.
pub(super) fn reader(kind: &str) -> Option<Reader> {
    let found = KINDS.iter().find(|(word, _)| *word == kind);
    found.map(|(_, read)| *read)
}

/// The scorer that `section` describes.
pub(super) fn build(
    section: &Section<'_, '_>,
    name: String,
    read: Reader,
    scope: &Scope<'_>,
) -> Option<Scorer> {
    let default = Common::default();
    let common = Common {
        min_content: section
            .integer("min_content", 0..1 << 20)
            .and_then(|count| usize::try_from(count).ok())
            .unwrap_or(default.min_content),
        calibration: calibration(section, scope),
    };
    let kind = read(section, scope);
    if let Some(kind) = &kind
        && section.has("calibration")
        && !kind.calibrates()
    {
        let message = "the verdicts of this kind have no raw value that a calibration could read";
        section.problem("calibration", message);
    }
    kind.map(|kind| Scorer::model(name, kind, common))
}

/// The file that `calibration` names. Where no file is read, its name is all that is looked at.
fn calibration(section: &Section<'_, '_>, scope: &Scope<'_>) -> Option<ScorerCalibration> {
    let path = section.text("calibration")?;
    let file = scope.base?.join(path);
    let text = match std::fs::read_to_string(&file) {
        Ok(text) => text,
        Err(error) => {
            let message = format!("'{}' cannot be read: {error}", file.display());
            section.problem("calibration", message);
            return None;
        }
    };
    match ScorerCalibration::from_json(&text) {
        Ok(calibration) => Some(calibration),
        Err(error) => {
            section.problem("calibration", format!("{}: {error}", file.display()));
            None
        }
    }
}
