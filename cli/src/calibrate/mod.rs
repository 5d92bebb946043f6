//! `tribunal calibrate`: fits a map from raw values to probabilities, which a scorer's configuration
//! names.

mod plot;
mod report;
mod rows;

use std::path::{Path, PathBuf};

use base::file::write_atomic;
use rubrics::calibration::{
    Calibration, FitError, LabelledValue, Method, Prediction, ScorerCalibration, cross_fit,
    figures, fit,
};

use scoring::files::refuse_same_file;

use crate::error::{CliError, CommandOutcome};
use report::FitReport;
use rows::{CalibrationRows, Columns};

const EXAMPLES: &str = r#"Examples:
  tribunal calibrate labelled.jsonl -o calibration.json
  tribunal calibrate scored.jsonl -o calibration.json --scorer helpful --method isotonic
  tribunal calibrate scored.jsonl -o calibration.json --scorer helpful --plot reliability.svg --json

A row is {"raw": 1.7, "label": 1}, or a row that `tribunal score` has written, with its own column
`label`: 1, 0, true or false. Rows whose status is not `ok`, and verdicts without a raw value, are
counted and left out.

Three rows of figures: the raw values through the logistic function (uncalibrated), the map on the
rows that it was fitted on (in sample), and maps on rows that they were not fitted on
(cross-validated). Trust the last.

Exit code: 0 the file was written; 2 the rows cannot be calibrated, or wrong use."#;

/// Fewest rows to fit a map on.
const LEAST_ROWS: usize = 20;

/// Fits a calibration on labelled rows.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CalibrateArgs {
    /// JSONL file of raw values and labels; `-` for standard input
    #[arg(value_name = "IN")]
    input: String,
    /// Calibration file to write
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Take the raw values from the verdicts of this scorer, and not from the column `raw`
    #[arg(long, value_name = "NAME")]
    scorer: Option<String>,
    /// Family of maps
    #[arg(long, value_enum, default_value = "platt")]
    method: MethodArg,
    #[command(flatten)]
    rest: RestArgs,
}

/// Rarely used options.
#[derive(Debug, clap::Args)]
struct RestArgs {
    /// Column of the truth
    #[arg(long, value_name = "COLUMN", default_value = "label")]
    label: String,
    /// Name of the calibration [default: the name of the output file]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Folds of the cross-validation
    #[arg(long, value_name = "N", default_value = "5", value_parser = clap::value_parser!(u16).range(2..=100))]
    folds: u16,
    /// Draw the reliability of the probabilities
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,
    /// Print the figures as one line of JSON after the table
    #[arg(long)]
    json: bool,
}

/// A family of maps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum MethodArg {
    /// One number; the raw value 0 stays at 0.5
    Temperature,
    /// Two numbers: a slope and a shift
    Platt,
    /// Any rising shape; for a thousand rows and more
    Isotonic,
}

impl MethodArg {
    fn method(self) -> Method {
        match self {
            Self::Temperature => Method::Temperature,
            Self::Platt => Method::Platt,
            Self::Isotonic => Method::Isotonic,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Temperature => "temperature",
            Self::Platt => "platt",
            Self::Isotonic => "isotonic",
        }
    }
}

/// Runs the command.
pub(crate) fn run(args: &CalibrateArgs) -> Result<CommandOutcome, CliError> {
    let outputs: Vec<PathBuf> =
        [Some(&args.output), args.rest.plot.as_ref()].into_iter().flatten().cloned().collect();
    refuse_same_file(&args.input, &outputs)?;
    let columns = Columns { scorer: args.scorer.as_deref(), label: &args.rest.label };
    let rows = rows::read(&args.input, columns)?;
    let (map, cross) = fitted(args, &rows)?;
    let calibration = ScorerCalibration { name: calibration_name(args), map };
    let report = report(args, &rows, &calibration, cross);
    if let Some(path) = &args.rest.plot {
        let svg = plot::reliability(&report.curves(&rows.samples, &calibration.map))?;
        write(path, svg.as_bytes())?;
    }
    let about = serde_json::to_value(&report).expect("a report serialises");
    write(&args.output, calibration.to_json(about).as_bytes())?;
    crate::print(&report.table(&calibration, &args.output))?;
    if args.rest.json {
        crate::print(&report.json(&calibration))?;
    }
    Ok(CommandOutcome::Done)
}

/// Fits the map, and predicts each row by a map that was fitted without the row's fold.
fn fitted(
    args: &CalibrateArgs,
    rows: &CalibrationRows,
) -> Result<(Calibration, Result<Vec<f64>, FitError>), CliError> {
    let refused = |what: String| CliError::Usage(format!("{}: {what}", args.input));
    let n_rows = rows.samples.len();
    if n_rows < LEAST_ROWS {
        let left_out = rows.left_out_text();
        return Err(refused(format!(
            "{n_rows} rows with a raw value and a label; at least {LEAST_ROWS} are needed{left_out}"
        )));
    }
    let method = args.method.method();
    let map = fit(&rows.samples, method).map_err(|error| refused(error.to_string()))?;
    let cross = cross_fit(&rows.samples, method, usize::from(args.rest.folds));
    Ok((map, cross))
}

fn report<'r>(
    args: &'r CalibrateArgs,
    rows: &'r CalibrationRows,
    calibration: &ScorerCalibration,
    cross: Result<Vec<f64>, FitError>,
) -> FitReport<'r> {
    let neutral = Calibration::Platt { a: 1.0, b: 0.0 };
    let (cross_validated, cross_problem) = match cross {
        Ok(said) => (figures(&predictions(&rows.samples, &said)), None),
        Err(error) => (None, Some(error.to_string())),
    };
    FitReport {
        scorer: args.scorer.as_deref(),
        method: args.method.word(),
        rows: rows.samples.len(),
        right: rows.samples.iter().filter(|sample| sample.right).count(),
        left_out: &rows.left_out,
        folds: args.rest.folds,
        uncalibrated: figures(&mapped(&rows.samples, &neutral)),
        in_sample: figures(&mapped(&rows.samples, &calibration.map)),
        cross_validated,
        cross_problem,
    }
}

/// Applies a map to samples.
fn mapped(samples: &[LabelledValue], map: &Calibration) -> Vec<Prediction> {
    let said: Vec<f64> = samples.iter().map(|sample| map.apply(sample.raw)).collect();
    predictions(samples, &said)
}

fn predictions(samples: &[LabelledValue], said: &[f64]) -> Vec<Prediction> {
    let prediction = |(sample, probability): (&LabelledValue, &f64)| Prediction {
        probability: *probability,
        right: sample.right,
    };
    samples.iter().zip(said).map(prediction).collect()
}

fn calibration_name(args: &CalibrateArgs) -> String {
    let stem = || args.output.file_stem().unwrap_or_default();
    let own = args.rest.name.clone();
    own.unwrap_or_else(|| stem().to_string_lossy().into_owned())
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), CliError> {
    write_atomic(path, bytes).map_err(CliError::file("write", path))
}
