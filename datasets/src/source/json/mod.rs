//! JSON lines to batches.

mod column_builder;
#[cfg(test)]
mod tests;
mod value_shape;

use std::io::BufRead;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{Schema, SchemaRef};
use serde::de::DeserializeSeed as _;
use serde_json::{Deserializer, Value};

use self::column_builder::RowSeed;
pub(super) use self::column_builder::{ColumnBuilder, ObjectBuilder};
use self::value_shape::FitsShape;
pub(super) use self::value_shape::ValueShape;
use super::lines::{LineReader, MAX_LINE_BYTES, NumberedLine};
use super::{BatchLimits, FileBatch, Reject, RowNumbers};
use crate::json_text::json_text_field;
use crate::{DatasetError, Result};

/// What a first reading of a file found.
#[derive(Debug)]
pub(super) struct InferredFile {
    pub(super) schema: SchemaRef,
    /// Rows that can be read.
    pub(super) rows: u64,
}

/// Reads a file for the shape of its rows. Rows that cannot be read are passed over: the second
/// reading rejects them. `as_written` keeps the JSON of each value.
pub(super) fn infer(
    text: Box<dyn BufRead + Send>,
    file: &str,
    as_written: bool,
) -> Result<InferredFile> {
    let mut lines = LineReader::new(text);
    let mut line = Vec::new();
    let mut shape = ValueShape::Struct(indexmap::IndexMap::new());
    let mut rows = 0;
    let mut first_fault = None;
    while let Some(next) = next(&mut lines, &mut line, file)? {
        match text_of(next, &line).and_then(|text| observe(&mut shape, text)) {
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
    let ValueShape::Struct(fields) = shape else {
        let problem = "the rows have more than 1,000 names: no table has that many columns";
        return Err(DatasetError::file(file, problem));
    };
    let field = |(name, shape): (&String, &ValueShape)| {
        if as_written { json_text_field(name) } else { shape.field(name) }
    };
    let fields: Vec<_> = fields.iter().map(field).collect();
    Ok(InferredFile { schema: Arc::new(Schema::new(fields)), rows })
}

/// Widens a shape to take the object that a text is.
///
/// # Errors
/// A sentence for a text that is no JSON object; the shape may have been widened.
pub(super) fn observe(shape: &mut ValueShape, text: &str) -> std::result::Result<(), String> {
    if !fits(shape, text)? {
        let value: Value = serde_json::from_str(text).map_err(|error| reason(&error))?;
        shape.observe(&value, has_long_integer(text));
        // Names that are new may be there twice.
        fits(shape, text)?;
    }
    Ok(())
}

/// Whether a row has an integer of more digits than 64 bits hold, outside of its strings.
fn has_long_integer(text: &str) -> bool {
    const DIGITS: usize = 19;
    let (mut in_string, mut is_escaped, mut digits, mut is_float) = (false, false, 0, false);
    for byte in text.bytes() {
        if in_string {
            in_string = is_escaped || byte != b'"';
            is_escaped = byte == b'\\' && !is_escaped;
            continue;
        }
        match byte {
            b'0'..=b'9' => digits += 1,
            b'.' | b'e' | b'E' | b'+' | b'-' if digits > 0 => is_float = true,
            _ => {
                if digits >= DIGITS && !is_float {
                    return true;
                }
                (in_string, digits, is_float) = (byte == b'"', 0, false);
            }
        }
    }
    false
}

/// Whether a row has this shape, if it is one.
fn fits(shape: &ValueShape, text: &str) -> std::result::Result<bool, String> {
    if !text.trim_start().starts_with('{') {
        return Err("not a JSON object".to_owned());
    }
    let mut json = Deserializer::from_str(text);
    FitsShape(shape)
        .deserialize(&mut json)
        .and_then(|fits| json.end().map(|()| fits))
        .map_err(|error| reason(&error))
}

/// Reads the rows of a file whose shape is known.
pub(super) struct JsonReader {
    lines: LineReader,
    file: Arc<str>,
    schema: SchemaRef,
    rows: ObjectBuilder,
    limits: BatchLimits,
}

impl JsonReader {
    pub(super) fn new(
        text: Box<dyn BufRead + Send>,
        file: Arc<str>,
        schema: SchemaRef,
        limits: BatchLimits,
    ) -> Self {
        Self {
            lines: LineReader::new(text),
            file,
            rows: ObjectBuilder::new(schema.fields()),
            schema,
            limits,
        }
    }

    /// The next rows, and the rejected ones among them.
    pub(super) fn next(&mut self) -> Result<Option<FileBatch>> {
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
        Ok(Some(FileBatch { rows: RowNumbers::Listed(numbers), data, rejects }))
    }

    fn take(&mut self, line: NumberedLine, bytes: &[u8]) -> std::result::Result<(), String> {
        let text = text_of(line, bytes)?;
        if !text.trim_start().starts_with('{') {
            return Err("not a JSON object".to_owned());
        }
        let mut json = Deserializer::from_str(text);
        RowSeed(&mut self.rows)
            .deserialize(&mut json)
            .and_then(|()| json.end())
            .map_err(|error| reason(&error))
    }
}

fn next(lines: &mut LineReader, line: &mut Vec<u8>, file: &str) -> Result<Option<NumberedLine>> {
    lines.next(line).map_err(|error| DatasetError::Row {
        file: file.to_owned(),
        row: lines.number() + 1,
        problem: super::broken_stream(&error),
    })
}

fn text_of(line: NumberedLine, bytes: &[u8]) -> std::result::Result<&str, String> {
    if line.cut {
        return Err(format!("the line is longer than {MAX_LINE_BYTES} bytes"));
    }
    std::str::from_utf8(bytes).map_err(|error| format!("not UTF-8 at byte {}", error.valid_up_to()))
}

/// Describes the error of a line. The position that `serde_json` names is of a text of one line.
fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    match text.strip_suffix(&place) {
        Some(what) if error.column() > 0 => format!("{what} at byte {}", error.column()),
        Some(what) => what.to_owned(),
        None => text,
    }
}
