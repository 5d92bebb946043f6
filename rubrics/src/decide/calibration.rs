//! From what a model says to how often it is right.
//!
//! A calibration is fitted elsewhere, on answers that are known, and only applied here. Every one
//! of them is monotone: it never changes which of two answers is the likelier.
//!
//! - Temperature: `softmax(z / T)` (Guo et al., On Calibration of Modern Neural Networks, 2017).
//! - Platt: `1 / (1 + exp(-(a m + b)))` of the margin `m` (Platt, Probabilistic Outputs for Support
//!   Vector Machines, 1999). Platt writes `1 / (1 + exp(A f + B))`; here `a = -A` and `b = -B`, so
//!   that `a = 1`, `b = 0` changes nothing.
//! - Isotonic: a rising line through points (Zadrozny and Elkan, Transforming Classifier Scores
//!   into Accurate Multiclass Probability Estimates, 2002). Theirs is a step function; between two
//!   points we go straight, and beyond the first and the last the value stays.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;

/// What is done to the answers of a model, by kind of question.
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

/// A map from the margin `m = log p(Yes) - log p(No)` to a probability of Yes.
#[derive(Debug, Clone, PartialEq)]
pub enum Calibration {
    /// `m / T`.
    Temperature(Temperature),
    /// `a m + b`.
    Platt {
        /// Above 0.
        a: f64,
        /// Any finite number.
        b: f64,
    },
    /// A rising line through points (probability said, probability meant).
    Isotonic {
        /// First numbers rise, second numbers do not fall, all in [0, 1].
        points: Vec<[f64; 2]>,
    },
}

/// A finite number above 0 that log-probabilities are divided by.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Temperature(f64);

impl Temperature {
    /// A temperature, if it is finite and above 0.
    pub fn new(value: f64) -> Option<Self> {
        (value.is_finite() && value > 0.0).then_some(Self(value))
    }

    /// The number.
    pub fn value(self) -> f64 {
        self.0
    }
}

impl Calibration {
    /// The probability of Yes for a margin.
    pub fn apply(&self, margin: f64) -> f64 {
        match self {
            Self::Temperature(t) => sigmoid(margin / t.0),
            Self::Platt { a, b } => sigmoid(a * margin + b),
            Self::Isotonic { points } => interpolate(points, sigmoid(margin)),
        }
    }
}

/// `1 / (1 + exp(-x))`, without overflow.
pub(crate) fn sigmoid(x: f64) -> f64 {
    if x >= 0.0 {
        1.0 / (1.0 + (-x).exp())
    } else {
        let e = x.exp();
        e / (1.0 + e)
    }
}

fn interpolate(points: &[[f64; 2]], x: f64) -> f64 {
    let after = points.partition_point(|point| point[0] <= x);
    match (
        after.checked_sub(1).map(|before| points[before]),
        points.get(after),
    ) {
        (None, Some(first)) => first[1],
        (Some(last), None) => last[1],
        (Some([x0, y0]), Some([x1, y1])) => {
            let share = (x - x0) / (x1 - x0);
            // A weighted mean of neighbours stays between them, and with them between 0 and 1.
            (y0 * (1.0 - share) + y1 * share).clamp(y0, *y1)
        }
        (None, None) => x,
    }
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
struct File {
    name: Option<String>,
    predicate: Option<Map>,
    choice: Option<Scale>,
    score: Option<Scale>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Map {
    Temperature(f64),
    Platt(Line),
    Isotonic(Vec<[f64; 2]>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    a: f64,
    b: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Scale {
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
        let text = std::fs::read_to_string(path).map_err(|source| CalibrationError::Io {
            path: path.to_owned(),
            source,
        })?;
        Self::parse(path, &text)
    }

    /// Reads the text of a file; `path` is for the name and for errors.
    ///
    /// # Errors
    /// [`CalibrationError::Syntax`] and [`CalibrationError::Value`].
    pub fn parse(path: &Path, text: &str) -> Result<Self, CalibrationError> {
        let file: File = serde_json::from_str(text).map_err(|error| CalibrationError::Syntax {
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
        let scale = |field: &str, scale: Option<Scale>| {
            let Some(Scale { temperature }) = scale else {
                return Ok(None);
            };
            value(field, temperature_fault(temperature))?;
            Ok(Temperature::new(temperature))
        };
        let predicate = match file.predicate {
            None => None,
            Some(Map::Temperature(t)) => {
                value("predicate.temperature", temperature_fault(t))?;
                Temperature::new(t).map(Calibration::Temperature)
            }
            Some(Map::Platt(Line { a, b })) => {
                value("predicate.platt.a", slope_fault(a))?;
                Some(Calibration::Platt { a, b })
            }
            Some(Map::Isotonic(points)) => {
                value("predicate.isotonic", points_fault(&points))?;
                Some(Calibration::Isotonic { points })
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

/// JSON has no infinities, so a number that was read is finite.
fn temperature_fault(t: f64) -> Option<String> {
    (t <= 0.0).then(|| format!("{t} is not above 0"))
}

fn slope_fault(a: f64) -> Option<String> {
    (a <= 0.0)
        .then(|| format!("{a} is not above 0: the likelier answer would become the less likely"))
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
    Some(format!(
        "point {} does not rise from the one before",
        at + 1
    ))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

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
        check(
            r#"{"predicate": {"platt": {"a": 1, "b": 0, "c": 1}}}"#,
            "`c`",
        );
        check(r#"{"choice": {"temperature": 0}}"#, "choice.temperature: 0");
        check(r#"{"score": {"temperature": -1}}"#, "score.temperature: -1");
        check(
            r#"{"predicate": {"platt": {"a": -1, "b": 0}}}"#,
            "predicate.platt.a: -1",
        );
        check(
            r#"{"predicate": {"isotonic": [[0, 0]]}}"#,
            "predicate.isotonic: 1 points",
        );
        check(
            r#"{"predicate": {"isotonic": [[0, 0], [0.5, 2]]}}"#,
            "point 1 is not within",
        );
        check(
            r#"{"predicate": {"isotonic": [[0, 0], [0.5, 0.5], [0.6, 0.4]]}}"#,
            "point 2 does not rise",
        );
        let missing = Calibrations::from_file(Path::new("no/such/file.json"));
        let missing = missing.expect_err("it is not there").to_string();
        assert!(missing.starts_with("no/such/file.json: "), "{missing}");
    }

    fn any() -> impl Strategy<Value = Calibration> {
        let number = || -3_i32..=3;
        let grid = || proptest::collection::btree_map(0_u32..=8, 0_u32..=8, 2..6);
        let isotonic = |cells: std::collections::BTreeMap<u32, u32>| {
            let mut seconds: Vec<u32> = cells.values().copied().collect();
            seconds.sort_unstable();
            let point = |(x, y): (&u32, u32)| [f64::from(*x) / 8.0, f64::from(y) / 8.0];
            Calibration::Isotonic {
                points: cells.keys().zip(seconds).map(point).collect(),
            }
        };
        prop_oneof![
            (1_u32..=5).prop_map(|t| {
                let t = Temperature::new(f64::from(t) / 2.0).expect("above 0");
                Calibration::Temperature(t)
            }),
            (1_u32..=4, number()).prop_map(|(a, b)| Calibration::Platt {
                a: f64::from(a),
                b: f64::from(b)
            }),
            grid().prop_map(isotonic),
        ]
    }

    proptest! {
        #[test]
        fn every_calibration_is_monotone_and_a_probability(
            calibration in any(), low in -40_i32..=40, step in 0_i32..=20,
        ) {
            let low = f64::from(low) / 4.0;
            let (p, q) = (calibration.apply(low), calibration.apply(low + f64::from(step) / 4.0));
            prop_assert!((0.0..=1.0).contains(&p) && (0.0..=1.0).contains(&q));
            prop_assert!(p <= q + 1e-15, "{p} > {q}");
        }
    }

    #[test]
    fn the_neutral_ones_change_nothing() {
        let neutral = [
            Calibration::Platt { a: 1.0, b: 0.0 },
            Calibration::Temperature(Temperature(1.0)),
            Calibration::Isotonic {
                points: vec![[0.0, 0.0], [1.0, 1.0]],
            },
        ];
        for calibration in neutral {
            for margin in [-800.0, -3.0, 0.0, 0.25, 9.0, 800.0] {
                let change = calibration.apply(margin) - sigmoid(margin);
                assert!(change.abs() < 1e-15, "{calibration:?} at {margin}");
            }
        }
    }
}
