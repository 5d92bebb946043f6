//! Files of training rows: JSON Lines, JSON, Parquet, and folders in the layout of Hugging Face.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use datasets::cell::Cell;
use datasets::json_rows::each_text;
use datasets::raw_row::RawRow;
use datasets::source::{Selection, files};
use rubrics::{Message, PRINCIPLE, Reference};
use serde::Deserialize;

use super::cells::{NO_PROMPT, ONE_OF, RowCells, RowField, RowsSource};
use super::pairs::pair;
use super::row::{Process, Ranked, Supervised, TrainingRow};
use crate::error::{Result, TrainError};
use crate::item::{ItemRole, RowFields, TrainingItem};
use crate::judge_data::urpo;

/// Kinds of rows that no other field implies.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ExplicitKind {
    /// An instruction without a reference answer.
    Open,
}

/// Reads the rows of a source, whose path is relative to `base`; `scorer` rewards the problems that
/// name none.
///
/// # Errors
/// [`TrainError::Invalid`] with every row that is wrong, by file and line, at most ten of them; files
/// that cannot be found or read.
pub fn read_rows(
    base: &Path,
    source: &RowsSource,
    scorer: Option<&str>,
) -> Result<Vec<TrainingRow>> {
    let path = base.join(&source.path);
    let selection = Selection { config: source.config.clone(), split: source.split.clone() };
    let invalid = |error: &dyn std::fmt::Display| TrainError::Invalid(error.to_string());
    let files: Vec<PathBuf> =
        files(&[path.display().to_string()], &selection).map_err(|error| invalid(&error))?;
    let (mut rows, mut problems) = (Vec::new(), Vec::new());
    for file in files {
        let mut take = |number: u64, text: &str| {
            match row(text, rows.len() as u64, source, scorer) {
                Ok(row) => rows.push(row),
                Err(what) => problems.push(format!("{}:{number}: {what}", file.display())),
            }
            true
        };
        each_text(&file, &mut take).map_err(|error| invalid(&error))?;
    }
    if problems.is_empty() && rows.is_empty() {
        problems.push(format!("{}: there is no row in it", path.display()));
    }
    if problems.is_empty() {
        return Ok(rows);
    }
    let left = problems.len().saturating_sub(MOST_PROBLEMS);
    problems.truncate(MOST_PROBLEMS);
    if left > 0 {
        problems.push(format!("and {left} more rows"));
    }
    Err(TrainError::Invalid(problems.join("\n")))
}

const MOST_PROBLEMS: usize = 10;

fn row(
    text: &str,
    index: u64,
    source: &RowsSource,
    scorer: Option<&str>,
) -> Result<TrainingRow, String> {
    let raw = RawRow::parse(text)?;
    let mut cells = RowCells::new(&raw, source)?;
    let row = row_of_cells(&mut cells, index, scorer)?;
    cells.finish()?;
    Ok(row)
}

fn row_of_cells(
    cells: &mut RowCells<'_, '_>,
    index: u64,
    scorer: Option<&str>,
) -> Result<TrainingRow, String> {
    if cells.has(RowField::Chosen) || cells.has(RowField::Rejected) {
        return Ok(TrainingRow::Preference(pair(cells)?));
    }
    let mut turns = cells.turns()?.ok_or(NO_PROMPT)?;
    if let Some(completion) = completion(cells, &mut turns)? {
        let kind = cells.text(RowField::Category)?;
        return Ok(TrainingRow::Supervised(Supervised {
            turns,
            completion,
            kind: kind.as_deref().unwrap_or("rows").into(),
            tools: tools(cells)?,
        }));
    }
    if cells.has(RowField::Principle) || cells.has(RowField::Verdict) {
        return principle(cells, turns);
    }
    if cells.has(RowField::Steps) || cells.has(RowField::Labels) {
        return process(cells, turns);
    }
    let problem = turns.last().map_or("", |turn| &turn.content).to_owned();
    if cells.has(RowField::Candidates) || cells.has(RowField::GoldRank) {
        return ranked(cells, problem);
    }
    problem_row(cells, TurnsOf { turns, problem, index }, scorer)
}

/// Fields that make a row something else than a conversation to imitate.
const OTHER_KINDS: [RowField; 12] = [
    RowField::Principle,
    RowField::Verdict,
    RowField::Steps,
    RowField::Labels,
    RowField::Candidates,
    RowField::GoldRank,
    RowField::Answer,
    RowField::Reference,
    RowField::Rubric,
    RowField::Principles,
    RowField::Audit,
    RowField::Kind,
];

/// The reply to imitate: `completion`, or the last message of a conversation that ends with the
/// assistant's, which leaves the prompt.
fn completion(
    cells: &mut RowCells<'_, '_>,
    turns: &mut Vec<Message>,
) -> Result<Option<String>, String> {
    let own = cells.text(RowField::Completion)?;
    let replied = turns.len() > 1 && turns.last().is_some_and(|turn| turn.role == "assistant");
    if own.is_some() || !replied || OTHER_KINDS.iter().any(|field| cells.has(*field)) {
        return Ok(own);
    }
    Ok(turns.pop().map(|turn| turn.content))
}

fn process(cells: &mut RowCells<'_, '_>, turns: Vec<Message>) -> Result<TrainingRow, String> {
    let steps: Option<Vec<String>> = cells.value(RowField::Steps, "a list of texts")?;
    let labels: Option<Vec<Option<bool>>> =
        cells.value(RowField::Labels, "a list of truth values")?;
    let (Some(steps), Some(labels)) = (steps, labels) else {
        return Err("`steps` come with `labels`".into());
    };
    if labels.len() != steps.len() || steps.is_empty() {
        return Err(format!("{} steps have {} labels", steps.len(), labels.len()));
    }
    Ok(TrainingRow::Process(Process { turns, steps, labels }))
}

/// A row of `tribunal principles`: the conversation with the response and the principle, and the verdict
/// as the reply to imitate (RLBFF, 2509.21319).
fn principle(cells: &mut RowCells<'_, '_>, mut turns: Vec<Message>) -> Result<TrainingRow, String> {
    let response = cells.text(RowField::Response)?;
    let principle = cells.text(RowField::Principle)?;
    let verdict = cells.text(RowField::Verdict)?;
    let (Some(response), Some(principle), Some(verdict)) = (response, principle, verdict) else {
        return Err("`response`, `principle` and `verdict` come together".into());
    };
    let reply = match &*verdict {
        "yes" => "Yes",
        "no" => "No",
        other => return Err(format!("`verdict` is \"yes\" or \"no\", not \"{other}\"")),
    };
    let of_people =
        [RowField::Annotator, RowField::Evidence, RowField::EvidenceRatio, RowField::Agreement];
    cells.leave(&of_people);
    turns.push(Message { role: "assistant".to_owned(), content: response });
    turns.push(Message { role: PRINCIPLE.to_owned(), content: principle });
    let kind = cells.text(RowField::Category)?;
    Ok(TrainingRow::Supervised(Supervised {
        turns,
        completion: reply.to_owned(),
        kind: kind.as_deref().unwrap_or("principles").into(),
        tools: None,
    }))
}

fn ranked(cells: &mut RowCells<'_, '_>, problem: String) -> Result<TrainingRow, String> {
    let candidates: Option<Vec<String>> = cells.value(RowField::Candidates, "a list of texts")?;
    let ranks: Option<Vec<f64>> = cells.value(RowField::GoldRank, "a list of numbers")?;
    let (Some(candidates), Some(ranks)) = (candidates, ranks) else {
        return Err("`candidates` come with `gold_rank`".into());
    };
    urpo::check_ranks(candidates.len(), &ranks)?;
    Ok(TrainingRow::Ranked(Ranked { problem, candidates, ranks }))
}

/// A conversation, its last message and the row's number.
struct TurnsOf {
    turns: Vec<Message>,
    problem: String,
    index: u64,
}

fn problem_row(
    cells: &mut RowCells<'_, '_>,
    of: TurnsOf,
    scorer: Option<&str>,
) -> Result<TrainingRow, String> {
    let answer = cells.text(RowField::Answer)?;
    let reference = cells.read(RowField::Reference, |cell, wrong| cell.reference(wrong))?;
    let (gold, reference) = match (answer, reference) {
        (Some(_), Some(_)) => return Err("`answer` and `reference` exclude each other".into()),
        (Some(text), None) | (None, Some(Reference::Text(text))) => (Some(text), None),
        (None, other) => (None, other),
    };
    let audit = cells.text(RowField::Audit)?;
    let kind: Option<ExplicitKind> = cells.value(RowField::Kind, "\"open\"")?;
    let fields = RowFields {
        rubric: cells.value(RowField::Rubric, "an object such as {\"items\": [...]}")?,
        principles: cells.value(RowField::Principles, "a list of texts")?,
        context: cells.read(RowField::Context, |cell, wrong| cell.text_or_texts(wrong))?,
        tools: tools(cells)?,
        reference,
    };
    let has_reference = gold.is_some() || fields.reference.is_some();
    if usize::from(kind.is_some()) + usize::from(has_reference) + usize::from(audit.is_some()) > 1 {
        return Err("`kind = \"open\"`, `audit` and `answer` exclude each other".into());
    }
    let own_scorer = cells.text(RowField::Scorer)?;
    let open_scorer = Some(urpo::SCORER).filter(|_| kind.is_some());
    let is_bare = !has_reference && audit.is_none() && fields == RowFields::default();
    let missing = if is_bare { ONE_OF } else { "a problem names a `scorer`, or the method does" };
    let scorer = own_scorer.as_deref().or(open_scorer).or(scorer).ok_or(missing)?;
    let item = TrainingItem {
        index: of.index,
        role: ItemRole::Policy,
        problem: of.problem.into(),
        turns: of.turns,
        gold: gold.map(Into::into),
        audit: audit.map(Into::into),
        fields: Arc::new(fields),
        scorer: scorer.into(),
        category: cells.read(RowField::Category, category)?.map(Into::into),
        parent: None,
    };
    Ok(match kind {
        Some(ExplicitKind::Open) => TrainingRow::Open(item),
        None => TrainingRow::Problem(item),
    })
}

fn tools(cells: &mut RowCells<'_, '_>) -> Result<Option<Vec<serde_json::Value>>, String> {
    cells.value(RowField::Tools, "a list of tools")
}

/// A category is a text or a number.
fn category(cell: Cell<'_>, wrong: &dyn Fn(&str) -> String) -> Result<String, String> {
    match cell.reference(wrong)? {
        Reference::Text(text) => Ok(text),
        Reference::AnyOf(_) | Reference::Object(_) => Err(wrong("a text or a number")),
    }
}
