//! Benchmark files as inputs for scorers.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use datasets::{DatasetError, json_rows};
use openapi::ScoreInput;

use super::benchmarks::{Benchmark, BenchmarkRows};

/// Number of bad rows that an error lists; the rest are counted.
const MAX_LISTED: usize = 10;

/// Inputs of a benchmark, row by row.
#[derive(Debug, Default)]
pub struct BenchmarkInputs {
    inputs: Vec<ScoreInput>,
    /// Number of inputs of each row.
    per_row: Vec<usize>,
}

impl BenchmarkInputs {
    /// Reads the rows of all files, at most `limit`, into `rows`.
    ///
    /// # Errors
    /// [`DatasetError::Usage`] for files that cannot be read or hold no rows, and for rows that do not
    /// have the layout, which are listed: metrics of the other rows would be those of other data.
    pub fn read(
        benchmark: Benchmark,
        rows: &mut dyn BenchmarkRows,
        files: &[PathBuf],
        limit: Option<u64>,
    ) -> datasets::Result<Self> {
        let mut all = Self::default();
        let (mut bad, mut n_bad) = (String::new(), 0_usize);
        let mut left = limit.unwrap_or(u64::MAX);
        for file in files {
            if left == 0 {
                break;
            }
            let stem = stem(file);
            json_rows::each_row(file, &mut |number, row| {
                match rows.add(&row, &stem) {
                    Ok(inputs) => all.add(inputs),
                    Err(reason) => {
                        n_bad += 1;
                        if n_bad <= MAX_LISTED {
                            write!(bad, "\n  {}:{number}: {reason}", file.display())
                                .expect("writing to a string cannot fail");
                        }
                    }
                }
                left -= 1;
                left > 0
            })
            .map_err(|error| DatasetError::Usage(error.to_string()))?;
        }
        if n_bad > 0 {
            let first = if n_bad > MAX_LISTED {
                format!("; the first {MAX_LISTED}")
            } else {
                String::new()
            };
            return Err(DatasetError::Usage(format!(
                "{n_bad} rows are not of the layout of {}, whose rows have {}{first}:{bad}",
                benchmark.title(),
                benchmark.columns()
            )));
        }
        if all.per_row.is_empty() {
            return Err(DatasetError::Usage("the files hold no rows".to_owned()));
        }
        Ok(all)
    }

    fn add(&mut self, inputs: Vec<ScoreInput>) {
        self.per_row.push(inputs.len());
        self.inputs.extend(inputs);
    }

    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.per_row.len()
    }

    /// The inputs of all rows, one after the other.
    pub fn inputs(&self) -> &[ScoreInput] {
        &self.inputs
    }

    /// Groups one value per input by the rows that the inputs come from.
    pub fn by_row<T>(&self, values: Vec<T>) -> Vec<Vec<T>> {
        let mut values = values.into_iter();
        self.per_row.iter().map(|n| values.by_ref().take(*n).collect()).collect()
    }
}

/// File name up to its first dot, which names the subset of some benchmarks.
fn stem(file: &Path) -> String {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    name.split('.').next().unwrap_or_default().to_owned()
}
