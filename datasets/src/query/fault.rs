//! Errors of SQL in the words of whoever wrote it: where, what, and what was probably meant.

use std::fmt;

use arrow::datatypes::{DataType, Fields, SchemaRef};
use datafusion::common::SchemaError;
use datafusion::error::DataFusionError;

use crate::DatasetError;

/// How alike names must be to be proposed.
const LIKENESS: f64 = 0.7;

/// Names that are proposed.
const PROPOSED: usize = 3;

/// The option that a text came with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    Where,
    Select,
    OrderBy,
    Sql,
    Dedupe,
    GroupBy,
    Score,
    Prompt,
    Response,
    Answer,
    Against,
    Index,
}

impl Place {
    fn option(self) -> &'static str {
        match self {
            Self::Where => "--where",
            Self::Select => "--select",
            Self::OrderBy => "--order-by",
            Self::Sql => "--sql",
            Self::Dedupe => "--dedupe-by",
            Self::GroupBy => "--group-by",
            Self::Score => "--score",
            Self::Prompt => "--prompt",
            Self::Response => "--response",
            Self::Answer => "--answer",
            Self::Against => "--against",
            Self::Index => "--index",
        }
    }

    /// A fault of the text.
    pub fn fault(self, problem: impl fmt::Display) -> DatasetError {
        DatasetError::Query { place: self.option().to_owned(), problem: problem.to_string() }
    }
}

/// An error of a text that was parsed as it is.
pub(super) fn explained(
    error: &DataFusionError,
    place: Place,
    text: &str,
    schema: &SchemaRef,
) -> DatasetError {
    place.fault(problem(error, (text, 0), schema))
}

/// An error of a text that was parsed below one line of ours.
pub(super) fn explained_below(
    error: &DataFusionError,
    place: Place,
    text: &str,
    schema: &SchemaRef,
) -> DatasetError {
    place.fault(problem(error, (text, 1), schema))
}

#[expect(clippy::wildcard_enum_match_arm, reason = "the other kinds are said as they are")]
fn problem(error: &DataFusionError, (text, above): (&str, u64), schema: &SchemaRef) -> String {
    let span = error.diagnostic().and_then(|diagnostic| diagnostic.span);
    let position = span.map(|span| (span.start.line.saturating_sub(above), span.start.column));
    match error.find_root() {
        DataFusionError::SchemaError(inner, _) => match inner.as_ref() {
            SchemaError::FieldNotFound { field, .. } => {
                let name = field.flat_name().replace('"', "");
                let position = position.or_else(|| found_at(text, &field.name));
                format!("no column '{name}'{}{}", at(position), proposals(&name, schema))
            }
            SchemaError::AmbiguousReference { .. }
            | SchemaError::DuplicateQualifiedField { .. }
            | SchemaError::DuplicateUnqualifiedField { .. } => {
                format!("{inner}{}", at(position))
            }
        },
        DataFusionError::SQL(parser, _) => {
            let shown = parser.to_string();
            let shown = shown.trim_start_matches("sql parser error: ");
            moved(shown, above)
        }
        DataFusionError::Execution(message) if message.contains("not found in struct") => {
            with_near_fields(message, schema)
        }
        other => {
            let shown = other.strip_backtrace();
            let (_, what) = shown.split_once(" error: ").unwrap_or(("", &shown));
            let what = what.lines().next().unwrap_or(what).trim();
            let near = if what.contains("not found in struct") {
                with_near_fields(what, schema)
            } else {
                what.to_owned()
            };
            format!("{near}{}", at(position))
        }
    }
}

/// A parser's message with its own position moved by the lines that stand above the text.
fn moved(message: &str, above: u64) -> String {
    let Some((what, place)) = message.rsplit_once(" at Line: ") else {
        return format!("{message}, at the end of the text");
    };
    let numbers = place.split_once(", Column: ");
    let position = numbers.and_then(|(line, column)| {
        let line: u64 = line.parse().ok()?;
        Some((line.saturating_sub(above), column.trim().parse().ok()?))
    });
    format!("{what}{}", at(position))
}

fn at(position: Option<(u64, u64)>) -> String {
    match position {
        // A text with one line needs no line number.
        Some((0 | 1, column)) => format!(" at character {column}"),
        Some((line, column)) => format!(" at line {line}, character {column}"),
        None => String::new(),
    }
}

/// Where a name first stands in a text.
fn found_at(text: &str, name: &str) -> Option<(u64, u64)> {
    let before = &text[..text.find(name)?];
    let line = before.matches('\n').count() as u64 + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() as u64 + 1;
    Some((line, column))
}

fn with_near_fields(message: &str, schema: &SchemaRef) -> String {
    let named = message.split('\'').nth(1).or_else(|| {
        let (_, after) = message.split_once("Field ")?;
        after.split(' ').next()
    });
    let near = named.map_or_else(String::new, |name| near(name, schema, (0.9, 1.0)));
    format!("{}{near}", message.trim_start_matches("Error during planning: "))
}

/// Names that are like one that is not there.
pub fn proposals(name: &str, schema: &SchemaRef) -> String {
    // A column is named as a whole more often than by the last part of its path.
    near(name, schema, (1.0, 0.9))
}

/// The same for a name with weights for likeness to whole paths and to their last parts.
fn near(name: &str, schema: &SchemaRef, (whole, part): (f64, f64)) -> String {
    let mut known = Vec::new();
    collect(schema.fields(), "", &mut known);
    let likeness = |candidate: &str| {
        let last = candidate.rsplit('.').next().unwrap_or(candidate);
        let like = |own: &str| strsim::jaro_winkler(&name.to_lowercase(), &own.to_lowercase());
        (whole * like(candidate)).max(part * like(last))
    };
    let mut near: Vec<(f64, String)> = known
        .iter()
        .map(|candidate| (likeness(candidate), candidate.clone()))
        .filter(|(likeness, _)| *likeness >= LIKENESS)
        .collect();
    near.sort_by(|left, right| right.0.total_cmp(&left.0));
    let quoted = |name: &String| format!("'{name}'");
    if near.is_empty() {
        let mut columns: Vec<String> = schema.fields().iter().map(|f| quoted(f.name())).collect();
        if columns.is_empty() {
            return "; the input has no columns".to_owned();
        }
        let n_more = columns.len().saturating_sub(20);
        columns.truncate(20);
        let more = if n_more > 0 { format!(" and {n_more} more") } else { String::new() };
        return format!("; the columns are {}{more}", columns.join(", "));
    }
    let near: Vec<String> = near.iter().take(PROPOSED).map(|(_, name)| quoted(name)).collect();
    format!("; near: {}", near.join(", "))
}

/// Every column and every field in it, with dots.
fn collect(fields: &Fields, before: &str, known: &mut Vec<String>) {
    for field in fields {
        let path = format!("{before}{}", field.name());
        if let DataType::Struct(inner) = field.data_type() {
            collect(inner, &format!("{path}."), known);
        }
        known.push(path);
    }
}
