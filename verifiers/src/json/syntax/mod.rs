//! Syntaxes of documents. Each is read into the values that JSON has, so that one validator serves
//! all of them.

mod calls;
mod csv;
mod toml;
mod typed;
mod xml;
mod yaml;

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::parse::{Document, Malformed, parse_document};
pub(super) use calls::schema_of_tools;
pub(super) use typed::typed_by;

/// The syntax of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Syntax {
    /// JSON.
    #[default]
    Json,
    /// YAML 1.2, core schema, one document, without aliases and tags of its own.
    Yaml,
    /// TOML. Dates and times are texts.
    Toml,
    /// XML without a document type. An element is an object of its attributes (`@name`), its child
    /// elements (an array where there are several of a name) and its text (`#text`), or its text
    /// alone; the document is an object of the root element.
    Xml,
    /// RFC 4180 with a header: an array of objects.
    Csv,
    /// The tool calls of a message: an array of objects with `name` and `arguments`.
    ToolCalls,
}

/// Containers that may nest, as the parser of JSON has it.
const MAX_DEPTH: usize = 127;

impl Syntax {
    /// All syntaxes by their names.
    pub const NAMES: [(&'static str, Self); 6] = [
        ("json", Self::Json),
        ("yaml", Self::Yaml),
        ("toml", Self::Toml),
        ("xml", Self::Xml),
        ("csv", Self::Csv),
        ("tool_calls", Self::ToolCalls),
    ];

    /// Marks of a fence around the document.
    pub(super) fn marks(self) -> &'static [&'static str] {
        match self {
            Self::Json | Self::ToolCalls => &["json"],
            Self::Yaml => &["yaml", "yml"],
            Self::Toml => &["toml"],
            Self::Xml => &["xml"],
            Self::Csv => &["csv"],
        }
    }

    /// Whether values are texts, whose type only a schema knows.
    pub(super) fn is_untyped(self) -> bool {
        matches!(self, Self::Xml | Self::Csv)
    }

    /// Bytes that one unit of fuel parses.
    pub(super) fn bytes_per_unit(self) -> u64 {
        if self == Self::Json { 8 } else { 2 }
    }

    /// Codes of a document that is valid, of one that cannot be read, and of one with a key twice.
    pub(super) fn codes(self) -> [&'static str; 3] {
        match self {
            Self::Json => ["json_valid", "json_malformed", "json_duplicate_key"],
            Self::Yaml | Self::Toml | Self::Xml | Self::Csv | Self::ToolCalls => {
                ["structured_valid", "structured_malformed", "structured_duplicate_key"]
            }
        }
    }

    /// Reads a document, all of `text`.
    pub(super) fn parse(self, text: &str) -> Result<Document, Malformed> {
        match self {
            Self::Json => parse_document(text),
            Self::Yaml => yaml::parse(text),
            Self::Toml => toml::parse(text),
            Self::Xml => xml::parse(text),
            Self::Csv => csv::parse(text),
            Self::ToolCalls => calls::parse(text),
        }
    }
}

impl Malformed {
    fn at(line: usize, column: usize, message: impl Into<String>) -> Self {
        Self { duplicate: None, line, column, message: message.into() }
    }

    fn twice(line: usize, column: usize, key: impl Into<String>) -> Self {
        Self { duplicate: Some(key.into()), line, column, message: String::new() }
    }

    /// The place of the byte `offset` of `text`.
    fn at_byte(text: &str, offset: usize, message: impl Into<String>) -> Self {
        let before = text.get(..offset).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        Self::at(before.matches('\n').count() + 1, before.len() - line_start + 1, message)
    }
}

/// Containers within each other.
pub(super) fn depth_of(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth_of).max().unwrap_or(0),
        Value::Object(fields) => 1 + fields.values().map(depth_of).max().unwrap_or(0),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

/// The document of a value that nests `depth` containers.
fn within_depth(value: Value, depth: usize) -> Result<Document, Malformed> {
    if depth > MAX_DEPTH {
        return Err(Malformed::at(1, 1, "it nests too deeply"));
    }
    Ok(Document { value, depth })
}
