//! What a calibration is worth, as a table, as JSON and as curves.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use rubrics::calibration::{
    Bin, Binning, Calibration, Figures, LabelledValue, ScorerCalibration, bins,
};
use serde::Serialize;

use super::mapped;

/// Bins of a curve.
const BINS: usize = 10;

/// The fitted calibration and its measures.
#[derive(Debug, Serialize)]
pub(super) struct FitReport<'r> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) scorer: Option<&'r str>,
    pub(super) method: &'static str,
    /// Rows that count.
    pub(super) rows: usize,
    /// Those of them that are right.
    pub(super) right: usize,
    pub(super) left_out: &'r BTreeMap<String, u64>,
    pub(super) folds: u16,
    pub(super) uncalibrated: Option<Figures>,
    pub(super) in_sample: Option<Figures>,
    pub(super) cross_validated: Option<Figures>,
    /// Why there are no cross-validated figures.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cross_problem: Option<String>,
}

/// A line of the plot.
#[derive(Debug)]
pub(super) struct Curve {
    pub(super) name: &'static str,
    pub(super) bins: Vec<Bin>,
}

impl FitReport<'_> {
    /// For people.
    pub(super) fn table(&self, calibration: &ScorerCalibration, output: &Path) -> String {
        let mut text = String::new();
        self.write_table(&mut text, calibration, output).expect("writing to a string cannot fail");
        text
    }

    fn write_table(
        &self,
        text: &mut String,
        calibration: &ScorerCalibration,
        output: &Path,
    ) -> std::fmt::Result {
        write!(text, "{:16}", "")?;
        for head in ["ECE", "ECE (mass)", "Brier", "NLL", "AUROC"] {
            write!(text, " {head:>11}")?;
        }
        writeln!(text)?;
        for (name, figures) in [
            ("uncalibrated", &self.uncalibrated),
            ("in sample", &self.in_sample),
            ("cross-validated", &self.cross_validated),
        ] {
            let Some(it) = figures else { continue };
            write!(text, "{name:16}")?;
            for value in [it.ece, it.ece_mass, it.brier, it.nll, it.auroc] {
                write!(text, " {value:>11.4}")?;
            }
            writeln!(text)?;
        }
        if let Some(problem) = &self.cross_problem {
            writeln!(text, "no cross-validated figures: {problem}")?;
        }
        let (rows, right) = (self.rows, self.right);
        let left_out: u64 = self.left_out.values().sum();
        writeln!(text, "{rows} rows, {right} of them right, {left_out} left out")?;
        for (status, count) in self.left_out {
            writeln!(text, "  {status}: {count}")?;
        }
        writeln!(text, "{}", described(&calibration.map))?;
        writeln!(text, "wrote {}", output.display())
    }

    /// One line for programs: the report and the calibration.
    pub(super) fn json(&self, calibration: &ScorerCalibration) -> String {
        let about = serde_json::to_value(self).expect("a report serialises");
        let written: serde_json::Value = serde_json::from_str(&calibration.to_json(about))
            .expect("a calibration is written as JSON");
        written.to_string() + "\n"
    }

    /// The plotted data: raw values, and calibrated ones of the same rows.
    pub(super) fn curves(&self, samples: &[LabelledValue], map: &Calibration) -> [Curve; 2] {
        let neutral = Calibration::Platt { a: 1.0, b: 0.0 };
        let binned = |map: &Calibration| bins(&mapped(samples, map), Binning::EqualMass(BINS));
        [
            Curve { name: "uncalibrated", bins: binned(&neutral) },
            Curve { name: self.method, bins: binned(map) },
        ]
    }
}

fn described(map: &Calibration) -> String {
    match map {
        Calibration::Temperature(t) => format!("temperature {:.4}", t.value()),
        Calibration::Platt { a, b } => format!("platt a {a:.4}, b {b:.4}"),
        Calibration::Isotonic { points } => format!("isotonic with {} points", points.len()),
    }
}
