//! Scorers from `[[scorer]]` sections, by kind; pipelines are in [`super::pipelines`].

use std::path::Path;
use std::sync::Arc;

use verifiers::Fuel;

use super::pipelines;
use crate::Scorer;
use crate::calibration::ScorerCalibration;
use crate::config::{Section, nearest};
use crate::domain::Domain;
use crate::kinds::arithmetic::{self, ArithmeticScorer};
use crate::kinds::{
    Names, ScorerKind, answer, code, critic, grounded, judge, lp_program, principles, process,
    reward, rubric, sql, tool, validate, verilog,
};
use crate::model_scorer::CommonOptions;
use crate::scorer::ScorersByName;

/// Reads the options of a kind that calls models; errors become problems of the section.
type KindReader = fn(&Section<'_, '_>, &Names<'_>) -> Option<Box<dyn ScorerKind>>;

/// The kinds that call models.
pub(super) const MODEL_KINDS: &[(&str, KindReader)] = &[
    (critic::NAME, critic::read),
    (grounded::NAME, grounded::read),
    (judge::NAME, judge::read),
    (principles::NAME, principles::read),
    (process::NAME, process::read),
    (reward::NAME, reward::read),
    (rubric::NAME, rubric::options::read),
    (tool::NAME, tool::read),
    (validate::NAME, validate::read),
];

/// The names of all kinds.
pub(super) fn kind_names() -> impl Iterator<Item = &'static str> {
    let answers = answer::options::KINDS.iter().map(|kind| kind.name);
    let models = MODEL_KINDS.iter().map(|(name, _)| *name);
    answers
        .chain([arithmetic::NAME, code::NAME, lp_program::NAME, sql::NAME, verilog::NAME])
        .chain([pipelines::KIND])
        .chain(models)
}

/// Names that the sections of a file may use.
pub(super) struct Scope<'r> {
    /// The scorers that come before in the file, and the built-in ones.
    pub(super) scorers: &'r ScorersByName,
    /// The configured models and adapters.
    pub(super) models: &'r [String],
    /// The folder that file paths are relative to; `None` if no file may be read.
    pub(super) base: Option<&'r Path>,
}

/// Builds the scorer that `section` describes. `None` if something is wrong, which becomes problems
/// of the section.
pub(super) fn build(
    section: &Section<'_, '_>,
    name: String,
    kind: &str,
    scope: &Scope<'_>,
) -> Option<Scorer> {
    if let Some((_, read)) = MODEL_KINDS.iter().find(|(known, _)| *known == kind) {
        return model_scorer(section, name, *read, scope);
    }
    let own = match kind {
        code::NAME => Some(code::read(section)),
        lp_program::NAME => Some(lp_program::read(section)?),
        sql::NAME => Some(sql::read(section, scope.base)),
        verilog::NAME => Some(verilog::read(section)),
        _ => None,
    };
    if let Some(own) = own {
        return Some(Scorer::model(name, own, CommonOptions::default(), Vec::new()));
    }
    let fuel = section.integer("fuel", 1..u64::MAX).unwrap_or(Fuel::DEFAULT);
    if let Some(kind) = answer::options::KINDS.iter().find(|known| known.name == kind) {
        let spec = (kind.read)(section)?;
        return Some(Scorer::answer(name, spec, kind.is_cheap, fuel));
    }
    if kind == arithmetic::NAME {
        return Some(Scorer::arithmetic(name, ArithmeticScorer::read(section, fuel)));
    }
    let hint = nearest(kind, kind_names()).map(|near| format!("; did you mean '{near}'?"));
    section.problem("kind", format!("no kind '{kind}'{}", hint.unwrap_or_default()));
    None
}

fn model_scorer(
    section: &Section<'_, '_>,
    name: String,
    read: KindReader,
    scope: &Scope<'_>,
) -> Option<Scorer> {
    let default = CommonOptions::default();
    let common = CommonOptions {
        domain: Domain::read(section),
        min_content: section
            .integer("min_content", 0..1 << 20)
            .and_then(|count| usize::try_from(count).ok())
            .unwrap_or(default.min_content),
        calibration: calibration(section, scope.base),
    };
    let scorers: Vec<String> = scope.scorers.keys().cloned().collect();
    let names = Names { scorers: &scorers, models: scope.models, base: scope.base };
    let kind = read(section, &names)?;
    if section.has("calibration") && !kind.calibrates() {
        let message = "the verdicts of this kind have no raw value that a calibration could read";
        section.problem("calibration", message);
    }
    let part = |name: &str| scope.scorers.get(name).expect("a kind names known scorers").clone();
    let parts: Vec<Arc<Scorer>> = kind.scorers().into_iter().map(part).collect();
    for part in parts.iter().filter(|part| part.is_pairwise()) {
        let name = part.name();
        let message = format!(
            "the scorer '{name}' compares the responses of a group; here it would judge one"
        );
        section.problem("kind", message);
    }
    Some(Scorer::model(name, kind, common, parts))
}

/// The file at `calibration`; `None` if it cannot be read, or if no file may be read.
fn calibration(section: &Section<'_, '_>, base: Option<&Path>) -> Option<ScorerCalibration> {
    let path = section.text("calibration")?;
    let file = base?.join(path);
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
