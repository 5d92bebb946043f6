//! Calibrations of a model's decisions: a file with a map for each kind of question.
//!
//! The maps are [`crate::calibration`]'s. None of them changes which of two answers is the likelier.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;

use crate::calibration::{Calibration, Temperature, WrittenMap, temperature_fault};

/// Calibration maps of a model's answers, by kind of question.
#[derive(Debug, Clone, PartialEq)]
pub struct Calibrations {
    /// The name that replies state.
    pub name: Arc<str>,
    /// For yes or no.
    pub predicate: Option<Calibration>,
    /// For choices.
    pub choice: Option<Temperature>,
    /// For scores.
    pub score: Option<Temperature>,
}

/// A calibration file that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CalibrationError {
    /// It cannot be read.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It is no JSON, or not what a calibration looks like.
    #[error("{}: line {line}, column {column}: {what}", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// From 1.
        column: usize,
        /// What is wrong.
        what: String,
    },
    /// A number that cannot be.
    #[error("{}: {field}: {what}", path.display())]
    Value {
        /// The file.
        path: PathBuf,
        /// The field, such as `predicate.platt.a`.
        field: String,
        /// What is wrong.
        what: String,
    },
}

/// The file as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CalibrationFile {
    name: Option<String>,
    predicate: Option<WrittenMap>,
    choice: Option<TemperatureTable>,
    score: Option<TemperatureTable>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TemperatureTable {
    temperature: f64,
}

impl Calibrations {
    /// A temperature for choices, scores and predicates alike.
    pub fn uniform(name: &str, temperature: Temperature) -> Self {
        Self {
            name: name.into(),
            predicate: Some(Calibration::Temperature(temperature)),
            choice: Some(temperature),
            score: Some(temperature),
        }
    }

    /// Reads a JSON file. Without a `name` in it the file's own name, without its ending, is the
    /// name.
    ///
    /// # Errors
    /// [`CalibrationError`] names the file and the field or the line.
    pub fn from_file(path: &Path) -> Result<Self, CalibrationError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| CalibrationError::Io { path: path.to_owned(), source })?;
        Self::parse(path, &text)
    }

    /// Reads the text of a file; `path` is for the name and for errors.
    ///
    /// # Errors
    /// [`CalibrationError::Syntax`] and [`CalibrationError::Value`].
    pub fn parse(path: &Path, text: &str) -> Result<Self, CalibrationError> {
        let file: CalibrationFile =
            serde_json::from_str(text).map_err(|error| CalibrationError::Syntax {
                path: path.to_owned(),
                line: error.line(),
                column: error.column(),
                what: error.to_string(),
            })?;
        let value = |field: &str, fault: Option<String>| match fault {
            None => Ok(()),
            Some(what) => Err(CalibrationError::Value {
                path: path.to_owned(),
                field: field.to_owned(),
                what,
            }),
        };
        let scale = |field: &str, scale: Option<TemperatureTable>| {
            let Some(TemperatureTable { temperature }) = scale else {
                return Ok(None);
            };
            value(field, temperature_fault(temperature))?;
            Ok(Temperature::new(temperature))
        };
        let predicate = match file.predicate.map(WrittenMap::read) {
            None => None,
            Some(Ok(map)) => Some(map),
            Some(Err(fault)) => {
                value(&format!("predicate.{}", fault.field), Some(fault.what))?;
                None
            }
        };
        let stem = || path.file_stem().unwrap_or_default().to_string_lossy();
        Ok(Self {
            name: file.name.unwrap_or_else(|| stem().into_owned()).into(),
            predicate,
            choice: scale("choice.temperature", file.choice)?,
            score: scale("score.temperature", file.score)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Calibrations, String> {
        Calibrations::parse(Path::new("fit.json"), text).map_err(|error| error.to_string())
    }

    #[test]
    fn files() {
        let read = parse(
            r#"{"predicate": {"platt": {"a": 2.0, "b": -0.5}}, "choice": {"temperature": 1.5}}"#,
        );
        let expected = Calibrations {
            name: "fit".into(),
            predicate: Some(Calibration::Platt { a: 2.0, b: -0.5 }),
            choice: Temperature::new(1.5),
            score: None,
        };
        assert_eq!(read, Ok(expected));
        let read = parse(r#"{"name": "v2", "predicate": {"isotonic": [[0.1, 0.2], [0.9, 0.8]]}}"#);
        let read = read.expect("a good file");
        assert_eq!(&*read.name, "v2");
        assert_eq!((read.choice, read.score), (None, None));
    }

    #[test]
    fn errors_name_file_and_field() {
        let check = |text: &str, expected: &str| {
            let error = parse(text).expect_err("a bad file");
            assert!(error.starts_with("fit.json: "), "{error}");
            assert!(error.contains(expected), "{error}");
        };
        check("{", "line 1, column 1");
        check(r#"{"predicat": {}}"#, "unknown field `predicat`");
        check(r#"{"predicate": {"plat": {"a": 1, "b": 0}}}"#, "`plat`");
        check(r#"{"predicate": {"platt": {"a": 1, "b": 0, "c": 1}}}"#, "`c`");
        check(r#"{"choice": {"temperature": 0}}"#, "choice.temperature: 0");
        check(r#"{"score": {"temperature": -1}}"#, "score.temperature: -1");
        check(r#"{"predicate": {"platt": {"a": -1, "b": 0}}}"#, "predicate.platt.a: -1");
        check(r#"{"predicate": {"isotonic": [[0, 0]]}}"#, "predicate.isotonic: 1 points");
        check(r#"{"predicate": {"isotonic": [[0, 0], [0.5, 2]]}}"#, "point 1 is not within");
        check(
            r#"{"predicate": {"isotonic": [[0, 0], [0.5, 0.5], [0.6, 0.4]]}}"#,
            "point 2 does not rise",
        );
        let missing = Calibrations::from_file(Path::new("no/such/file.json"));
        let missing = missing.expect_err("it is not there").to_string();
        assert!(missing.starts_with("no/such/file.json: "), "{missing}");
    }
}
