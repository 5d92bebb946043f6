//! JSON text: rows as JSON lines, cells as JSON, and columns whose cells hold JSON.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray as _, ListArray, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, FieldRef};
use arrow::error::ArrowError;
use arrow::json::writer::LineDelimited;
use arrow::json::writer::{NullableEncoder, make_encoder};
use arrow::json::{Encoder, EncoderFactory, EncoderOptions, WriterBuilder};
use rayon::prelude::*;

const EXTENSION: &str = "ARROW:extension:name";
const JSON_EXTENSION: &str = "arrow.json";

/// Makes a text field whose cells hold JSON verbatim, for columns with values of several types. JSON
/// sinks write such a cell as a value.
pub fn json_text_field(name: &str) -> Field {
    let metadata = HashMap::from([(EXTENSION.to_owned(), JSON_EXTENSION.to_owned())]);
    Field::new(name, DataType::Utf8, true).with_metadata(metadata)
}

/// Whether the cells of a column hold JSON.
pub fn is_json_text(field: &Field) -> bool {
    let name = field.metadata().get(EXTENSION);
    name.is_some_and(|name| name == JSON_EXTENSION)
}

/// Rows that one thread encodes at a time.
const SLICE_ROWS: usize = 1024;

/// Encodes cells of JSON text verbatim.
#[derive(Debug)]
struct JsonText;

struct Verbatim<'a>(&'a StringArray);

impl Encoder for Verbatim<'_> {
    fn encode(&mut self, index: usize, out: &mut Vec<u8>) {
        out.extend_from_slice(self.0.value(index).as_bytes());
    }
}

/// Lists whose items are JSON text.
struct Items<'a> {
    list: &'a ListArray,
    items: NullableEncoder<'a>,
}

impl Encoder for Items<'_> {
    fn encode(&mut self, index: usize, out: &mut Vec<u8>) {
        let offsets = self.list.value_offsets();
        out.push(b'[');
        for item in offsets[index]..offsets[index + 1] {
            if item > offsets[index] {
                out.push(b',');
            }
            let item = usize::try_from(item).expect("offsets of a list are not negative");
            if self.items.is_null(item) {
                out.extend_from_slice(b"null");
            } else {
                self.items.encode(item, out);
            }
        }
        out.push(b']');
    }
}

/// Whether the items of a list, or of nested lists, are JSON text.
fn holds_json(item: &FieldRef) -> bool {
    if let DataType::List(inner) = item.data_type() {
        return holds_json(inner);
    }
    is_json_text(item)
}

impl EncoderFactory for JsonText {
    fn make_default_encoder<'a>(
        &self,
        field: &'a FieldRef,
        array: &'a dyn Array,
        options: &'a EncoderOptions,
    ) -> Result<Option<NullableEncoder<'a>>, ArrowError> {
        if let DataType::List(item) = array.data_type() {
            if !holds_json(item) {
                return Ok(None);
            }
            let list = array.as_list::<i32>();
            // Arrow's list encoder passes on the list's field and not the item's.
            let items = make_encoder(item, list.values().as_ref(), options)?;
            let nulls = list.nulls().cloned();
            return Ok(Some(NullableEncoder::new(Box::new(Items { list, items }), nulls)));
        }
        if !is_json_text(field) || *array.data_type() != DataType::Utf8 {
            return Ok(None);
        }
        let array = array.as_string::<i32>();
        // Another program may have written text that is not JSON under this extension name.
        if array.iter().flatten().any(|text| !is_json(text)) {
            return Ok(None);
        }
        let nulls = array.nulls().cloned();
        Ok(Some(NullableEncoder::new(Box::new(Verbatim(array)), nulls)))
    }
}

/// Whether a text is one JSON value without a line break.
fn is_json(text: &str) -> bool {
    memchr::memchr(b'\n', text.as_bytes()).is_none()
        && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

/// Encodes rows as lines, several to a piece. Nulls are written, so that every line has every column.
pub(crate) fn lines(batch: &RecordBatch) -> Result<Vec<Vec<u8>>, ArrowError> {
    let starts: Vec<usize> = (0..batch.num_rows()).step_by(SLICE_ROWS).collect();
    starts
        .into_par_iter()
        .map(|start| {
            let rows = SLICE_ROWS.min(batch.num_rows() - start);
            let mut out = Vec::new();
            let mut writer = WriterBuilder::new()
                .with_explicit_nulls(true)
                .with_encoder_factory(Arc::new(JsonText))
                .build::<_, LineDelimited>(&mut out);
            writer.write(&batch.slice(start, rows))?;
            writer.finish()?;
            drop(writer);
            Ok(out)
        })
        .collect()
}

/// Encodes rows as JSON lines.
///
/// # Errors
/// [`ArrowError`] for a type without a JSON form.
pub fn json_lines(batch: &RecordBatch) -> Result<String, ArrowError> {
    let lines = lines(batch)?.concat();
    Ok(String::from_utf8(lines).expect("JSON is text"))
}

/// Encodes one row as a JSON object without a line break.
///
/// # Errors
/// [`ArrowError`] for a type without a JSON form.
pub fn json_row(batch: &RecordBatch, index: usize) -> Result<Vec<u8>, ArrowError> {
    let mut line = lines(&batch.slice(index, 1))?.concat();
    line.truncate(line.trim_ascii_end().len());
    Ok(line)
}

/// Encodes each cell of a column as JSON; a null stays null.
///
/// # Errors
/// [`ArrowError`] for a type without a JSON form.
pub fn json_cells(field: &FieldRef, array: &ArrayRef) -> Result<StringArray, ArrowError> {
    let options = EncoderOptions::default()
        .with_explicit_nulls(true)
        .with_encoder_factory(Arc::new(JsonText));
    let mut encoder = make_encoder(field, array.as_ref(), &options)?;
    let mut cell = Vec::new();
    let texts = (0..array.len()).map(|index| {
        if array.is_null(index) {
            return None;
        }
        cell.clear();
        encoder.encode(index, &mut cell);
        Some(String::from_utf8_lossy(&cell).into_owned())
    });
    Ok(texts.collect())
}
