//! Rows of data, and their order.

use std::path::Path;
use std::sync::Arc;

use rand::seq::SliceRandom as _;
use rubrics::Turn;
use serde::Deserialize;

use crate::error::{Result, TrainError};
use crate::item::{Item, Role};
use crate::random::decision;
use crate::recycle::urpo;
use crate::task::Example;

/// A row of training data.
#[derive(Clone, Debug, PartialEq)]
pub enum Row {
    /// A text that the model is to write.
    Supervised(Supervised),
    /// Two answers, the first of which is better.
    Preference(Preference),
    /// A solution with a label for each step.
    Process(Process),
    /// A problem to solve.
    Problem(Item),
    /// Tokens, and what the model is to say at some of them.
    Written(Written),
    /// Answers to a question, with their places.
    Ranked(Ranked),
    /// An instruction without a right answer.
    Open(Item),
}

/// Tokens, and what the model is to say at some of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Written {
    /// What kind of row it is, for the log.
    pub kind: Arc<str>,
    /// The tokens.
    pub example: Example,
}

/// A text that the model is to write after a conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct Supervised {
    /// The conversation.
    pub turns: Vec<Turn>,
    /// What comes next.
    pub completion: String,
    /// What kind of row it is, for the log.
    pub kind: Arc<str>,
}

/// Two answers to a conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct Preference {
    /// The conversation.
    pub turns: Vec<Turn>,
    /// The better answer.
    pub chosen: String,
    /// The other one.
    pub rejected: String,
    /// By how much, where that is known.
    pub margin: Option<f64>,
}

/// Answers to a question, with their places.
#[derive(Clone, Debug, PartialEq)]
pub struct Ranked {
    /// The question.
    pub problem: String,
    /// The answers, two or more.
    pub candidates: Vec<String>,
    /// Their places, the smallest being the best.
    pub ranks: Vec<f64>,
}

/// A solution in steps.
#[derive(Clone, Debug, PartialEq)]
pub struct Process {
    /// The conversation.
    pub turns: Vec<Turn>,
    /// The steps, in order.
    pub steps: Vec<String>,
    /// Whether each is right; none where it is not known.
    pub labels: Vec<Option<bool>>,
}

impl Row {
    /// What it is, as errors name it.
    pub fn kind(&self) -> &'static str {
        match self {
            Row::Supervised(_) => "supervised (`prompt`, `completion`)",
            Row::Preference(_) => "preference (`prompt`, `chosen`, `rejected`)",
            Row::Process(_) => "process (`prompt`, `steps`, `labels`)",
            Row::Problem(_) => "problem (`prompt`, `answer`)",
            Row::Written(_) => "a mixture's",
            Row::Ranked(_) => "preference (`prompt`, `candidates`, `gold_rank`)",
            Row::Open(_) => "open (`prompt`, `kind`)",
        }
    }
}

/// A row as a file has it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    #[serde(default)]
    prompt: Option<String>,
    #[serde(default)]
    messages: Option<Vec<Message>>,
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
    kind: Option<Kind>,
    #[serde(default)]
    scorer: Option<String>,
    #[serde(default)]
    category: Option<String>,
}

/// Kinds of rows that no other key tells.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    /// An instruction without a right answer.
    Open,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Message {
    role: String,
    content: String,
}

/// Reads a file of JSON lines; problems without a scorer of their own are judged by `scorer`.
///
/// # Errors
/// [`TrainError::Invalid`] with every row that is wrong, by its line, at most ten of them.
pub fn read_jsonl(path: &Path, scorer: Option<&str>) -> Result<Vec<Row>> {
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

fn row(line: &str, index: u64, scorer: Option<&str>) -> Result<Row, String> {
    let mut line: Line = serde_json::from_str(line).map_err(|error| error.to_string())?;
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
        return Ok(Row::Supervised(Supervised {
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
            return Ok(Row::Preference(Preference {
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
            return Ok(Row::Ranked(Ranked { problem, candidates, ranks }));
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
    let item = Item {
        index,
        role: Role::Player,
        problem: problem.into(),
        turns,
        gold: line.answer.map(Into::into),
        audit: line.audit.map(Into::into),
        scorer: scorer.ok_or("a problem names a `scorer`, or the method does")?.into(),
        category: line.category.map(Into::into),
        parent: None,
    };
    Ok(match line.kind {
        Some(Kind::Open) => Row::Open(item),
        None => Row::Problem(item),
    })
}

const ONE_OF: &str = "a row has one of: `completion`; `chosen` and `rejected`; `steps` and \
     `labels`; `answer`; `audit`; `candidates` and `gold_rank`; `kind` = `open`";

/// The conversation of a row.
fn turns(line: &mut Line) -> Result<Vec<Turn>, String> {
    match (line.prompt.take(), line.messages.take()) {
        (Some(prompt), None) => Ok(vec![Turn { role: "user".to_owned(), content: prompt }]),
        (None, Some(messages)) if !messages.is_empty() => Ok(messages
            .into_iter()
            .map(|message| Turn { role: message.role, content: message.content })
            .collect()),
        _ => Err("a row has either `prompt` or `messages`, and they are not empty".into()),
    }
}

fn process(
    turns: Vec<Turn>,
    steps: Vec<String>,
    labels: Option<Vec<Option<bool>>>,
) -> Result<Row, String> {
    let labels = labels.ok_or("`steps` come with `labels`")?;
    if labels.len() != steps.len() || steps.is_empty() {
        return Err(format!("{} steps have {} labels", steps.len(), labels.len()));
    }
    Ok(Row::Process(Process { turns, steps, labels }))
}

/// The order of rows: every epoch another permutation, and any position of it by its number.
#[derive(Clone, Debug)]
pub struct Order {
    seed: u64,
    len: usize,
    epoch: u64,
    permutation: Vec<u32>,
}

impl Order {
    /// Of `len` rows, at least one.
    pub fn new(seed: u64, len: usize) -> Order {
        let mut order = Order { seed, len, epoch: 0, permutation: Vec::new() };
        order.shuffle(0);
        order
    }

    fn shuffle(&mut self, epoch: u64) {
        let rows = u32::try_from(self.len).expect("fewer than 2^32 rows");
        self.permutation = (0..rows).collect();
        let mut rng = decision(self.seed, "order of rows", &[epoch]);
        self.permutation.shuffle(&mut rng);
        self.epoch = epoch;
    }

    /// The row at a position of the run, counted from 0 over all epochs.
    pub fn row(&mut self, position: u64) -> usize {
        let (epoch, at) = (position / self.len as u64, position % self.len as u64);
        if epoch != self.epoch {
            self.shuffle(epoch);
        }
        let at = usize::try_from(at).expect("below the number of rows");
        self.permutation[at] as usize
    }
}
