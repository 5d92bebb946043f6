//! JSON lines to batches.

mod columns;
mod shape;
#[cfg(test)]
mod tests;

use std::io::BufRead;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{Schema, SchemaRef};
use serde::de::DeserializeSeed as _;
use serde_json::{Deserializer, Value};

use self::columns::Row;
pub(super) use self::columns::{Column, Objects};
use self::shape::{Fits, Shape};
use super::lines::{Line, Lines, MAX_LINE_BYTES};
use super::{Limits, Part, Reject, RowNumbers};
use crate::{DatasetError, Result};

/// What a first reading of a file found.
#[derive(Debug)]
pub(super) struct Learned {
    pub(super) schema: SchemaRef,
    /// Rows that can be read.
    pub(super) rows: u64,
}

/// Reads a file for the shape of its rows. Rows that cannot be read are passed over: the second
/// reading rejects them.
pub(super) fn learn(text: Box<dyn BufRead + Send>, file: &str) -> Result<Learned> {
    let mut lines = Lines::new(text);
    let mut line = Vec::new();
    let mut shape = Shape::Struct(indexmap::IndexMap::new());
    let mut rows = 0;
    let mut first_fault = None;
    while let Some(next) = next(&mut lines, &mut line, file)? {
        let learned = text_of(next, &line).and_then(|text| {
            if !fits(&shape, text)? {
                let value: Value = serde_json::from_str(text).map_err(|error| reason(&error))?;
                shape.observe(&value);
                // Names that are new may be there twice.
                fits(&shape, text)?;
            }
            Ok(())
        });
        match learned {
            Ok(()) => rows += 1,
            Err(reason) => {
                first_fault.get_or_insert((next.number, reason));
            }
        }
    }
    if let (0, Some((row, reason))) = (rows, first_fault) {
        return Err(DatasetError::Row {
            file: file.to_owned(),
            row,
            problem: format!("{reason}; no line of the file is a row of JSON lines"),
        });
    }
    let Shape::Struct(fields) = shape else {
        let problem = "the rows have more than 1,000 names: no table has that many columns";
        return Err(DatasetError::file(file, problem));
    };
    let fields: Vec<_> = fields.iter().map(|(name, shape)| shape.field(name)).collect();
    Ok(Learned { schema: Arc::new(Schema::new(fields)), rows })
}

/// Whether a row has this shape, if it is one.
fn fits(shape: &Shape, text: &str) -> std::result::Result<bool, String> {
    if !text.trim_start().starts_with('{') {
        return Err("not a JSON object".to_owned());
    }
    let mut json = Deserializer::from_str(text);
    Fits(shape)
        .deserialize(&mut json)
        .and_then(|fits| json.end().map(|()| fits))
        .map_err(|error| reason(&error))
}

/// Reads the rows of a file whose shape is known.
pub(super) struct JsonReader {
    lines: Lines,
    file: Arc<str>,
    schema: SchemaRef,
    rows: Objects,
    limits: Limits,
}

impl JsonReader {
    pub(super) fn new(
        text: Box<dyn BufRead + Send>,
        file: Arc<str>,
        schema: SchemaRef,
        limits: Limits,
    ) -> Self {
        Self { lines: Lines::new(text), file, rows: Objects::new(schema.fields()), schema, limits }
    }

    /// The next rows, and the rejected ones among them.
    pub(super) fn next(&mut self) -> Result<Option<Part>> {
        let mut line = Vec::new();
        let (mut numbers, mut rejects, mut bytes) = (Vec::new(), Vec::new(), 0);
        while numbers.len() < self.limits.rows && bytes < self.limits.bytes {
            let Some(next) = next(&mut self.lines, &mut line, &self.file)? else {
                break;
            };
            bytes += line.len();
            match self.take(next, &line) {
                Ok(()) => numbers.push(next.number),
                Err(reason) => {
                    self.rows.truncate(numbers.len());
                    rejects.push(Reject::new(&self.file, next.number, reason, &line));
                }
            }
        }
        if numbers.is_empty() && rejects.is_empty() {
            return Ok(None);
        }
        let columns = self.rows.finish();
        let data = RecordBatch::from(columns)
            .with_schema(self.schema.clone())
            .expect("the columns were made for this schema");
        Ok(Some(Part { rows: RowNumbers::Listed(numbers), data, rejects }))
    }

    fn take(&mut self, line: Line, bytes: &[u8]) -> std::result::Result<(), String> {
        let text = text_of(line, bytes)?;
        if !text.trim_start().starts_with('{') {
            return Err("not a JSON object".to_owned());
        }
        let mut json = Deserializer::from_str(text);
        Row(&mut self.rows)
            .deserialize(&mut json)
            .and_then(|()| json.end())
            .map_err(|error| reason(&error))
    }
}

fn next(lines: &mut Lines, line: &mut Vec<u8>, file: &str) -> Result<Option<Line>> {
    lines.next(line).map_err(|error| DatasetError::Row {
        file: file.to_owned(),
        row: lines.number() + 1,
        problem: super::broken_stream(&error),
    })
}

fn text_of(line: Line, bytes: &[u8]) -> std::result::Result<&str, String> {
    if line.cut {
        return Err(format!("the line is longer than {MAX_LINE_BYTES} bytes"));
    }
    std::str::from_utf8(bytes).map_err(|error| format!("not UTF-8 at byte {}", error.valid_up_to()))
}

/// What is wrong with a line. The position that `serde_json` names is of a text of one line.
fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    match text.strip_suffix(&place) {
        Some(what) if error.column() > 0 => format!("{what} at byte {}", error.column()),
        Some(what) => what.to_owned(),
        None => text,
    }
}
