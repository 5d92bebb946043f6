//! Best of n over sampled solutions with known outcomes.

use crate::evaluation::metrics::{BenchmarkReport, BestOfNSample, IntervalOptions, best_of_n};
use datasets::json_rows::JsonRow;
use openapi::{Content, ScoreInput};

use super::BenchmarkRows;
use super::fields::RowFields;
use crate::evaluation::input_scores::InputScores;

/// Rows of the best-of-n evaluation.
#[derive(Debug)]
pub(super) struct BestOfN {
    counts: Vec<usize>,
    rows: Vec<SampleRow>,
}

/// A sampled solution.
#[derive(Debug)]
struct SampleRow {
    problem: String,
    is_right: bool,
    is_answered: bool,
}

impl BestOfN {
    pub(super) fn new(counts: &[usize]) -> Self {
        let mut counts = counts.to_vec();
        counts.sort_unstable();
        counts.dedup();
        Self { counts, rows: Vec::new() }
    }
}

/// Whether the answer columns of a row are all null; a row without such a column has an answer.
fn is_unanswered(row: &JsonRow) -> bool {
    let columns = ["answer", "given_answer"];
    let mut found = columns.iter().filter_map(|name| row.get(*name)).peekable();
    found.peek().is_some() && found.all(serde_json::Value::is_null)
}

fn response(fields: RowFields<'_>) -> Result<String, String> {
    for name in ["response", "solution"] {
        if fields.optional(name).is_some() {
            return fields.text(name).map(str::to_owned);
        }
    }
    Ok(fields.texts("steps")?.join("\n\n"))
}

impl BenchmarkRows for BestOfN {
    fn add(&mut self, row: &JsonRow, _source: &str) -> Result<Vec<ScoreInput>, String> {
        let fields = RowFields::new(row);
        let problem = fields.text("problem")?.to_owned();
        let is_right = fields.flag("is_correct")?;
        if is_unanswered(row) {
            self.rows.push(SampleRow { problem, is_right: false, is_answered: false });
            return Ok(Vec::new());
        }
        let input = ScoreInput {
            prompt: Some(Content::Text(problem.clone())),
            response: Some(Content::Text(response(fields)?)),
            ..ScoreInput::default()
        };
        self.rows.push(SampleRow { problem, is_right, is_answered: true });
        Ok(vec![input])
    }

    fn report(&self, scores: &[Vec<InputScores>], intervals: IntervalOptions) -> BenchmarkReport {
        let sample = |(row, scores): (&SampleRow, &Vec<InputScores>)| BestOfNSample {
            problem: row.problem.clone(),
            is_right: row.is_right,
            score: scores.first().and_then(|scores| scores.response),
            is_answered: row.is_answered,
        };
        let samples: Vec<BestOfNSample> = self.rows.iter().zip(scores).map(sample).collect();
        best_of_n(&samples, &self.counts, intervals)
    }

    fn notes(&self) -> Vec<String> {
        let n = self.rows.iter().filter(|row| !row.is_answered).count();
        if n == 0 {
            return Vec::new();
        }
        vec![format!("{n} samples came to no answer, and are not chosen among")]
    }
}
