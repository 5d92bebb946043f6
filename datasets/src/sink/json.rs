//! Rows as JSON lines, and cells as JSON.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray as _, ListArray, RecordBatch, StringArray};
use arrow::datatypes::{DataType, FieldRef};
use arrow::error::ArrowError;
use arrow::json::writer::LineDelimited;
use arrow::json::writer::{NullableEncoder, make_encoder};
use arrow::json::{Encoder, EncoderFactory, EncoderOptions, WriterBuilder};
use rayon::prelude::*;

use crate::source::is_json_text;

/// Rows that one thread writes at once.
const SLICE_ROWS: usize = 1024;

/// Writes the cells of JSON text as the values that they are.
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

/// Whether the items of a list, or of lists in it, are JSON text.
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
            // The encoder for lists that Arrow has knows the list's field and not the item's.
            let items = make_encoder(item, list.values().as_ref(), options)?;
            let nulls = list.nulls().cloned();
            return Ok(Some(NullableEncoder::new(Box::new(Items { list, items }), nulls)));
        }
        if !is_json_text(field) || *array.data_type() != DataType::Utf8 {
            return Ok(None);
        }
        let array = array.as_string::<i32>();
        // Text that somebody else wrote under this name may be anything.
        if array.iter().flatten().any(|text| !is_json(text)) {
            return Ok(None);
        }
        let nulls = array.nulls().cloned();
        Ok(Some(NullableEncoder::new(Box::new(Verbatim(array)), nulls)))
    }
}

/// One JSON value without a line break.
fn is_json(text: &str) -> bool {
    memchr::memchr(b'\n', text.as_bytes()).is_none()
        && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

/// The rows as lines, some in a piece. Nulls are written, so that every line has every column.
pub(super) fn lines(batch: &RecordBatch) -> Result<Vec<Vec<u8>>, ArrowError> {
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

/// One row as a JSON object without a line break, as far as JSON has forms for its types.
///
/// # Errors
/// [`ArrowError`] for a type that JSON has no form for.
pub fn json_row(batch: &RecordBatch, index: usize) -> Result<Vec<u8>, ArrowError> {
    let mut line = lines(&batch.slice(index, 1))?.concat();
    line.truncate(line.trim_ascii_end().len());
    Ok(line)
}

/// Each cell of a column as JSON; a null stays a null.
///
/// # Errors
/// [`ArrowError`] for a type that JSON has no form for.
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
