//! Maps as JSON.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::map::{Calibration, Temperature};

/// A map in JSON: `{"temperature": 1.7}`, `{"platt": {"a": 0.8, "b": -0.1}}` or `{"isotonic":
/// [[0.1, 0.2], [0.9, 0.8]]}`.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum WrittenMap {
    Temperature(f64),
    Platt(LinearMap),
    Isotonic(Vec<[f64; 2]>),
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LinearMap {
    a: f64,
    b: f64,
}

/// An invalid number of a map.
#[derive(Debug)]
pub(crate) struct MapFault {
    /// Field of the map.
    pub(crate) field: &'static str,
    /// What is wrong.
    pub(crate) what: String,
}

impl WrittenMap {
    /// Returns the map if its numbers are valid.
    pub(crate) fn read(self) -> Result<Calibration, MapFault> {
        let (field, fault) = match &self {
            Self::Temperature(t) => ("temperature", temperature_fault(*t)),
            Self::Platt(LinearMap { a, b }) => match slope_fault(*a) {
                Some(what) => ("platt.a", Some(what)),
                None => ("platt.b", finite_fault(*b)),
            },
            Self::Isotonic(points) => ("isotonic", points_fault(points)),
        };
        if let Some(what) = fault {
            return Err(MapFault { field, what });
        }
        Ok(match self {
            Self::Temperature(t) => Calibration::Temperature(Temperature(t)),
            Self::Platt(LinearMap { a, b }) => Calibration::Platt { a, b },
            Self::Isotonic(points) => Calibration::Isotonic { points },
        })
    }
}

impl From<&Calibration> for WrittenMap {
    fn from(map: &Calibration) -> Self {
        match map {
            Calibration::Temperature(t) => Self::Temperature(t.value()),
            Calibration::Platt { a, b } => Self::Platt(LinearMap { a: *a, b: *b }),
            Calibration::Isotonic { points } => Self::Isotonic(points.clone()),
        }
    }
}

/// Returns why `t` is not a temperature; `None` if it is one.
pub(crate) fn temperature_fault(t: f64) -> Option<String> {
    (!t.is_finite() || t <= 0.0).then(|| format!("{t} is not above 0"))
}

fn slope_fault(a: f64) -> Option<String> {
    (!a.is_finite() || a <= 0.0)
        .then(|| format!("{a} is not above 0: the likelier answer would become the less likely"))
}

fn finite_fault(b: f64) -> Option<String> {
    (!b.is_finite()).then(|| format!("{b} is not finite"))
}

fn points_fault(points: &[[f64; 2]]) -> Option<String> {
    if points.len() < 2 {
        return Some(format!("{} points; at least 2 are needed", points.len()));
    }
    let outside = |point: &[f64; 2]| point.iter().any(|x| !(0.0..=1.0).contains(x));
    if let Some(at) = points.iter().position(outside) {
        return Some(format!("point {at} is not within 0 and 1"));
    }
    let falls = |pair: &[[f64; 2]]| pair[1][0] <= pair[0][0] || pair[1][1] < pair[0][1];
    let at = points.windows(2).position(falls)?;
    Some(format!("point {} does not rise from the one before", at + 1))
}

/// The calibration of one scorer: its map from raw value to score.
#[derive(Debug, Clone, PartialEq)]
pub struct ScorerCalibration {
    /// Its name in verdicts and reports.
    pub name: String,
    /// From raw value to score.
    pub map: Calibration,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MapFile {
    name: String,
    map: WrittenMap,
    /// How it was fitted, for people; not read.
    #[serde(default, rename = "about")]
    _about: Option<Value>,
}

#[derive(Serialize)]
struct MapFileContent<'c> {
    name: &'c str,
    map: WrittenMap,
    #[serde(skip_serializing_if = "Value::is_null")]
    about: Value,
}

/// A scorer's calibration that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WrittenError {
    /// Invalid JSON, or not the fields of a calibration.
    #[error("line {line}, column {column}: {what}")]
    Syntax {
        /// From 1.
        line: usize,
        /// From 1.
        column: usize,
        /// What is wrong.
        what: String,
    },
    /// An invalid value.
    #[error("{field}: {what}")]
    Value {
        /// The field, such as `map.platt.a`.
        field: String,
        /// What is wrong.
        what: String,
    },
}

impl ScorerCalibration {
    /// Parses a calibration file: `{"name": "…", "map": {…}}`, and optionally `about`, which
    /// describes the fit and is ignored.
    ///
    /// # Errors
    /// [`WrittenError`], without the name of the file.
    pub fn from_json(text: &str) -> Result<Self, WrittenError> {
        let file: MapFile = serde_json::from_str(text).map_err(|error| WrittenError::Syntax {
            line: error.line(),
            column: error.column(),
            what: error.to_string(),
        })?;
        if file.name.trim().is_empty() {
            return Err(WrittenError::Value {
                field: "name".to_owned(),
                what: "a calibration has a name".to_owned(),
            });
        }
        let map = file.map.read().map_err(|fault| WrittenError::Value {
            field: format!("map.{}", fault.field),
            what: fault.what,
        })?;
        Ok(Self { name: file.name, map })
    }

    /// Serialises to the text of a file; `about` describes the fit, or is null.
    pub fn to_json(&self, about: Value) -> String {
        let written = MapFileContent { name: &self.name, map: WrittenMap::from(&self.map), about };
        let text = serde_json::to_string_pretty(&written);
        text.expect("a map is made of finite numbers") + "\n"
    }
}
