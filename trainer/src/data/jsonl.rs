//! JSON Lines files of training rows.

use std::path::Path;

use rubrics::Message;
use serde::Deserialize;

use super::row::{Preference, Process, Ranked, Supervised, TrainingRow};
use crate::error::{Result, TrainError};
use crate::item::{ItemRole, TrainingItem};
use crate::judge_data::urpo;

/// A line of the file; its fields decide the kind of row.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct JsonLine {
    #[serde(default)]
    prompt: Option<String>,
    #[serde(default)]
    messages: Option<Vec<RowMessage>>,
    #[serde(default)]
    completion: Option<String>,
    #[serde(default)]
    chosen: Option<String>,
    #[serde(default)]
    rejected: Option<String>,
    #[serde(default)]
    margin: Option<f64>,
    #[serde(default)]
    steps: Option<Vec<String>>,
    #[serde(default)]
    labels: Option<Vec<Option<bool>>>,
    #[serde(default)]
    answer: Option<String>,
    #[serde(default)]
    audit: Option<String>,
    #[serde(default)]
    candidates: Option<Vec<String>>,
    #[serde(default)]
    gold_rank: Option<Vec<f64>>,
    #[serde(default)]
    kind: Option<ExplicitKind>,
    #[serde(default)]
    scorer: Option<String>,
    #[serde(default)]
    category: Option<String>,
}

/// Kinds of rows that no other field implies.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ExplicitKind {
    /// An instruction without a reference answer.
    Open,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RowMessage {
    role: String,
    content: String,
}

/// Reads a JSON Lines file; `scorer` rewards the problems that name none.
///
/// # Errors
/// [`TrainError::Invalid`] with every row that is wrong, by its line, at most ten of them.
pub fn read_jsonl(path: &Path, scorer: Option<&str>) -> Result<Vec<TrainingRow>> {
    let text = std::fs::read_to_string(path)
        .map_err(|source| TrainError::File { path: path.display().to_string(), source })?;
    let (mut rows, mut problems) = (Vec::new(), Vec::new());
    for (index, line) in text.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        match row(line, rows.len() as u64, scorer) {
            Ok(row) => rows.push(row),
            Err(what) => problems.push(format!("{}:{}: {what}", path.display(), index + 1)),
        }
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

fn row(line: &str, index: u64, scorer: Option<&str>) -> Result<TrainingRow, String> {
    let mut line: JsonLine = serde_json::from_str(line).map_err(|error| error.to_string())?;
    let kinds = [
        line.completion.is_some(),
        line.chosen.is_some() || line.rejected.is_some(),
        line.steps.is_some(),
        line.candidates.is_some() || line.gold_rank.is_some(),
        line.answer.is_some() || line.audit.is_some() || line.kind.is_some(),
    ];
    if kinds.into_iter().filter(|is| *is).count() != 1 {
        return Err(ONE_OF.into());
    }
    let turns = turns(&mut line)?;
    if let Some(completion) = line.completion {
        return Ok(TrainingRow::Supervised(Supervised {
            turns,
            completion,
            kind: line.category.as_deref().unwrap_or("rows").into(),
        }));
    }
    if let Some(steps) = line.steps {
        return process(turns, steps, line.labels);
    }
    match (line.chosen, line.rejected) {
        (Some(chosen), Some(rejected)) if chosen != rejected => {
            return Ok(TrainingRow::Preference(Preference {
                turns,
                chosen,
                rejected,
                margin: line.margin,
            }));
        }
        (Some(_), Some(_)) => return Err("`chosen` and `rejected` are the same".into()),
        (None, None) => {}
        (Some(_), None) | (None, Some(_)) => return Err(ONE_OF.into()),
    }
    let problem = turns.last().map_or("", |turn| &turn.content).to_owned();
    match (line.candidates, line.gold_rank) {
        (Some(candidates), Some(ranks)) => {
            urpo::check_ranks(candidates.len(), &ranks)?;
            return Ok(TrainingRow::Ranked(Ranked { problem, candidates, ranks }));
        }
        (None, None) => {}
        (Some(_), None) | (None, Some(_)) => {
            return Err("`candidates` come with `gold_rank`".into());
        }
    }
    let is_open = line.kind.is_some();
    if usize::from(is_open) + usize::from(line.answer.is_some()) + usize::from(line.audit.is_some())
        > 1
    {
        return Err("`kind = \"open\"`, `audit` and `answer` exclude each other".into());
    }
    let own = Some(urpo::SCORER).filter(|_| is_open);
    let scorer = line.scorer.as_deref().or(own).or(scorer);
    let item = TrainingItem {
        index,
        role: ItemRole::Policy,
        problem: problem.into(),
        turns,
        gold: line.answer.map(Into::into),
        audit: line.audit.map(Into::into),
        scorer: scorer.ok_or("a problem names a `scorer`, or the method does")?.into(),
        category: line.category.map(Into::into),
        parent: None,
    };
    Ok(match line.kind {
        Some(ExplicitKind::Open) => TrainingRow::Open(item),
        None => TrainingRow::Problem(item),
    })
}

const ONE_OF: &str = "a row has one of: `completion`; `chosen` and `rejected`; `steps` and \
     `labels`; `answer`; `audit`; `candidates` and `gold_rank`; `kind` = `open`";

/// The conversation of a row.
fn turns(line: &mut JsonLine) -> Result<Vec<Message>, String> {
    match (line.prompt.take(), line.messages.take()) {
        (Some(prompt), None) => Ok(vec![Message { role: "user".to_owned(), content: prompt }]),
        (None, Some(messages)) if !messages.is_empty() => Ok(messages
            .into_iter()
            .map(|message| Message { role: message.role, content: message.content })
            .collect()),
        _ => Err("a row has either `prompt` or `messages`, and they are not empty".into()),
    }
}

fn process(
    turns: Vec<Message>,
    steps: Vec<String>,
    labels: Option<Vec<Option<bool>>>,
) -> Result<TrainingRow, String> {
    let labels = labels.ok_or("`steps` come with `labels`")?;
    if labels.len() != steps.len() || steps.is_empty() {
        return Err(format!("{} steps have {} labels", steps.len(), labels.len()));
    }
    Ok(TrainingRow::Process(Process { turns, steps, labels }))
}
