//! Benchmarks of steps.

use std::collections::HashSet;

use curation::evaluation::{
    Finding, FirstError, Flawed, LabelledSolution, Report, Sampling, prm_bench, prm800k,
    process_bench,
};
use datasets::json_rows::Row;
use openapi::ScoreInput;

use super::{Layout, NeutralArg, about_steps, only};
use crate::eval::answer::Answer;
use crate::eval::fields::Fields;

/// Texts of steps that ask something.
fn steps(texts: Vec<String>, name: &str) -> Result<Vec<String>, String> {
    match texts.iter().position(|step| step.trim().is_empty()) {
        None if texts.is_empty() => Err(format!("'{name}' is empty")),
        None => Ok(texts),
        Some(index) => Err(format!("'{name}[{index}]' has nothing in it")),
    }
}

/// `ProcessBench`: subset, number of steps and label of each row.
#[derive(Debug)]
pub(super) struct ProcessBench {
    threshold: f64,
    rows: Vec<(String, usize, Option<usize>)>,
}

impl ProcessBench {
    pub(super) fn new(threshold: f64) -> Self {
        Self { threshold, rows: Vec::new() }
    }
}

/// The subset that an id such as `gsm8k-17` names.
fn subset(id: &str) -> Option<&str> {
    let (subset, number) = id.rsplit_once('-')?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    (is_number && !subset.is_empty()).then_some(subset)
}

impl Layout for ProcessBench {
    fn read(&mut self, row: &Row, source: &str) -> Result<Vec<ScoreInput>, String> {
        let fields = Fields::of(row);
        let problem = fields.text("problem")?;
        let steps = steps(fields.texts("steps")?, "steps")?;
        let label = match fields.whole("label")? {
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
        Ok(vec![about_steps(problem, steps)])
    }

    fn report(&self, answers: &[Vec<Answer>], sampling: Sampling) -> Report {
        let found =
            |((subset, n, label), answers): (&(String, usize, Option<usize>), &Vec<Answer>)| {
                FirstError {
                    subset: subset.clone(),
                    label: *label,
                    found: Finding::below(only(answers).steps(*n), self.threshold),
                }
            };
        let rows: Vec<FirstError> = self.rows.iter().zip(answers).map(found).collect();
        process_bench(&rows, sampling)
    }
}

/// `PRMBench`: class and labels of each row that is not a copy of an earlier one.
#[derive(Debug)]
pub(super) struct PrmBench {
    threshold: f64,
    rows: Vec<Option<(String, Vec<bool>)>>,
    seen: HashSet<(String, String)>,
    n_beyond: usize,
}

impl PrmBench {
    pub(super) fn new(threshold: f64) -> Self {
        Self { threshold, rows: Vec::new(), seen: HashSet::new(), n_beyond: 0 }
    }

    /// Whether each step is right. The benchmark counts steps from 1, and passes over numbers beyond
    /// the last.
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

impl Layout for PrmBench {
    fn read(&mut self, row: &Row, _source: &str) -> Result<Vec<ScoreInput>, String> {
        let fields = Fields::of(row);
        let question = fields.text("modified_question")?;
        let steps = steps(fields.texts("modified_process")?, "modified_process")?;
        let error_steps = fields.wholes("error_steps")?;
        let class = fields.text("classification")?.to_owned();
        let id = fields.key("idx")?;
        if !self.seen.insert((class.clone(), id)) {
            self.rows.push(None);
            return Ok(Vec::new());
        }
        let is_right = self.labels(steps.len(), &error_steps)?;
        self.rows.push(Some((class, is_right)));
        Ok(vec![about_steps(question, steps)])
    }

    fn report(&self, answers: &[Vec<Answer>], sampling: Sampling) -> Report {
        let said = |score: &Option<f64>| score.is_none_or(|score| score > self.threshold);
        let known = self.rows.iter().zip(answers);
        let known = known.filter_map(|(row, answers)| Some((row.as_ref()?, answers)));
        let flawed = known.map(|((class, is_right), answers)| {
            let scores = only(answers).steps(is_right.len());
            Flawed {
                class: class.clone(),
                is_right: is_right.clone(),
                said_right: scores.map(|scores| scores.iter().map(said).collect()),
            }
        });
        prm_bench(&flawed.collect::<Vec<_>>(), sampling)
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

/// `PRM800K`: labels of each row.
#[derive(Debug)]
pub(super) struct Prm800k {
    threshold: f64,
    neutral: NeutralArg,
    rows: Vec<Vec<Option<bool>>>,
}

impl Prm800k {
    pub(super) fn new(threshold: f64, neutral: NeutralArg) -> Self {
        Self { threshold, neutral, rows: Vec::new() }
    }

    fn label(&self, rating: i64) -> Result<Option<bool>, String> {
        match (rating, self.neutral) {
            (1, _) | (0, NeutralArg::Right) => Ok(Some(true)),
            (-1, _) | (0, NeutralArg::Wrong) => Ok(Some(false)),
            (0, NeutralArg::Skip) => Ok(None),
            (other, _) => Err(format!("a rating is {other}, and not -1, 0 or 1")),
        }
    }

    /// The step that the solution went on with, and its label: the chosen completion, else what a
    /// person wrote, which is right, else the first completion, which ended the labelling.
    fn step(&self, step: Fields<'_>) -> Result<(String, Option<bool>), String> {
        let completions = || -> Result<Fields<'_>, String> {
            let at = match step.optional("chosen_completion") {
                Some(_) => step.whole("chosen_completion")?,
                None => 0,
            };
            let list = step.list("completions")?;
            let index = usize::try_from(at).ok();
            let completion = index.and_then(|index| list.get(index));
            let completion = completion.and_then(|value| value.as_object());
            completion
                .map(Fields::of)
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
            Some(_) => self.label(completion.whole("rating")?)?,
        };
        Ok((completion.text("text")?.to_owned(), label))
    }
}

impl Layout for Prm800k {
    fn read(&mut self, row: &Row, _source: &str) -> Result<Vec<ScoreInput>, String> {
        let fields = Fields::of(row);
        let question = fields.inside("question", "question.")?;
        let problem = question.text("problem")?;
        let label = fields.inside("label", "label.")?;
        let (mut texts, mut labels) = (Vec::new(), Vec::new());
        for (index, step) in label.list("steps")?.iter().enumerate() {
            let within = |reason: String| format!("label.steps[{index}]: {reason}");
            let step = step.as_object().ok_or_else(|| within("no object".to_owned()))?;
            let (text, label) = self.step(Fields::of(step)).map_err(within)?;
            texts.push(text);
            labels.push(label);
        }
        let texts = steps(texts, "label.steps")?;
        self.rows.push(labels);
        Ok(vec![about_steps(problem, texts)])
    }

    fn report(&self, answers: &[Vec<Answer>], sampling: Sampling) -> Report {
        let solution = |(labels, answers): (&Vec<Option<bool>>, &Vec<Answer>)| LabelledSolution {
            is_right: labels.clone(),
            scores: only(answers).steps(labels.len()).map(<[_]>::to_vec),
            threshold: self.threshold,
        };
        let rows: Vec<LabelledSolution> = self.rows.iter().zip(answers).map(solution).collect();
        prm800k(&rows, sampling)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_name_their_subset() {
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
