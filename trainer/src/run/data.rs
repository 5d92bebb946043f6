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
    let text = std::fs::read_to_string(path).map_err(|source| TrainError::File {
        path: path.display().to_string(),
        source,
    })?;
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
    let line: Line = serde_json::from_str(line).map_err(|error| error.to_string())?;
    let turns = match (line.prompt, line.messages) {
        (Some(prompt), None) => vec![Turn {
            role: "user".to_owned(),
            content: prompt,
        }],
        (None, Some(messages)) if !messages.is_empty() => messages
            .into_iter()
            .map(|message| Turn {
                role: message.role,
                content: message.content,
            })
            .collect(),
        _ => return Err("a row has either `prompt` or `messages`, and they are not empty".into()),
    };
    let problem = turns.last().map_or("", |turn| &turn.content).to_owned();
    if let (Some(candidates), Some(ranks)) = (&line.candidates, &line.gold_rank) {
        urpo::check_ranks(candidates.len(), ranks)?;
        return Ok(Row::Ranked(Ranked {
            problem,
            candidates: candidates.clone(),
            ranks: ranks.clone(),
        }));
    }
    if line.candidates.is_some() || line.gold_rank.is_some() {
        return Err("`candidates` come with `gold_rank`".into());
    }
    // What is judged by the model itself, or by a scorer that needs no answer.
    let judged = match (line.kind, &line.audit, &line.answer) {
        (None, None, _) => None,
        (Some(Kind::Open), None, None) => Some(line.scorer.as_deref().unwrap_or(urpo::SCORER)),
        (None, Some(_), None) => {
            let scorer = line.scorer.as_deref().or(scorer);
            Some(scorer.ok_or("a problem names a `scorer`, or the method does")?)
        }
        _ => return Err("`kind = \"open\"`, `audit` and `answer` exclude each other".into()),
    };
    if let Some(scorer) = judged {
        let item = Item {
            index,
            role: Role::Player,
            problem: problem.into(),
            turns,
            gold: None,
            audit: line.audit.map(Into::into),
            scorer: scorer.into(),
            category: line.category.map(Into::into),
            parent: None,
        };
        return Ok(match line.kind {
            Some(Kind::Open) => Row::Open(item),
            None => Row::Problem(item),
        });
    }
    match (
        line.completion,
        line.chosen,
        line.rejected,
        line.steps,
        line.answer,
    ) {
        (Some(completion), None, None, None, None) => Ok(Row::Supervised(Supervised {
            turns,
            completion,
            kind: line.category.as_deref().unwrap_or("rows").into(),
        })),
        (None, Some(chosen), Some(rejected), None, None) if chosen != rejected => {
            Ok(Row::Preference(Preference {
                turns,
                chosen,
                rejected,
                margin: line.margin,
            }))
        }
        (None, Some(_), Some(_), None, None) => Err("`chosen` and `rejected` are the same".into()),
        (None, None, None, Some(steps), None) => {
            let labels = line.labels.ok_or("`steps` come with `labels`")?;
            if labels.len() != steps.len() || steps.is_empty() {
                return Err(format!(
                    "{} steps have {} labels",
                    steps.len(),
                    labels.len()
                ));
            }
            Ok(Row::Process(Process {
                turns,
                steps,
                labels,
            }))
        }
        (None, None, None, None, Some(answer)) => {
            let scorer = line.scorer.as_deref().or(scorer);
            let scorer = scorer.ok_or("a problem names a `scorer`, or the method does")?;
            Ok(Row::Problem(Item {
                index,
                role: Role::Player,
                problem: problem.into(),
                turns,
                gold: Some(answer.into()),
                audit: None,
                scorer: scorer.into(),
                category: line.category.map(Into::into),
                parent: None,
            }))
        }
        _ => Err(
            "a row has one of: `completion`; `chosen` and `rejected`; `steps` and `labels`; \
             `answer`; `audit`; `candidates` and `gold_rank`; `kind = \"open\"`"
                .into(),
        ),
    }
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
        let mut order = Order {
            seed,
            len,
            epoch: 0,
            permutation: Vec::new(),
        };
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
