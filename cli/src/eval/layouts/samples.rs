//! Samples of solutions with known outcomes.

use curation::evaluation::{Report, Sample, Sampling, best_of_n};
use datasets::json_rows::Row;
use openapi::{Content, ScoreInput};

use super::{Layout, only};
use crate::eval::answer::Answer;
use crate::eval::fields::Fields;

/// Best of n: problem and outcome of each row that has an answer.
#[derive(Debug)]
pub(super) struct BestOfN {
    counts: Vec<usize>,
    rows: Vec<Option<(String, bool)>>,
}

impl BestOfN {
    pub(super) fn new(counts: &[usize]) -> Self {
        let mut counts = counts.to_vec();
        counts.sort_unstable();
        counts.dedup();
        Self { counts, rows: Vec::new() }
    }
}

/// Whether a row says that its sample came to no answer. One without such a column has come to one.
fn is_unanswered(row: &Row) -> bool {
    let answers = ["answer", "given_answer"];
    let mut found = answers.iter().filter_map(|name| row.get(*name)).peekable();
    found.peek().is_some() && found.all(serde_json::Value::is_null)
}

fn response(fields: Fields<'_>) -> Result<String, String> {
    for name in ["response", "solution"] {
        if fields.optional(name).is_some() {
            return fields.text(name).map(str::to_owned);
        }
    }
    Ok(fields.texts("steps")?.join("\n\n"))
}

impl Layout for BestOfN {
    fn read(&mut self, row: &Row, _source: &str) -> Result<Vec<ScoreInput>, String> {
        let fields = Fields::of(row);
        let problem = fields.text("problem")?.to_owned();
        let is_right = fields.flag("is_correct")?;
        if is_unanswered(row) {
            self.rows.push(None);
            return Ok(Vec::new());
        }
        let input = ScoreInput {
            prompt: Some(Content::Text(problem.clone())),
            response: Some(Content::Text(response(fields)?)),
            ..ScoreInput::default()
        };
        self.rows.push(Some((problem, is_right)));
        Ok(vec![input])
    }

    fn report(&self, answers: &[Vec<Answer>], sampling: Sampling) -> Report {
        let rows = self.rows.iter().zip(answers);
        let rows = rows.filter_map(|(row, answers)| Some((row.as_ref()?, answers)));
        let sample = |((problem, is_right), answers): (&(String, bool), &Vec<Answer>)| Sample {
            problem: problem.clone(),
            is_right: *is_right,
            score: only(answers).whole,
        };
        best_of_n(&rows.map(sample).collect::<Vec<_>>(), &self.counts, sampling)
    }

    fn notes(&self) -> Vec<String> {
        let n = self.rows.iter().filter(|row| row.is_none()).count();
        if n == 0 {
            return Vec::new();
        }
        vec![format!("{n} samples came to no answer, and are not chosen among")]
    }
}
