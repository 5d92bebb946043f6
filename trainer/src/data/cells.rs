//! The cells of a training row: which fields it may have, and from which columns they are read.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use datasets::cell::Cell;
use datasets::raw_row::RawRow;
use rubrics::Message;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// The fields of a row. A field is read from the column of its name, or of the name that
/// [`RowOptions::columns`] gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RowField {
    /// A text or messages.
    Prompt,
    /// Messages.
    Messages,
    /// The reply to imitate.
    Completion,
    /// The better response: a text, or messages that begin with the prompt.
    Chosen,
    /// The worse one.
    Rejected,
    /// The margin by which the better one is better.
    Margin,
    /// The probability that it is the better one.
    Label,
    /// The weight of a pair.
    Weight,
    /// Whether the chosen and the rejected response are right.
    Outcomes,
    /// Shares of right steps of both.
    RightShares,
    /// What `tribunal denoise` adds to a pair.
    Denoise,
    /// The response that a principle is about.
    Response,
    /// A principle, as `tribunal principles` writes it.
    Principle,
    /// Whether the response satisfies it: `yes` or `no`.
    Verdict,
    /// The annotator whose feedback it is from.
    Annotator,
    /// The part of the feedback that it is from.
    Evidence,
    /// How well that part is found in the feedback.
    EvidenceRatio,
    /// How well other annotators agree.
    Agreement,
    /// The steps of a solution.
    Steps,
    /// Whether each step is right.
    Labels,
    /// The right answer, a text.
    Answer,
    /// The right answer: a text, a number, a list of texts or an object.
    Reference,
    /// A rubric.
    Rubric,
    /// Principles to judge by.
    Principles,
    /// Supporting texts.
    Context,
    /// JSON schemas of tools, for the chat template.
    Tools,
    /// A right answer that only audits read.
    Audit,
    /// Several responses.
    Candidates,
    /// Their ranks.
    GoldRank,
    /// `open`.
    Kind,
    /// The scorer of the rollouts.
    Scorer,
    /// The category that curricula choose by.
    Category,
    /// Anything; a path such as `metadata.level` reads a part of it as another field.
    Metadata,
    /// The row's id.
    Id,
}

impl RowField {
    const ALL: [RowField; 34] = [
        RowField::Prompt,
        RowField::Messages,
        RowField::Completion,
        RowField::Chosen,
        RowField::Rejected,
        RowField::Margin,
        RowField::Label,
        RowField::Weight,
        RowField::Outcomes,
        RowField::RightShares,
        RowField::Denoise,
        RowField::Response,
        RowField::Principle,
        RowField::Verdict,
        RowField::Annotator,
        RowField::Evidence,
        RowField::EvidenceRatio,
        RowField::Agreement,
        RowField::Steps,
        RowField::Labels,
        RowField::Answer,
        RowField::Reference,
        RowField::Rubric,
        RowField::Principles,
        RowField::Context,
        RowField::Tools,
        RowField::Audit,
        RowField::Candidates,
        RowField::GoldRank,
        RowField::Kind,
        RowField::Scorer,
        RowField::Category,
        RowField::Metadata,
        RowField::Id,
    ];

    /// The column that it is read from by default.
    pub fn name(self) -> &'static str {
        match self {
            RowField::Prompt => "prompt",
            RowField::Messages => "messages",
            RowField::Completion => "completion",
            RowField::Chosen => "chosen",
            RowField::Rejected => "rejected",
            RowField::Margin => "margin",
            RowField::Label => "label",
            RowField::Weight => "weight",
            RowField::Outcomes => "outcomes",
            RowField::RightShares => "right_shares",
            RowField::Denoise => "denoise",
            RowField::Response => "response",
            RowField::Principle => "principle",
            RowField::Verdict => "verdict",
            RowField::Annotator => "annotator",
            RowField::Evidence => "evidence",
            RowField::EvidenceRatio => "evidence_ratio",
            RowField::Agreement => "agreement",
            RowField::Steps => "steps",
            RowField::Labels => "labels",
            RowField::Answer => "answer",
            RowField::Reference => "reference",
            RowField::Rubric => "rubric",
            RowField::Principles => "principles",
            RowField::Context => "context",
            RowField::Tools => "tools",
            RowField::Audit => "audit",
            RowField::Candidates => "candidates",
            RowField::GoldRank => "gold_rank",
            RowField::Kind => "kind",
            RowField::Scorer => "scorer",
            RowField::Category => "category",
            RowField::Metadata => "metadata",
            RowField::Id => "id",
        }
    }

    /// Whether every kind of row may have it.
    fn fits_every_kind(self) -> bool {
        [RowField::Scorer, RowField::Category, RowField::Metadata, RowField::Id].contains(&self)
    }
}

/// `[[data]]` with `kind = "rows"`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RowsSource {
    /// A file, a glob or a folder.
    pub path: PathBuf,
    /// The column of a field, where it is not that of its name; a dot leads into an object.
    #[serde(default)]
    pub columns: BTreeMap<RowField, String>,
    /// Columns that no field is read from.
    #[serde(default)]
    pub unknown: UnknownColumns,
    /// The split of a folder that has several.
    #[serde(default)]
    pub split: Option<String>,
    /// The configuration of a folder that has several.
    #[serde(default)]
    pub config: Option<String>,
}

/// Columns that no field is read from, and fields that are not read in a row of its kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UnknownColumns {
    /// An error that names them.
    #[default]
    Refuse,
    /// They are not read.
    Ignore,
}

/// The error of a row without a prompt.
pub(super) const NO_PROMPT: &str =
    "a row has either `prompt` or `messages`, and they are not empty";

/// The kinds of rows, by their fields.
pub(super) const ONE_OF: &str = "a row has one of: `completion`, or a last message of the assistant; \
     `chosen` and `rejected`; `steps` and `labels`; `response`, `principle` and `verdict`; `answer` or `reference`; `rubric` or `principles`; `audit`; `candidates` and \
     `gold_rank`; `kind` = `open`";

/// A message of a row.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RowMessage {
    role: String,
    content: String,
}

/// A text or messages.
#[derive(Deserialize)]
#[serde(untagged)]
enum TextOrTurns {
    Text(String),
    Messages(Vec<RowMessage>),
}

/// A text, or a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RowContent {
    /// A text.
    Text(String),
    /// Messages.
    Messages(Vec<Message>),
}

impl From<TextOrTurns> for RowContent {
    fn from(content: TextOrTurns) -> Self {
        match content {
            TextOrTurns::Text(text) => Self::Text(text),
            TextOrTurns::Messages(turns) => Self::Messages(messages(turns)),
        }
    }
}

fn messages(turns: Vec<RowMessage>) -> Vec<Message> {
    turns.into_iter().map(|turn| Message { role: turn.role, content: turn.content }).collect()
}

/// The cells of one row, by field.
pub(super) struct RowCells<'r, 'l> {
    row: &'r RawRow<'l>,
    source: &'r RowsSource,
    /// Fields with a cell that was not read yet.
    left: BTreeSet<RowField>,
}

impl<'r, 'l> RowCells<'r, 'l> {
    pub(super) fn new(row: &'r RawRow<'l>, source: &'r RowsSource) -> Result<Self, String> {
        let mut cells = Self { row, source, left: BTreeSet::new() };
        let column = |field: RowField| cells.column(field);
        if source.unknown == UnknownColumns::Refuse {
            let known: BTreeSet<&str> = RowField::ALL
                .into_iter()
                .flat_map(|field| [column(field), column(field).split('.').next().unwrap_or("")])
                .collect();
            if let Some(name) = row.names().find(|name| !known.contains(name)) {
                return Err(format!(
                    "unknown column `{name}`; `columns` gives a field the name of its column, and \
                     `unknown = \"ignore\"` leaves other columns out"
                ));
            }
        }
        let mut left = BTreeSet::new();
        for field in RowField::ALL {
            if cells.cell(field)?.is_some() {
                left.insert(field);
            }
        }
        cells.left = left;
        Ok(cells)
    }

    fn column(&self, field: RowField) -> &'r str {
        self.source.columns.get(&field).map_or(field.name(), String::as_str)
    }

    fn cell(&self, field: RowField) -> Result<Option<Cell<'l>>, String> {
        let value = self.row.at(self.column(field))?;
        Ok(value.filter(|value| value.get() != "null").map(Cell::Json))
    }

    pub(super) fn has(&self, field: RowField) -> bool {
        self.left.contains(&field)
    }

    /// Reads a field; `None` without a cell.
    pub(super) fn read<T>(
        &mut self,
        field: RowField,
        read: impl FnOnce(Cell<'l>, &dyn Fn(&str) -> String) -> Result<T, String>,
    ) -> Result<Option<T>, String> {
        let Some(cell) = self.cell(field)? else { return Ok(None) };
        self.left.remove(&field);
        let (column, kind) = (self.column(field), cell.kind());
        let wrong = |expected: &str| format!("column '{column}' is {kind}, expected {expected}");
        read(cell, &wrong).map(Some)
    }

    /// Reads a value of the `expected` kind.
    pub(super) fn value<T: DeserializeOwned>(
        &mut self,
        field: RowField,
        expected: &str,
    ) -> Result<Option<T>, String> {
        self.read(field, |cell, wrong| cell.value(expected, wrong))
    }

    pub(super) fn text(&mut self, field: RowField) -> Result<Option<String>, String> {
        self.value(field, "a text")
    }

    pub(super) fn content(&mut self, field: RowField) -> Result<Option<RowContent>, String> {
        let content = self.read(field, |cell, wrong| cell.content::<TextOrTurns>(wrong))?;
        Ok(content.map(Into::into))
    }

    /// The conversation of a row; `None` without a prompt.
    pub(super) fn turns(&mut self) -> Result<Option<Vec<Message>>, String> {
        let prompt = self.content(RowField::Prompt)?;
        let given: Option<Vec<RowMessage>> = self.value(RowField::Messages, "messages")?;
        match (prompt, given.map(messages)) {
            (Some(_), Some(_)) => Err("a row has either `prompt` or `messages`".into()),
            (Some(RowContent::Text(prompt)), None) => {
                Ok(Some(vec![Message { role: "user".to_owned(), content: prompt }]))
            }
            (Some(RowContent::Messages(turns)), None) | (None, Some(turns)) => {
                if turns.is_empty() {
                    Err(NO_PROMPT.into())
                } else {
                    Ok(Some(turns))
                }
            }
            (None, None) => Ok(None),
        }
    }

    /// Leaves fields unread that a kind of row has for people.
    pub(super) fn leave(&mut self, fields: &[RowField]) {
        self.left.retain(|field| !fields.contains(field));
    }

    /// Refuses cells that the row's kind does not read.
    pub(super) fn finish(self) -> Result<(), String> {
        let mut left = self.left.iter().filter(|field| !field.fits_every_kind());
        match left.next() {
            Some(field) if self.source.unknown == UnknownColumns::Refuse => Err(format!(
                "`{}` is not read in a row of this kind; {ONE_OF}",
                self.column(*field)
            )),
            Some(_) | None => Ok(()),
        }
    }
}
