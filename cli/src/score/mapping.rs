//! Columns of a row to the fields of an input.

use openapi::{Reference, ScoreInput};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use verifiers::extract::{self, AnswerPolicy};

use super::row::Row;
use crate::error::CliError;

/// Which columns hold which fields.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Columns")]
pub(crate) struct MappingArgs {
    /// Column of the prompt: text or messages. A dot leads into an object: `a.b` [default: prompt]
    #[arg(long, value_name = "COL")]
    prompt: Option<String>,
    /// Column of the response: text or messages [default: response]
    #[arg(long, value_name = "COL", conflicts_with = "responses")]
    response: Option<String>,
    /// Column of a list of responses, judged one by one [default: responses]
    #[arg(long, value_name = "COL")]
    responses: Option<String>,
    /// Column of the gold answer: text, number, or list of texts [default: reference]
    #[arg(long, value_name = "COL")]
    reference: Option<String>,
    /// Column of the response's steps [default: steps]
    #[arg(long, value_name = "COL")]
    steps: Option<String>,
    /// Column of a list of principles [default: principles]
    #[arg(long, value_name = "COL")]
    principles: Option<String>,
    /// Column of supporting texts [default: context]
    #[arg(long, value_name = "COL")]
    context: Option<String>,
    /// Column of the row's id, which rejected rows are listed with [default: id]
    #[arg(long, value_name = "COL")]
    id: Option<String>,
    /// Do not read this field from the column of its name (repeatable)
    #[arg(long, value_name = "FIELD")]
    ignore: Vec<Field>,
    /// Take the final answer out of a reference that is a whole solution, such as one that ends
    /// in `#### 18` or `A: 18`; other references are used as they are
    #[arg(long)]
    extract_reference: bool,
}

/// The fields that columns are read into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Field {
    /// What was asked.
    Prompt,
    /// What was answered.
    Response,
    /// A group of answers.
    Responses,
    /// The gold answer.
    Reference,
    /// Steps.
    Steps,
    /// Principles.
    Principles,
    /// Supporting texts.
    Context,
    /// The row's id.
    Id,
}

impl Field {
    fn is_response(self) -> bool {
        match self {
            Self::Response | Self::Responses => true,
            Self::Prompt
            | Self::Reference
            | Self::Steps
            | Self::Principles
            | Self::Context
            | Self::Id => false,
        }
    }
}

/// A field and the column that it is read from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Source {
    field: Field,
    column: String,
    /// Named on the command line: then some row must have it.
    chosen: bool,
}

/// How rows become inputs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Mapping {
    sources: Vec<Source>,
    extract_reference: bool,
}

impl Mapping {
    /// The columns in force. A response that was named switches the default of `responses` off,
    /// and the other way round.
    pub(crate) fn resolve(args: MappingArgs) -> Self {
        let (one, group) = (args.response.is_some(), args.responses.is_some());
        let fields = [
            (Field::Prompt, "prompt", args.prompt),
            (Field::Response, "response", args.response),
            (Field::Responses, "responses", args.responses),
            (Field::Reference, "reference", args.reference),
            (Field::Steps, "steps", args.steps),
            (Field::Principles, "principles", args.principles),
            (Field::Context, "context", args.context),
            (Field::Id, "id", args.id),
        ];
        let sources = fields.into_iter().filter_map(|(field, default, given)| {
            let replaced = match field {
                Field::Response => group,
                Field::Responses => one,
                Field::Prompt
                | Field::Reference
                | Field::Steps
                | Field::Principles
                | Field::Context
                | Field::Id => false,
            };
            let chosen = given.is_some();
            if !chosen && (replaced || args.ignore.contains(&field)) {
                return None;
            }
            let column = given.unwrap_or_else(|| default.to_owned());
            Some(Source {
                field,
                column,
                chosen,
            })
        });
        Self {
            sources: sources.collect(),
            extract_reference: args.extract_reference,
        }
    }

    /// The columns of a file of pairs.
    pub(crate) fn of_pairs() -> Self {
        let fields = [
            (Field::Prompt, "question"),
            (Field::Response, "pred"),
            (Field::Reference, "gold"),
        ];
        let source = |(field, column): (Field, &str)| Source {
            field,
            column: column.to_owned(),
            chosen: true,
        };
        Self {
            sources: fields.map(source).to_vec(),
            extract_reference: false,
        }
    }

    /// The input that a row describes. The error is a sentence for the reject file.
    pub(crate) fn input(&self, row: &Row<'_>) -> Result<ScoreInput, String> {
        let mut input = ScoreInput::default();
        for source in &self.sources {
            let value = row
                .at(&source.column)?
                .filter(|value| value.get() != "null");
            let Some(value) = value else { continue };
            let wrong = |expected| {
                let kind = kind_of(value);
                format!("column '{}' is {kind}, expected {expected}", source.column)
            };
            match source.field {
                Field::Prompt => input.prompt = Some(read(value, "a text or messages", wrong)?),
                Field::Response => input.response = Some(read(value, "a text or messages", wrong)?),
                Field::Responses => {
                    input.responses = Some(read(value, "a list of texts or messages", wrong)?);
                }
                Field::Reference => input.reference = Some(self.reference(value, wrong)?),
                Field::Steps => input.steps = Some(read(value, "a list of texts", wrong)?),
                Field::Principles => {
                    input.principles = Some(read(value, "a list of texts", wrong)?);
                }
                Field::Context => input.context = Some(texts(value, wrong)?),
                // Only rejected rows are listed with it.
                Field::Id => {}
            }
        }
        if input.response.is_none() && input.responses.is_none() {
            return Err(format!("no response: {}", self.response_columns()));
        }
        Ok(input)
    }

    /// The row's id as it was written, if it has one.
    pub(crate) fn id<'l>(&self, row: &Row<'l>) -> Option<&'l RawValue> {
        let source = self
            .sources
            .iter()
            .find(|source| source.field == Field::Id)?;
        row.at(&source.column).ok().flatten()
    }

    fn response_columns(&self) -> String {
        let sources = self
            .sources
            .iter()
            .filter(|source| source.field.is_response());
        let names: Vec<_> = sources
            .map(|source| format!("'{}'", source.column))
            .collect();
        format!("column {} is missing or null", names.join(" or "))
    }

    /// A number's digits are its text, so that none is lost.
    fn reference(
        &self,
        value: &RawValue,
        wrong: impl Fn(&'static str) -> String,
    ) -> Result<Reference, String> {
        let reference = if is_number(value) {
            Reference::Text(value.get().to_owned())
        } else {
            read(
                value,
                "a text, a number, a list of texts or an object",
                wrong,
            )?
        };
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

    /// Looks for the columns in the first rows, so that a name that no row has is found before
    /// anything is scored. Without a row there is nothing to find.
    pub(crate) fn check(&self, rows: &[Row<'_>]) -> Result<(), CliError> {
        let Some(sample) = rows.first() else {
            return Ok(());
        };
        let is_there = |column: &str| rows.iter().any(|row| !matches!(row.at(column), Ok(None)));
        for source in self.sources.iter().filter(|source| source.chosen) {
            if !is_there(&source.column) {
                return Err(missing(&source.column, sample, rows.len()));
            }
        }
        let mut responses = self
            .sources
            .iter()
            .filter(|source| source.field.is_response());
        if responses.any(|source| is_there(&source.column)) {
            return Ok(());
        }
        Err(CliError::Usage(format!(
            "none of the first {} rows has a response: {}; name the column with --response or \
             --responses (the columns are {})",
            rows.len(),
            self.response_columns(),
            column_list(sample)
        )))
    }
}

fn missing(column: &str, sample: &Row<'_>, n_rows: usize) -> CliError {
    let near = rubrics::config::nearest(column, sample.names());
    let hint = near
        .map(|near| format!("; did you mean '{near}'?"))
        .unwrap_or_default();
    let columns = column_list(sample);
    CliError::Usage(format!(
        "none of the first {n_rows} rows has a column '{column}'{hint} (the columns are {columns})"
    ))
}

/// Most column names that a message lists.
const LISTED: usize = 20;

fn column_list(sample: &Row<'_>) -> String {
    let mut names: Vec<String> = sample
        .names()
        .take(LISTED)
        .map(|name| format!("'{name}'"))
        .collect();
    if sample.names().nth(LISTED).is_some() {
        names.push("…".to_owned());
    }
    if names.is_empty() {
        "none".to_owned()
    } else {
        names.join(", ")
    }
}

fn read<T: DeserializeOwned>(
    value: &RawValue,
    expected: &'static str,
    wrong: impl Fn(&'static str) -> String,
) -> Result<T, String> {
    // The parser knows more than the kind of the whole: which message, which field.
    serde_json::from_str(value.get()).map_err(|error| match value.get().as_bytes()[0] {
        b'[' | b'{' => {
            let text = error.to_string();
            let cause = text
                .split_once(" at line ")
                .map_or(text.as_str(), |(cause, _)| cause);
            format!("{}: {cause}", wrong(expected))
        }
        _ => wrong(expected),
    })
}

/// A list of texts, or one text by itself.
fn texts(value: &RawValue, wrong: impl Fn(&'static str) -> String) -> Result<Vec<String>, String> {
    if value.get().starts_with('"') {
        return Ok(vec![read(value, "a text", wrong)?]);
    }
    read(value, "a text or a list of texts", wrong)
}

fn is_number(value: &RawValue) -> bool {
    value
        .get()
        .starts_with(|first: char| first == '-' || first.is_ascii_digit())
}

fn kind_of(value: &RawValue) -> &'static str {
    match value.get().as_bytes()[0] {
        b'{' => "an object",
        b'[' => "a list",
        b'"' => "a text",
        b't' | b'f' => "a truth value",
        b'n' => "null",
        _ => "a number",
    }
}

/// The marked answer of a solution. The last number is no answer here: a plain reference such as
/// `\frac{1}{2}` must stay whole.
fn final_answer(text: String) -> String {
    let policy = AnswerPolicy {
        last_number: false,
        ..AnswerPolicy::default()
    };
    match extract::answer(&text, &policy) {
        Some(found) => found.text.to_owned(),
        None => text,
    }
}
