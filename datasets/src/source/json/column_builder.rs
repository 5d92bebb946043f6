//! Column builders that append a complete row or roll it back.

use std::fmt;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, ListArray, NullArray, StringArray,
    StructArray,
};
use arrow::buffer::{Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow::datatypes::{DataType, Field, Fields};
use serde::Deserialize as _;
use serde::de::{
    DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Unexpected, Visitor,
};
use serde_json::value::RawValue;

use super::value_shape::CheckedValue;
use crate::json_text::is_json_text;

/// A column that grows. Each knows how to drop its last rows, because a row that turns out broken
/// in its last cell has filled the others already.
#[derive(Debug)]
pub(crate) enum ColumnBuilder {
    /// Nulls, this many.
    Null(usize),
    /// Truth values.
    Bool(ValueBuilder<bool>),
    /// Integers.
    Int(ValueBuilder<i64>),
    /// Floating-point numbers.
    Float(ValueBuilder<f64>),
    /// Texts.
    Text(TextBuilder),
    /// Each value's JSON.
    Json(TextBuilder),
    /// Lists of one type.
    List(Box<ListBuilder>),
    /// Objects with known names.
    Struct(ObjectBuilder),
}

/// Values of a fixed size; the value under a null is ignored.
#[derive(Debug, Default)]
pub(crate) struct ValueBuilder<T> {
    values: Vec<T>,
    valid: Vec<bool>,
}

/// Texts end to end.
#[derive(Debug, Default)]
pub(crate) struct TextBuilder {
    bytes: Vec<u8>,
    /// Where each text ends in `bytes`.
    ends: Vec<usize>,
    valid: Vec<bool>,
}

/// Lists end to end.
#[derive(Debug)]
pub(crate) struct ListBuilder {
    field: Arc<Field>,
    items: ColumnBuilder,
    /// Where each list ends in `items`.
    ends: Vec<usize>,
    valid: Vec<bool>,
}

/// Objects, by their fields.
#[derive(Debug)]
pub(crate) struct ObjectBuilder {
    fields: Fields,
    columns: Vec<ColumnBuilder>,
    valid: Vec<bool>,
}

impl<T: Default> ValueBuilder<T> {
    pub(crate) fn push(&mut self, value: Option<T>) {
        self.valid.push(value.is_some());
        self.values.push(value.unwrap_or_default());
    }

    fn truncate(&mut self, len: usize) {
        self.values.truncate(len);
        self.valid.truncate(len);
    }
}

impl TextBuilder {
    pub(crate) fn push(&mut self, text: Option<&str>) {
        self.valid.push(text.is_some());
        self.bytes.extend_from_slice(text.unwrap_or_default().as_bytes());
        self.ends.push(self.bytes.len());
    }

    fn truncate(&mut self, len: usize) {
        self.ends.truncate(len);
        self.valid.truncate(len);
        self.bytes.truncate(self.ends.last().copied().unwrap_or(0));
    }

    fn finish(&mut self) -> StringArray {
        let (bytes, ends) = (std::mem::take(&mut self.bytes), std::mem::take(&mut self.ends));
        StringArray::new(offsets(&ends), Buffer::from_vec(bytes), nulls(&mut self.valid))
    }
}

fn offsets(ends: &[usize]) -> OffsetBuffer<i32> {
    let end = |end: &usize| i32::try_from(*end).expect("a batch ends long before 2 GiB");
    let offsets: Vec<i32> = std::iter::once(0).chain(ends.iter().map(end)).collect();
    OffsetBuffer::new(ScalarBuffer::from(offsets))
}

fn nulls(valid: &mut Vec<bool>) -> Option<NullBuffer> {
    let valid = std::mem::take(valid);
    (!valid.iter().all(|valid| *valid)).then(|| NullBuffer::from(valid))
}

impl ColumnBuilder {
    /// An empty column of a type that files of text are read as.
    pub(crate) fn new(field: &Field) -> Self {
        let data_type = field.data_type();
        if let DataType::List(item) = data_type {
            return Self::List(Box::new(ListBuilder {
                field: item.clone(),
                items: Self::new(item),
                ends: Vec::new(),
                valid: Vec::new(),
            }));
        }
        if let DataType::Struct(fields) = data_type {
            return Self::Struct(ObjectBuilder::new(fields));
        }
        if *data_type == DataType::Null {
            Self::Null(0)
        } else if *data_type == DataType::Boolean {
            Self::Bool(ValueBuilder::default())
        } else if *data_type == DataType::Int64 {
            Self::Int(ValueBuilder::default())
        } else if *data_type == DataType::Float64 {
            Self::Float(ValueBuilder::default())
        } else if is_json_text(field) {
            Self::Json(TextBuilder::default())
        } else {
            Self::Text(TextBuilder::default())
        }
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Null(len) => *len,
            Self::Bool(cells) => cells.valid.len(),
            Self::Int(cells) => cells.valid.len(),
            Self::Float(cells) => cells.valid.len(),
            Self::Text(texts) | Self::Json(texts) => texts.valid.len(),
            Self::List(lists) => lists.valid.len(),
            Self::Struct(objects) => objects.valid.len(),
        }
    }

    pub(crate) fn push_null(&mut self) {
        match self {
            Self::Null(len) => *len += 1,
            Self::Bool(cells) => cells.push(None),
            Self::Int(cells) => cells.push(None),
            Self::Float(cells) => cells.push(None),
            Self::Text(texts) | Self::Json(texts) => texts.push(None),
            Self::List(lists) => lists.end(false),
            Self::Struct(objects) => {
                objects.valid.push(false);
                objects.fill();
            }
        }
    }

    /// Appends the value that a JSON text is.
    ///
    /// # Errors
    /// A text that is no JSON of the column's type; the column may have a part of it.
    pub(crate) fn push_json(&mut self, text: &str) -> serde_json::Result<()> {
        let mut json = serde_json::Deserializer::from_str(text);
        CellSeed(self).deserialize(&mut json)?;
        json.end()
    }

    /// Keeps the first `len` rows.
    pub(crate) fn truncate(&mut self, len: usize) {
        match self {
            Self::Null(own) => *own = len.min(*own),
            Self::Bool(cells) => cells.truncate(len),
            Self::Int(cells) => cells.truncate(len),
            Self::Float(cells) => cells.truncate(len),
            Self::Text(texts) | Self::Json(texts) => texts.truncate(len),
            Self::List(lists) => {
                lists.ends.truncate(len);
                lists.valid.truncate(len);
                let items = lists.ends.last().copied().unwrap_or(0);
                lists.items.truncate(items);
            }
            Self::Struct(objects) => objects.truncate(len),
        }
    }

    /// The array of all rows; the column is empty again.
    pub(crate) fn finish(&mut self) -> ArrayRef {
        match self {
            Self::Null(len) => Arc::new(NullArray::new(std::mem::take(len))),
            Self::Bool(cells) => {
                let values = std::mem::take(&mut cells.values);
                Arc::new(BooleanArray::new(values.into(), nulls(&mut cells.valid)))
            }
            Self::Int(cells) => {
                let values = std::mem::take(&mut cells.values);
                Arc::new(Int64Array::new(values.into(), nulls(&mut cells.valid)))
            }
            Self::Float(cells) => {
                let values = std::mem::take(&mut cells.values);
                Arc::new(Float64Array::new(values.into(), nulls(&mut cells.valid)))
            }
            Self::Text(texts) | Self::Json(texts) => Arc::new(texts.finish()),
            Self::List(lists) => {
                let ends = std::mem::take(&mut lists.ends);
                let (field, items) = (lists.field.clone(), lists.items.finish());
                let nulls = nulls(&mut lists.valid);
                Arc::new(ListArray::new(field, offsets(&ends), items, nulls))
            }
            Self::Struct(objects) => Arc::new(objects.finish()),
        }
    }
}

impl ListBuilder {
    /// Ends a list with the items that came since the last one.
    fn end(&mut self, valid: bool) {
        self.valid.push(valid);
        self.ends.push(self.items.len());
    }
}

impl ObjectBuilder {
    /// No rows yet.
    pub(crate) fn new(fields: &Fields) -> Self {
        Self {
            fields: fields.clone(),
            columns: fields.iter().map(|field| ColumnBuilder::new(field)).collect(),
            valid: Vec::new(),
        }
    }

    /// Rows so far.
    pub(crate) fn len(&self) -> usize {
        self.valid.len()
    }

    /// Keeps the first `len` rows.
    pub(crate) fn truncate(&mut self, len: usize) {
        self.valid.truncate(len);
        for column in &mut self.columns {
            column.truncate(len);
        }
    }

    /// The columns, in the order of the fields.
    pub(crate) fn columns(&mut self) -> &mut [ColumnBuilder] {
        &mut self.columns
    }

    /// Counts a row whose cells are in the columns.
    pub(crate) fn end_row(&mut self) {
        self.valid.push(true);
        self.fill();
    }

    /// The array of all rows; there are none afterwards.
    pub(crate) fn finish(&mut self) -> StructArray {
        let len = self.valid.len();
        let columns = self.columns.iter_mut().map(ColumnBuilder::finish).collect();
        let nulls = nulls(&mut self.valid);
        StructArray::try_new_with_length(self.fields.clone(), columns, nulls, len)
            .expect("each column has the type of its field and one cell a row")
    }

    /// Gives a null to every column that has no cell for the last row.
    fn fill(&mut self) {
        let rows = self.valid.len();
        for column in &mut self.columns {
            if column.len() < rows {
                column.push_null();
            }
        }
    }

    /// The position of a field; `near` is where it stands if keys come in the usual order.
    fn position(&self, key: &str, near: usize) -> Option<usize> {
        let is_it = |field: &Arc<Field>| field.name() == key;
        match self.fields.get(near) {
            Some(field) if is_it(field) => Some(near),
            Some(_) | None => self.fields.iter().position(is_it),
        }
    }
}

/// Reads one object into a row.
pub(super) struct RowSeed<'c>(pub(super) &'c mut ObjectBuilder);

/// Reads one value into a cell.
struct CellSeed<'c>(&'c mut ColumnBuilder);

/// Finds a key's column.
struct KeySeed<'c>(&'c ObjectBuilder, usize);

impl<'de> DeserializeSeed<'de> for RowSeed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for RowSeed<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let objects = self.0;
        let rows = objects.len();
        let mut near = 0;
        while let Some(position) = map.next_key_seed(KeySeed(objects, near))? {
            let Some(position) = position else {
                map.next_value::<IgnoredAny>()?;
                continue;
            };
            near = position + 1;
            let column = &mut objects.columns[position];
            if column.len() > rows {
                let name = objects.fields[position].name();
                return Err(A::Error::custom(format!("two values for '{name}'")));
            }
            map.next_value_seed(CellSeed(column))?;
        }
        objects.end_row();
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for KeySeed<'_> {
    type Value = Option<usize>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for KeySeed<'_> {
    type Value = Option<usize>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a key")
    }

    fn visit_str<E>(self, key: &str) -> Result<Self::Value, E> {
        Ok(self.0.position(key, self.1))
    }
}

impl<'de> DeserializeSeed<'de> for CellSeed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        match self.0 {
            ColumnBuilder::Json(texts) => {
                let json = <&RawValue>::deserialize(deserializer)?.get();
                // Taken as it stands, its strings were not looked into.
                let whole = CheckedValue.deserialize(&mut serde_json::Deserializer::from_str(json));
                whole.map_err(D::Error::custom)?;
                texts.push((json != "null").then_some(json));
                Ok(())
            }
            ColumnBuilder::Null(_)
            | ColumnBuilder::Bool(_)
            | ColumnBuilder::Int(_)
            | ColumnBuilder::Float(_)
            | ColumnBuilder::Text(_)
            | ColumnBuilder::List(_)
            | ColumnBuilder::Struct(_) => deserializer.deserialize_any(self),
        }
    }
}

impl<'de> Visitor<'de> for CellSeed<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self.0 {
            ColumnBuilder::Null(_) => "null",
            ColumnBuilder::Bool(_) => "true or false",
            ColumnBuilder::Int(_) => "an integer",
            ColumnBuilder::Float(_) => "a number",
            ColumnBuilder::Text(_) => "a string",
            ColumnBuilder::Json(_) => "a JSON value",
            ColumnBuilder::List(_) => "a list",
            ColumnBuilder::Struct(_) => "an object",
        })
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        self.0.push_null();
        Ok(())
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<(), E> {
        if let ColumnBuilder::Bool(cells) = self.0 {
            cells.push(Some(value));
            return Ok(());
        }
        Err(E::invalid_type(Unexpected::Bool(value), &self))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<(), E> {
        if let ColumnBuilder::Int(cells) = self.0 {
            cells.push(Some(value));
            return Ok(());
        }
        #[expect(
            clippy::cast_precision_loss,
            reason = "a column of numbers with wide integers has another type"
        )]
        if let ColumnBuilder::Float(cells) = self.0 {
            cells.push(Some(value as f64));
            return Ok(());
        }
        Err(E::invalid_type(Unexpected::Signed(value), &self))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<(), E> {
        match i64::try_from(value) {
            Ok(value) => self.visit_i64(value),
            Err(_) => Err(E::invalid_type(Unexpected::Unsigned(value), &self)),
        }
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<(), E> {
        if let ColumnBuilder::Float(cells) = self.0 {
            cells.push(Some(value));
            return Ok(());
        }
        Err(E::invalid_type(Unexpected::Float(value), &self))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<(), E> {
        if let ColumnBuilder::Text(texts) = self.0 {
            texts.push(Some(value));
            return Ok(());
        }
        Err(E::invalid_type(Unexpected::Str(value), &self))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let ColumnBuilder::List(lists) = self.0 else {
            return Err(A::Error::invalid_type(Unexpected::Seq, &self));
        };
        while seq.next_element_seed(CellSeed(&mut lists.items))?.is_some() {}
        lists.end(true);
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<(), A::Error> {
        if let ColumnBuilder::Struct(objects) = self.0 {
            return RowSeed(objects).visit_map(map);
        }
        Err(A::Error::invalid_type(Unexpected::Map, &self))
    }
}
