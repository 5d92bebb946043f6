//! Values between commas or tabs to batches.
//!
//! Cells have no types of their own, and none is nested. The column of verdicts holds their JSON, which is
//! read as JSON lines are, so that a scored table has the same columns in every format.

use std::io::{BufRead, Read as _};
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use csv::ByteRecord;

use super::json::{ColumnBuilder, ObjectBuilder, ValueShape, observe};
use super::{BatchLimits, FileBatch, Reject, RowNumbers};
use crate::verdict::SCORES_COLUMN;
use crate::{DatasetError, Result};

/// What the cells of a column have in common. An empty cell is a null and has no type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CellType {
    Null,
    Bool,
    /// Integers that are exact as floating-point numbers too.
    Int,
    /// Integers of 64 bits, of which some are not.
    Long,
    Float,
    Text,
}

/// Integers up to here are exact as floating-point numbers.
const EXACT: u64 = 1 << 53;

impl CellType {
    /// The kind of one cell. A number that would be written differently than it stands (`007`,
    /// `+1`, `1_000`) is text: it is an identifier at least as often.
    fn of(cell: &str) -> Self {
        match cell {
            "" => Self::Null,
            "true" | "false" | "True" | "False" => Self::Bool,
            cell if is_int(cell) => match cell.parse::<i64>() {
                Ok(int) if int.unsigned_abs() <= EXACT => Self::Int,
                Ok(_) => Self::Long,
                Err(_) => Self::Text,
            },
            cell if is_float(cell) => Self::Float,
            _ => Self::Text,
        }
    }

    fn merge(self, other: Self) -> Self {
        match (self, other) {
            (Self::Null, cell_type) | (cell_type, Self::Null) => cell_type,
            (left, right) if left == right => left,
            (Self::Int | Self::Long, Self::Int | Self::Long) => Self::Long,
            (Self::Int | Self::Float, Self::Int | Self::Float) => Self::Float,
            (Self::Bool | Self::Int | Self::Long | Self::Float | Self::Text, _other) => Self::Text,
        }
    }

    fn data_type(self) -> DataType {
        match self {
            Self::Null => DataType::Null,
            Self::Bool => DataType::Boolean,
            Self::Int | Self::Long => DataType::Int64,
            Self::Float => DataType::Float64,
            Self::Text => DataType::Utf8,
        }
    }
}

/// What a column holds, as far as it was read.
struct ColumnType {
    cells: CellType,
    /// Shape of the objects that the cells are; `None` where one is no object, and for every column
    /// but [`SCORES_COLUMN`].
    objects: Option<ValueShape>,
}

impl ColumnType {
    /// `is_text` keeps the cells of a column as they are.
    fn new(name: &str, is_text: bool) -> Self {
        let objects = (name == SCORES_COLUMN).then_some(ValueShape::Null);
        Self { cells: if is_text { CellType::Text } else { CellType::Null }, objects }
    }

    fn observe(&mut self, cell: &str) {
        if self.cells != CellType::Text {
            self.cells = self.cells.merge(CellType::of(cell));
        }
        if let Some(shape) = self.objects.as_mut().filter(|_| !cell.is_empty())
            && observe(shape, cell).is_err()
        {
            self.objects = None;
        }
    }

    fn field(&self, name: &str) -> Field {
        match &self.objects {
            Some(shape) => shape.field(name),
            None => Field::new(name, self.cells.data_type(), true),
        }
    }
}

fn is_int(cell: &str) -> bool {
    let digits = cell.strip_prefix('-').unwrap_or(cell);
    let plain = digits == "0" && cell == "0" || !digits.starts_with('0');
    plain && digits.bytes().all(|b| b.is_ascii_digit())
}

fn is_float(cell: &str) -> bool {
    let digits = cell.strip_prefix('-').unwrap_or(cell);
    let is_number = |b: u8| b.is_ascii_digit() || b".eE+-".contains(&b);
    let zeros = digits.starts_with('0') && digits.as_bytes().get(1).is_some_and(u8::is_ascii_digit);
    digits.starts_with(|c: char| c.is_ascii_digit())
        && digits.bytes().all(is_number)
        && digits.contains(['.', 'e', 'E'])
        && !zeros
        && cell.parse::<f64>().is_ok_and(f64::is_finite)
}

/// Follows the text of a file. Where a quote is still open it is a part of the last cell, and otherwise
/// a record of its own.
const END: &[u8] = b"\n\x1f\x1etribunal end of text\x1e\x1f\n";

/// A file being read, record by record.
struct Records {
    reader: csv::Reader<Box<dyn BufRead + Send>>,
    /// Records read so far, the names included.
    number: u64,
    record: ByteRecord,
    names: Vec<String>,
    file: Arc<str>,
}

impl Records {
    /// Opens a file and reads its names. `None` for a file without any.
    fn open(text: Box<dyn BufRead + Send>, file: Arc<str>, delimiter: u8) -> Result<Option<Self>> {
        let reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .delimiter(delimiter)
            .from_reader(Box::new(text.chain(END)) as Box<dyn BufRead + Send>);
        let mut records =
            Self { reader, number: 0, record: ByteRecord::new(), names: Vec::new(), file };
        if records.next()?.is_none() {
            return Ok(None);
        }
        records.names = names(&records.record, &records.file)?;
        Ok(Some(records))
    }

    /// Reads the next record, and says its number.
    fn next(&mut self) -> Result<Option<u64>> {
        self.number += 1;
        let read = self.reader.read_byte_record(&mut self.record);
        if !read.map_err(|error| broken(&self.file, self.number, &error))? {
            return Ok(None);
        }
        let cell = self.record.iter().next_back().unwrap_or_default();
        let is_end = cell == END.trim_ascii();
        if !is_end && cell.ends_with(END) {
            let problem = "a quote is opened in this row and never closed".to_owned();
            let file = self.file.to_string();
            return Err(DatasetError::Row { file, row: self.number, problem });
        }
        Ok((!is_end).then_some(self.number))
    }

    /// The cells of the current record; `None` if it is incomplete.
    fn cells(&self) -> std::result::Result<Vec<&str>, String> {
        let (cells, names) = (self.record.len(), self.names.len());
        if cells != names {
            return Err(format!("{cells} cells, but the first line names {names} columns"));
        }
        self.record
            .iter()
            .zip(&self.names)
            .map(|(cell, name)| {
                std::str::from_utf8(cell).map_err(|_| format!("column '{name}' is not UTF-8"))
            })
            .collect()
    }
}

#[expect(clippy::wildcard_enum_match_arm, reason = "the other kinds are said as they are")]
fn broken(file: &str, row: u64, error: &csv::Error) -> DatasetError {
    let problem = match error.kind() {
        csv::ErrorKind::Io(error) => super::broken_stream(error),
        _ => error.to_string(),
    };
    DatasetError::Row { file: file.to_owned(), row, problem }
}

/// The names of the columns. One without a name is named as pandas does it.
fn names(record: &ByteRecord, file: &str) -> Result<Vec<String>> {
    let mut names: Vec<String> = Vec::with_capacity(record.len());
    for (index, name) in record.iter().enumerate() {
        let name = std::str::from_utf8(name)
            .map_err(|_| DatasetError::file(file, "the names in the first line are not UTF-8"))?;
        let name = match name {
            "" => format!("Unnamed: {index}"),
            name => name.to_owned(),
        };
        if names.contains(&name) {
            let problem = "is named twice in the first line";
            return Err(DatasetError::column(file, &name, problem));
        }
        names.push(name);
    }
    Ok(names)
}

/// Reads a file for the types of its columns; also says how many rows can be read. Columns that `is_text`
/// holds for keep their cells as they are.
pub(super) fn infer(
    text: Box<dyn BufRead + Send>,
    file: &Arc<str>,
    delimiter: u8,
    is_text: impl Fn(&str) -> bool,
) -> Result<(SchemaRef, u64)> {
    let Some(mut records) = Records::open(text, file.clone(), delimiter)? else {
        return Ok((Arc::new(Schema::empty()), 0));
    };
    let mut columns: Vec<ColumnType> =
        records.names.iter().map(|name| ColumnType::new(name, is_text(name))).collect();
    let mut rows = 0;
    while records.next()?.is_some() {
        if let Ok(cells) = records.cells() {
            rows += 1;
            for (column, cell) in columns.iter_mut().zip(cells) {
                column.observe(cell);
            }
        }
    }
    let named = records.names.iter().zip(&columns);
    let fields: Vec<Field> = named.map(|(name, column)| column.field(name)).collect();
    Ok((Arc::new(Schema::new(fields)), rows))
}

/// Reads the rows of a file whose types are known.
pub(super) struct CsvReader {
    records: Option<Records>,
    schema: SchemaRef,
    rows: ObjectBuilder,
    limits: BatchLimits,
}

impl CsvReader {
    pub(super) fn new(
        text: Box<dyn BufRead + Send>,
        (file, delimiter): (Arc<str>, u8),
        schema: SchemaRef,
        limits: BatchLimits,
    ) -> Result<Self> {
        Ok(Self {
            records: Records::open(text, file, delimiter)?,
            rows: ObjectBuilder::new(schema.fields()),
            schema,
            limits,
        })
    }

    /// The next rows, and the rejected ones among them.
    pub(super) fn next(&mut self) -> Result<Option<FileBatch>> {
        let Some(records) = &mut self.records else {
            return Ok(None);
        };
        let (mut numbers, mut rejects, mut bytes) = (Vec::new(), Vec::new(), 0);
        while numbers.len() < self.limits.rows && bytes < self.limits.bytes {
            let Some(line) = records.next()? else {
                break;
            };
            bytes += records.record.as_slice().len();
            let taken = records.cells().and_then(|cells| {
                for (column, cell) in self.rows.columns().iter_mut().zip(cells) {
                    push(column, cell)?;
                }
                self.rows.end_row();
                Ok(())
            });
            match taken {
                Ok(()) => numbers.push(line),
                Err(reason) => {
                    self.rows.truncate(numbers.len());
                    let cells = records.record.as_slice();
                    rejects.push(Reject::new(&records.file, line, reason, cells));
                }
            }
        }
        if numbers.is_empty() && rejects.is_empty() {
            return Ok(None);
        }
        let data = RecordBatch::from(self.rows.finish())
            .with_schema(self.schema.clone())
            .expect("the columns were made for this schema");
        Ok(Some(FileBatch { rows: RowNumbers::Listed(numbers), data, rejects }))
    }
}

/// Appends a cell. One that does not parse was not there when the types were learned.
fn push(column: &mut ColumnBuilder, cell: &str) -> std::result::Result<(), String> {
    let wrong = || format!("'{cell}' has another type than the cells before");
    match (column, cell) {
        (column, "") => column.push_null(),
        (ColumnBuilder::Bool(cells), "true" | "True") => cells.push(Some(true)),
        (ColumnBuilder::Bool(cells), "false" | "False") => cells.push(Some(false)),
        (ColumnBuilder::Int(cells), cell) => cells.push(Some(cell.parse().map_err(|_| wrong())?)),
        (ColumnBuilder::Float(cells), cell) => cells.push(Some(cell.parse().map_err(|_| wrong())?)),
        (ColumnBuilder::Text(texts), cell) => texts.push(Some(cell)),
        (
            column @ (ColumnBuilder::Json(_) | ColumnBuilder::List(_) | ColumnBuilder::Struct(_)),
            cell,
        ) => column.push_json(cell).map_err(|_| wrong())?,
        (ColumnBuilder::Null(_) | ColumnBuilder::Bool(_), _cell) => return Err(wrong()),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_have_types() {
        #[track_caller]
        fn check(cells: &[&str], expected: CellType) {
            let cell_type = cells
                .iter()
                .fold(CellType::Null, |cell_type, cell| cell_type.merge(CellType::of(cell)));
            assert_eq!(cell_type, expected, "{cells:?}");
        }
        check(&["", ""], CellType::Null);
        check(&["true", "", "False"], CellType::Bool);
        check(&["0", "-12", "9223372036854775807"], CellType::Long);
        check(&["1", "9007199254740993"], CellType::Long);
        check(&["-9007199254740993", "1"], CellType::Long);
        check(&["9007199254740992", "2.5"], CellType::Float);
        check(&["9007199254740993", "2.5"], CellType::Text);
        check(&["1", "2.5"], CellType::Float);
        check(&["1e5", "-0.5", "3."], CellType::Float);
        for text in [
            "007",
            "+1",
            "-0",
            "-",
            "1_000",
            "1,5",
            " 1",
            ".5",
            "nan",
            "inf",
            "00.5",
            "1e999",
            "9223372036854775808",
            "0x10",
            "TRUE",
            "1-2",
            "1e",
        ] {
            check(&[text], CellType::Text);
        }
        check(&["true", "1"], CellType::Text);
        check(&["1", "x"], CellType::Text);
        check(&["2.5", "true"], CellType::Text);
    }
}
