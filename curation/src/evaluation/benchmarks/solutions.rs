//! Benchmarks of solution steps.

use std::collections::HashSet;

use crate::evaluation::metrics::{
    BenchmarkReport, FirstErrorFinding, IntervalOptions, Prm800kRow, PrmBenchRow, ProcessBenchRow,
    prm_bench, prm800k, process_bench,
};
use datasets::json_rows::JsonRow;
use openapi::ScoreInput;

use super::fields::RowFields;
use super::{BenchmarkRows, NeutralLabel, only, steps_input};
use crate::evaluation::input_scores::InputScores;

/// Checks that there are steps and none is blank.
fn steps(texts: Vec<String>, name: &str) -> Result<Vec<String>, String> {
    match texts.iter().position(|step| step.trim().is_empty()) {
        None if texts.is_empty() => Err(format!("'{name}' is empty")),
        None => Ok(texts),
        Some(index) => Err(format!("'{name}[{index}]' has nothing in it")),
    }
}

/// Rows of `ProcessBench`.
#[derive(Debug)]
pub(super) struct ProcessBench {
    threshold: f64,
    /// Subset, number of steps and first wrong step of each row.
    rows: Vec<(String, usize, Option<usize>)>,
}

impl ProcessBench {
    pub(super) fn new(threshold: f64) -> Self {
        Self { threshold, rows: Vec::new() }
    }
}

/// Extracts the subset from an id such as `gsm8k-17`.
fn subset(id: &str) -> Option<&str> {
    let (subset, number) = id.rsplit_once('-')?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    (is_number && !subset.is_empty()).then_some(subset)
}

impl BenchmarkRows for ProcessBench {
    fn add(&mut self, row: &JsonRow, source: &str) -> Result<Vec<ScoreInput>, String> {
        let fields = RowFields::new(row);
        let problem = fields.text("problem")?;
        let steps = steps(fields.texts("steps")?, "steps")?;
        let label = match fields.integer("label")? {
            -1 => None,
            label => {
                let index = usize::try_from(label).ok().filter(|at| *at < steps.len());
                Some(index.ok_or_else(|| {
                    format!("'label' is {label}, and neither -1 nor one of {} steps", steps.len())
                })?)
            }
        };
        let id = fields.optional("id").and_then(|id| id.as_str());
        let subset = id.and_then(subset).unwrap_or(source).to_owned();
        self.rows.push((subset, steps.len(), label));
        Ok(vec![steps_input(problem, steps)])
    }

    fn report(&self, scores: &[Vec<InputScores>], intervals: IntervalOptions) -> BenchmarkReport {
        let found =
            |((subset, n, label), scores): (&(String, usize, Option<usize>), &Vec<InputScores>)| {
                ProcessBenchRow {
                    subset: subset.clone(),
                    label: *label,
                    found: FirstErrorFinding::below(only(scores).steps(*n), self.threshold),
                }
            };
        let rows: Vec<ProcessBenchRow> = self.rows.iter().zip(scores).map(found).collect();
        process_bench(&rows, intervals)
    }
}

/// Rows of `PRMBench`.
#[derive(Debug)]
pub(super) struct PrmBench {
    threshold: f64,
    /// Class and step labels of each row; `None` for a copy of an earlier row.
    rows: Vec<Option<(String, Vec<bool>)>>,
    seen: HashSet<(String, String)>,
    n_beyond: usize,
}

impl PrmBench {
    pub(super) fn new(threshold: f64) -> Self {
        Self { threshold, rows: Vec::new(), seen: HashSet::new(), n_beyond: 0 }
    }

    /// Converts error steps, counted from 1, to labels; numbers beyond the last step are ignored, as
    /// in the benchmark.
    fn labels(&mut self, n_steps: usize, error_steps: &[i64]) -> Result<Vec<bool>, String> {
        let mut is_right = vec![true; n_steps];
        for number in error_steps {
            let index = usize::try_from(*number).ok().and_then(|n| n.checked_sub(1));
            let index = index.ok_or_else(|| {
                format!("'error_steps' holds {number}, and steps are counted from 1")
            })?;
            match is_right.get_mut(index) {
                Some(step) => *step = false,
                None => self.n_beyond += 1,
            }
        }
        Ok(is_right)
    }
}

impl BenchmarkRows for PrmBench {
    fn add(&mut self, row: &JsonRow, _source: &str) -> Result<Vec<ScoreInput>, String> {
        let fields = RowFields::new(row);
        let question = fields.text("modified_question")?;
        let steps = steps(fields.texts("modified_process")?, "modified_process")?;
        let error_steps = fields.integers("error_steps")?;
        let class = fields.text("classification")?.to_owned();
        let id = fields.key("idx")?;
        if !self.seen.insert((class.clone(), id)) {
            self.rows.push(None);
            return Ok(Vec::new());
        }
        let is_right = self.labels(steps.len(), &error_steps)?;
        self.rows.push(Some((class, is_right)));
        Ok(vec![steps_input(question, steps)])
    }

    fn report(&self, scores: &[Vec<InputScores>], intervals: IntervalOptions) -> BenchmarkReport {
        let said = |score: &Option<f64>| score.is_none_or(|score| score > self.threshold);
        let labelled = self.rows.iter().zip(scores).filter_map(|(row, scores)| {
            let (class, is_right) = row.as_ref()?;
            let steps = only(scores).steps(is_right.len());
            Some(PrmBenchRow {
                class: class.clone(),
                is_right: is_right.clone(),
                said_right: steps.map(|steps| steps.iter().map(said).collect()),
            })
        });
        prm_bench(&labelled.collect::<Vec<_>>(), intervals)
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let copies = self.rows.iter().filter(|row| row.is_none()).count();
        if copies > 0 {
            notes.push(format!(
                "{copies} rows repeat class and idx of an earlier one, and count once"
            ));
        }
        if self.n_beyond > 0 {
            let n = self.n_beyond;
            notes.push(format!("{n} error steps lie beyond the last step, and count nowhere"));
        }
        notes
    }
}

/// Rows of `PRM800K`.
#[derive(Debug)]
pub(super) struct Prm800k {
    threshold: f64,
    neutral: NeutralLabel,
    /// Step labels of each row; `None` for an unlabelled step.
    rows: Vec<Vec<Option<bool>>>,
}

impl Prm800k {
    pub(super) fn new(threshold: f64, neutral: NeutralLabel) -> Self {
        Self { threshold, neutral, rows: Vec::new() }
    }

    fn label(&self, rating: i64) -> Result<Option<bool>, String> {
        match (rating, self.neutral) {
            (1, _) | (0, NeutralLabel::Right) => Ok(Some(true)),
            (-1, _) | (0, NeutralLabel::Wrong) => Ok(Some(false)),
            (0, NeutralLabel::Skip) => Ok(None),
            (other, _) => Err(format!("a rating is {other}, and not -1, 0 or 1")),
        }
    }

    /// Extracts the step that the solution continued with and its label: the chosen completion, else
    /// the human one, which is right, else the first one, which ended the labelling.
    fn step(&self, step: RowFields<'_>) -> Result<(String, Option<bool>), String> {
        let completions = || -> Result<RowFields<'_>, String> {
            let at = match step.optional("chosen_completion") {
                Some(_) => step.integer("chosen_completion")?,
                None => 0,
            };
            let list = step.list("completions")?;
            let index = usize::try_from(at).ok();
            let completion = index.and_then(|index| list.get(index));
            let completion = completion.and_then(|value| value.as_object());
            completion
                .map(RowFields::new)
                .ok_or_else(|| format!("there is no completion {at} among {}", list.len()))
        };
        let written = step.optional("human_completion");
        if step.optional("chosen_completion").is_none()
            && let Some(written) = written
        {
            let text = written.as_str().or_else(|| written.get("text")?.as_str());
            let text = text.ok_or_else(|| {
                step.wrong("human_completion", written, "a text, or an object with one")
            })?;
            return Ok((text.to_owned(), Some(true)));
        }
        let completion = completions()?;
        let label = match completion.optional("rating") {
            None => None,
            Some(_) => self.label(completion.integer("rating")?)?,
        };
        Ok((completion.text("text")?.to_owned(), label))
    }
}

impl BenchmarkRows for Prm800k {
    fn add(&mut self, row: &JsonRow, _source: &str) -> Result<Vec<ScoreInput>, String> {
        let fields = RowFields::new(row);
        let question = fields.inside("question", "question.")?;
        let problem = question.text("problem")?;
        let label = fields.inside("label", "label.")?;
        let (mut texts, mut labels) = (Vec::new(), Vec::new());
        for (index, step) in label.list("steps")?.iter().enumerate() {
            let within = |reason: String| format!("label.steps[{index}]: {reason}");
            let step = step.as_object().ok_or_else(|| within("no object".to_owned()))?;
            let (text, label) = self.step(RowFields::new(step)).map_err(within)?;
            texts.push(text);
            labels.push(label);
        }
        let texts = steps(texts, "label.steps")?;
        self.rows.push(labels);
        Ok(vec![steps_input(problem, texts)])
    }

    fn report(&self, scores: &[Vec<InputScores>], intervals: IntervalOptions) -> BenchmarkReport {
        let solution = |(labels, scores): (&Vec<Option<bool>>, &Vec<InputScores>)| Prm800kRow {
            is_right: labels.clone(),
            scores: only(scores).steps(labels.len()).map(<[_]>::to_vec),
            threshold: self.threshold,
        };
        let rows: Vec<Prm800kRow> = self.rows.iter().zip(scores).map(solution).collect();
        prm800k(&rows, intervals)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subset_is_the_id_without_its_number() {
        for (id, expected) in [
            ("gsm8k-0", Some("gsm8k")),
            ("omni-math-17", Some("omni-math")),
            ("gsm8k", None),
            ("gsm8k-", None),
            ("-3", None),
            ("a-b", None),
        ] {
            assert_eq!(subset(id), expected, "{id}");
        }
    }
}
