//! SQL errors for people: position, problem and similar column names.

use std::fmt;

use arrow::datatypes::{DataType, Fields, SchemaRef};
use datafusion::common::SchemaError;
use datafusion::error::DataFusionError;

use datasets::DatasetError;

/// Jaro-Winkler similarity from which a name is suggested.
const MIN_SIMILARITY: f64 = 0.7;

/// Maximum number of suggested names.
const MAX_SUGGESTIONS: usize = 3;

/// Command-line option that an SQL text was given with, for error messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SqlOption {
    /// `--where`
    Where,
    /// `--select`
    Select,
    /// `--order-by`
    OrderBy,
    /// `--sql`
    Sql,
    /// `--dedupe-by`
    Dedupe,
    /// `--group-by`
    GroupBy,
    /// `--score`
    Score,
    /// `--prompt`
    Prompt,
    /// `--response`
    Response,
    /// `--answer`
    Answer,
    /// `--against`
    Against,
    /// `--index`
    Index,
}

impl SqlOption {
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

    /// Makes a [`DatasetError::Query`] for this option.
    pub fn error(self, problem: impl fmt::Display) -> DatasetError {
        DatasetError::Query { place: self.option().to_owned(), problem: problem.to_string() }
    }
}

/// Explains an error in a text that was parsed unchanged.
pub(super) fn explain(
    error: &DataFusionError,
    option: SqlOption,
    text: &str,
    schema: &SchemaRef,
) -> DatasetError {
    option.error(problem(error, (text, 0), schema))
}

/// Explains an error in a text that was parsed below one line of generated SQL.
pub(super) fn explain_below(
    error: &DataFusionError,
    option: SqlOption,
    text: &str,
    schema: &SchemaRef,
) -> DatasetError {
    option.error(problem(error, (text, 1), schema))
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
                let hint = unquoted(text, schema).unwrap_or_else(|| near_names(&name, schema));
                format!("no column '{name}'{}{hint}", at(position))
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
            shift_position(shown, above)
        }
        DataFusionError::Execution(message) if message.contains("not found in struct") => {
            with_near_fields(message, text, schema)
        }
        DataFusionError::NotImplemented(message) if message.starts_with("Dot access") => {
            "a dot cannot follow brackets; write scores.\"NAME\".score, or scores['NAME']['score']"
                .to_owned()
        }
        other => {
            let shown = other.strip_backtrace();
            let (_, what) = shown.split_once(" error: ").unwrap_or(("", &shown));
            let what = what.lines().next().unwrap_or(what).trim();
            let near = if what.contains("not found in struct") {
                with_near_fields(what, text, schema)
            } else {
                what.to_owned()
            };
            format!("{near}{}", at(position))
        }
    }
}

/// Subtracts the generated lines above the text from the position in a parser message.
fn shift_position(message: &str, above: u64) -> String {
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

/// Line and character of the first occurrence of a name.
fn found_at(text: &str, name: &str) -> Option<(u64, u64)> {
    let before = &text[..text.find(name)?];
    let line = before.matches('\n').count() as u64 + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() as u64 + 1;
    Some((line, column))
}

fn with_near_fields(message: &str, text: &str, schema: &SchemaRef) -> String {
    let named = message.split('\'').nth(1).or_else(|| {
        let (_, after) = message.split_once("Field ")?;
        after.split(' ').next()
    });
    let near = || named.map_or_else(String::new, |name| similar_names(name, schema, (0.9, 1.0)));
    let near = unquoted(text, schema).unwrap_or_else(near);
    format!("{}{near}", message.trim_start_matches("Error during planning: "))
}

/// Shows how a column is written whose path stands in a text without the quotes that it needs, as the end
/// of an error message.
fn unquoted(text: &str, schema: &SchemaRef) -> Option<String> {
    let mut known = Vec::new();
    collect(schema.fields(), "", &mut known);
    let is_word = |name: &str| name.chars().all(|c| c.is_alphanumeric() || c == '_');
    let needs_quotes =
        |path: &&String| !path.split('.').all(is_word) && text.contains(path.as_str());
    let path = known.iter().filter(needs_quotes).max_by_key(|path| path.len())?;
    let quoted = |name: &str| if is_word(name) { name.to_owned() } else { format!("\"{name}\"") };
    let quoted: Vec<String> = path.split('.').map(quoted).collect();
    Some(format!(
        "; a name with other characters than letters, digits and '_' stands between quotes: {}",
        quoted.join(".")
    ))
}

/// Suggests columns similar to an unknown name, as the end of an error message.
pub fn near_names(name: &str, schema: &SchemaRef) -> String {
    // Users name a full column more often than the last part of its path.
    similar_names(name, schema, (1.0, 0.9))
}

/// Suggests names, with weights for the similarity to full paths and to their last parts.
fn similar_names(name: &str, schema: &SchemaRef, (whole, part): (f64, f64)) -> String {
    let mut known = Vec::new();
    collect(schema.fields(), "", &mut known);
    let similarity = |candidate: &str| {
        let last = candidate.rsplit('.').next().unwrap_or(candidate);
        let like = |own: &str| strsim::jaro_winkler(&name.to_lowercase(), &own.to_lowercase());
        (whole * like(candidate)).max(part * like(last))
    };
    let mut near: Vec<(f64, String)> = known
        .iter()
        .map(|candidate| (similarity(candidate), candidate.clone()))
        .filter(|(similarity, _)| *similarity >= MIN_SIMILARITY)
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
    let near: Vec<String> =
        near.iter().take(MAX_SUGGESTIONS).map(|(_, name)| quoted(name)).collect();
    format!("; near: {}", near.join(", "))
}

/// Collects the dotted paths of all columns and nested fields.
fn collect(fields: &Fields, before: &str, known: &mut Vec<String>) {
    for field in fields {
        let path = format!("{before}{}", field.name());
        if let DataType::Struct(inner) = field.data_type() {
            collect(inner, &format!("{path}."), known);
        }
        known.push(path);
    }
}
