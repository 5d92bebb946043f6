//! Maps the columns of a row to the fields of an input.

mod column_names;
mod field;

use std::path::PathBuf;

use datasets::cell::Cell;
use datasets::raw_row::RawRow;
use openapi::{Reference, ScoreInput};
use serde::Serialize;
use serde_json::value::RawValue;
use verifiers::extract::{self, AnswerPolicy};

pub use self::column_names::ColumnNames;
pub use self::field::Field;
use crate::error::RunError;

/// How columns are mapped to fields, as the caller says.
#[derive(Debug, Default)]
pub struct MappingOptions {
    /// Columns that the caller names.
    pub named: ColumnNames,
    /// TOML file with more names; those of `named` go first.
    pub file: Option<PathBuf>,
    /// Fields that are not read from the column of their name.
    pub ignore: Vec<Field>,
    /// Whether the final answer is extracted from a reference that is a worked solution.
    pub extract_reference: bool,
}

/// A field and the column that it is read from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct FieldSource {
    field: Field,
    column: String,
    /// Whether the caller named it: then some row must have it.
    chosen: bool,
}

/// How rows become inputs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Mapping {
    sources: Vec<FieldSource>,
    extract_reference: bool,
}

impl Mapping {
    /// Resolves names and defaults. Naming `response` switches the default of `responses` off, and the
    /// other way round.
    ///
    /// # Errors
    /// A file of columns that cannot be read or parsed.
    pub fn resolve(options: MappingOptions) -> Result<Self, RunError> {
        let named = match &options.file {
            Some(path) => options.named.or(ColumnNames::read(path)?)?,
            None => options.named,
        };
        let one = |column: Option<String>| column.into_iter().collect::<Vec<_>>();
        let (alone, group) = (named.response.is_some(), !named.responses.is_empty());
        let fields = [
            (Field::Prompt, "prompt", one(named.prompt), false),
            (Field::Response, "response", one(named.response), group),
            (Field::Responses, "responses", named.responses, alone),
            (Field::Reference, "reference", one(named.reference), false),
            (Field::Steps, "steps", one(named.steps), false),
            (Field::Principles, "principles", one(named.principles), false),
            (Field::Context, "context", one(named.context), false),
            (Field::Id, "id", one(named.id), false),
        ];
        let mut sources = Vec::new();
        for (field, default, given, is_replaced) in fields {
            let source = |chosen| move |column| FieldSource { field, column, chosen };
            if given.is_empty() && !is_replaced && !options.ignore.contains(&field) {
                sources.push(source(false)(default.to_owned()));
            }
            sources.extend(given.into_iter().map(source(true)));
        }
        Ok(Self { sources, extract_reference: options.extract_reference })
    }

    /// The columns of a file of pairs.
    pub fn of_pairs() -> Self {
        let fields =
            [(Field::Prompt, "question"), (Field::Response, "pred"), (Field::Reference, "gold")];
        let source = |(field, column): (Field, &str)| FieldSource {
            field,
            column: column.to_owned(),
            chosen: true,
        };
        Self { sources: fields.map(source).to_vec(), extract_reference: false }
    }

    /// Reads the input of a JSON row. The error is a sentence for the reject file.
    pub fn input(&self, row: &RawRow<'_>) -> Result<ScoreInput, String> {
        self.read(|source| {
            let value = row.at(&self.sources[source].column)?;
            let value = value.filter(|value| value.get() != "null");
            Ok(value.map(Cell::Json))
        })
    }

    /// Reads the input of a row. `cell` gives the cell of a source by its position, or `None` for a null
    /// or a missing column.
    pub(crate) fn read<'c>(
        &self,
        mut cell: impl FnMut(usize) -> Result<Option<Cell<'c>>, String>,
    ) -> Result<ScoreInput, String> {
        let mut input = ScoreInput::default();
        for (position, source) in self.sources.iter().enumerate() {
            let Some(cell) = cell(position)? else {
                continue;
            };
            let wrong = |expected: &str| {
                let (column, kind) = (&source.column, cell.kind());
                format!("column '{column}' is {kind}, expected {expected}")
            };
            match source.field {
                Field::Prompt => input.prompt = Some(cell.content(wrong)?),
                Field::Response => input.response = Some(cell.content(wrong)?),
                Field::Responses if self.is_group_of_columns() => {
                    let group = input.responses.get_or_insert_default();
                    group.push(cell.content(wrong)?);
                }
                Field::Responses => input.responses = Some(cell.contents(wrong)?),
                Field::Reference => input.reference = Some(self.reference(cell, wrong)?),
                Field::Steps => input.steps = Some(cell.texts(wrong)?),
                Field::Principles => input.principles = Some(cell.texts(wrong)?),
                Field::Context => input.context = Some(cell.text_or_texts(wrong)?),
                // Only rejected rows are listed with it.
                Field::Id => {}
            }
        }
        let group = self.group_columns();
        let members = input.responses.as_ref().map_or(0, Vec::len);
        if group > 1 && members < group {
            return Err(format!("a response is missing: {}", self.response_columns()));
        }
        if input.response.is_none() && input.responses.is_none() {
            return Err(format!("no response: {}", self.response_columns()));
        }
        Ok(input)
    }

    /// Number of columns that each hold one response of a group.
    fn group_columns(&self) -> usize {
        let of_group = |source: &&FieldSource| source.field == Field::Responses;
        self.sources.iter().filter(of_group).count()
    }

    fn is_group_of_columns(&self) -> bool {
        self.group_columns() > 1
    }

    /// Returns the columns that inputs are read from, with whether the caller named them.
    pub(crate) fn columns(&self) -> impl Iterator<Item = (&str, bool)> {
        let sources = self.sources.iter();
        sources.map(|source| (source.column.as_str(), source.chosen))
    }

    /// The columns whose cells are texts to a scorer; the id is none.
    pub(crate) fn text_columns(&self) -> Vec<String> {
        let read = self.sources.iter().filter(|source| source.field != Field::Id);
        read.map(|source| source.column.clone()).collect()
    }

    /// The position of the row's id among the columns.
    pub(crate) fn id_position(&self) -> Option<usize> {
        let is_id = |source: &FieldSource| source.field == Field::Id;
        self.sources.iter().position(is_id)
    }

    /// The positions of responses among the columns.
    pub(crate) fn response_positions(&self) -> impl Iterator<Item = usize> {
        let sources = self.sources.iter().enumerate();
        let responses = sources.filter(|(_, source)| source.field.is_response());
        responses.map(|(position, _)| position)
    }

    /// Returns the row's id as it was written; `None` if it has none.
    pub fn id<'l>(&self, row: &RawRow<'l>) -> Option<&'l RawValue> {
        let source = self.sources.iter().find(|source| source.field == Field::Id)?;
        row.at(&source.column).ok().flatten()
    }

    /// Says in words that the columns of responses are missing.
    pub(crate) fn response_columns(&self) -> String {
        let sources = self.sources.iter().filter(|source| source.field.is_response());
        let names: Vec<_> = sources.map(|source| format!("'{}'", source.column)).collect();
        format!("column {} is missing or null", names.join(" or "))
    }

    fn reference(
        &self,
        cell: Cell<'_>,
        wrong: impl Fn(&str) -> String,
    ) -> Result<Reference, String> {
        let reference = cell.reference(wrong)?;
        if !self.extract_reference {
            return Ok(reference);
        }
        Ok(match reference {
            Reference::Text(text) => Reference::Text(final_answer(text)),
            Reference::AnyOf(texts) => {
                Reference::AnyOf(texts.into_iter().map(final_answer).collect())
            }
            Reference::Object(object) => Reference::Object(object),
        })
    }

    /// Checks that the first rows have the columns, before anything is scored. Accepts an empty list.
    ///
    /// # Errors
    /// A named column that no row has, and rows without any response.
    pub(crate) fn check(&self, rows: &[RawRow<'_>]) -> Result<(), RunError> {
        let Some(sample) = rows.first() else {
            return Ok(());
        };
        let is_there = |column: &str| rows.iter().any(|row| !matches!(row.at(column), Ok(None)));
        for source in self.sources.iter().filter(|source| source.chosen) {
            if !is_there(&source.column) {
                return Err(missing(&source.column, sample, rows.len()));
            }
        }
        let mut responses = self.sources.iter().filter(|source| source.field.is_response());
        if responses.any(|source| is_there(&source.column)) {
            return Ok(());
        }
        Err(RunError::Usage(format!(
            "none of the first {} rows has a response: {}; name the column with --response or \
             --responses (the columns are {})",
            rows.len(),
            self.response_columns(),
            column_list(sample)
        )))
    }
}

fn missing(column: &str, sample: &RawRow<'_>, n_rows: usize) -> RunError {
    let near = rubrics::config::nearest(column, sample.names());
    let hint = near.map(|near| format!("; did you mean '{near}'?")).unwrap_or_default();
    let columns = column_list(sample);
    RunError::Usage(format!(
        "none of the first {n_rows} rows has a column '{column}'{hint} (the columns are {columns})"
    ))
}

/// Most column names that a message lists.
const LISTED: usize = 20;

fn column_list(sample: &RawRow<'_>) -> String {
    let mut names: Vec<String> =
        sample.names().take(LISTED).map(|name| format!("'{name}'")).collect();
    if sample.names().nth(LISTED).is_some() {
        names.push("…".to_owned());
    }
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

/// Extracts the marked answer of a solution. The last number does not count as an answer, because a
/// plain reference such as `\frac{1}{2}` must stay complete.
fn final_answer(text: String) -> String {
    let policy = AnswerPolicy { last_number: false, ..AnswerPolicy::default() };
    match extract::answer(&text, &policy) {
        Some(found) => found.text.to_owned(),
        None => text,
    }
}
