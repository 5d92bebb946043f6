//! Files to questions, and questions to answers.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use datasets::json_rows;
use openapi::ScoreInput;

use super::answer::{Answer, ValueArg};
use super::layouts::{Benchmark, Layout};
use crate::error::CliError;
use crate::progress::Progress;
use crate::score::Judging;
use crate::tally::Tally;

/// Bad rows that are listed; the rest are counted.
const LISTED: usize = 10;

/// Inputs that are judged together.
const BATCH: usize = 256;

/// What is asked of a scorer, row by row.
#[derive(Debug, Default)]
pub(super) struct Questions {
    inputs: Vec<ScoreInput>,
    /// Inputs of each row.
    per_row: Vec<usize>,
}

/// What one scorer answered.
#[derive(Debug, Default)]
pub(super) struct Asked {
    /// Of each row, an answer for each of its inputs.
    pub(super) answers: Vec<Vec<Answer>>,
    /// Results by status.
    pub(super) tally: Tally,
    /// Inputs that could not be asked at all, such as those above a server's limits.
    pub(super) refused: u64,
}

impl Questions {
    /// Reads all rows. Rows that are not of the layout are an error that names them: a metric of the
    /// rest would be one of other data.
    pub(super) fn read(
        benchmark: Benchmark,
        layout: &mut dyn Layout,
        files: &[PathBuf],
        limit: Option<u64>,
    ) -> Result<Self, CliError> {
        let mut questions = Self::default();
        let (mut bad, mut n_bad) = (String::new(), 0_usize);
        let mut left = limit.unwrap_or(u64::MAX);
        for file in files {
            if left == 0 {
                break;
            }
            let stem = stem(file);
            json_rows::each_row(file, &mut |number, row| {
                match layout.read(&row, &stem) {
                    Ok(inputs) => questions.add(inputs),
                    Err(reason) => {
                        n_bad += 1;
                        if n_bad <= LISTED {
                            write!(bad, "\n  {}:{number}: {reason}", file.display())
                                .expect("writing to a string cannot fail");
                        }
                    }
                }
                left -= 1;
                left > 0
            })
            .map_err(|error| CliError::Usage(error.to_string()))?;
        }
        if n_bad > 0 {
            let first =
                if n_bad > LISTED { format!("; the first {LISTED}") } else { String::new() };
            return Err(CliError::Usage(format!(
                "{n_bad} rows are not of the layout of {}, whose rows have {}{first}:{bad}",
                benchmark.title(),
                benchmark.columns()
            )));
        }
        if questions.per_row.is_empty() {
            return Err(CliError::Usage("the files hold no rows".to_owned()));
        }
        Ok(questions)
    }

    fn add(&mut self, inputs: Vec<ScoreInput>) {
        self.per_row.push(inputs.len());
        self.inputs.extend(inputs);
    }

    /// Rows.
    pub(super) fn n_rows(&self) -> usize {
        self.per_row.len()
    }
}

/// The name of a file without its endings: what tells the subsets of some benchmarks apart.
fn stem(file: &Path) -> String {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    name.split('.').next().unwrap_or_default().to_owned()
}

/// Asks every question of every scorer; one entry for each scorer.
///
/// # Errors
/// When the run cannot go on.
pub(super) fn ask(
    questions: &Questions,
    judging: &dyn Judging,
    value: ValueArg,
) -> Result<Vec<Asked>, CliError> {
    let n_scorers = judging.judges().len();
    let mut flat: Vec<Vec<Answer>> = vec![Vec::new(); n_scorers];
    let mut asked: Vec<Asked> = (0..n_scorers).map(|_| Asked::default()).collect();
    let mut progress = Progress::start("questions", questions.inputs.len() as u64);
    for batch in questions.inputs.chunks(BATCH) {
        for judged in judging.judge(batch.to_vec())? {
            let results = judged.map_or_else(
                |_| vec![None; n_scorers],
                |results| results.into_iter().map(Some).collect(),
            );
            for (scorer, result) in results.into_iter().enumerate() {
                let Some(result) = result else {
                    asked[scorer].refused += 1;
                    flat[scorer].push(Answer::default());
                    continue;
                };
                asked[scorer].tally.add(&result);
                flat[scorer].push(Answer::of(&result, value));
            }
        }
        progress.advance(batch.len() as u64);
    }
    for (asked, answers) in asked.iter_mut().zip(flat) {
        let mut answers = answers.into_iter();
        let of_row = |n: &usize| answers.by_ref().take(*n).collect();
        asked.answers = questions.per_row.iter().map(of_row).collect();
    }
    Ok(asked)
}
