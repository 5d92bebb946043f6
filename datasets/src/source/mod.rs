//! Input files as Arrow batches with row numbers.
//!
//! [`Dataset::open`] resolves names to files and unifies their schemas; text is read completely for
//! that, so that a type holds for every row. [`Dataset::batches`] then reads the rows in file order
//! with bounded memory. A row that cannot be read becomes a [`Reject`], and reading continues.

mod csv;
mod digest;
mod input;
mod json;
mod lines;
mod parquet;
mod unify;

#[cfg(test)]
mod tests;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use ::parquet::arrow::arrow_reader::ArrowReaderMetadata;
use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, SchemaRef};

use self::csv::CsvReader;
pub use self::digest::digest;
pub use self::input::InputFile;
use self::json::JsonReader;
use self::parquet::{ParquetInput, ParquetReader};
use crate::Result;
use crate::format::Format;
pub use crate::layout::Selection;

/// Maximum bytes of a rejected row that are kept.
const HEAD_BYTES: usize = 4 << 10;

/// Handling of columns that only some files have.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum MissingColumns {
    /// Fail with file and column.
    #[default]
    Refuse,
    /// Fill with nulls.
    Null,
}

/// Size limits of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchLimits {
    /// Maximum number of rows.
    pub rows: usize,
    /// Bytes after which a batch ends with the row at hand.
    pub bytes: usize,
}

impl Default for BatchLimits {
    fn default() -> Self {
        Self { rows: 8192, bytes: 16 << 20 }
    }
}

/// Columns whose cells between commas or tabs stay texts, whatever they look like.
#[derive(Debug, Clone, Default)]
pub enum TextColumns {
    /// Those that hold something else than numbers or truth values.
    #[default]
    ByCells,
    /// Those, and the named ones.
    Named(Vec<String>),
    /// All of them; those of JSON lines are the JSON of their values, as it is written.
    All,
}

impl TextColumns {
    fn has(&self, name: &str) -> bool {
        match self {
            Self::ByCells => false,
            Self::Named(names) => names.iter().any(|own| own == name),
            Self::All => true,
        }
    }
}

/// Options for opening inputs.
#[derive(Debug, Clone, Default)]
pub struct SourceOptions {
    /// Format of every input; `None` to detect it by name.
    pub format: Option<Format>,
    /// Configuration and split of dataset folders.
    pub selection: Selection,
    /// Handling of columns that only some files have.
    pub missing: MissingColumns,
    /// Size limits of a batch.
    pub limits: BatchLimits,
    /// Folder that standard input is spooled to; `None` for the system's temporary folder.
    pub temporary: Option<PathBuf>,
    /// Columns whose cells stay texts.
    pub texts: TextColumns,
}

/// Resolves files, globs and folders to files, in order.
///
/// # Errors
/// [`crate::DatasetError`] for what cannot be found, and for a folder whose split must be chosen.
pub fn files(names: &[String], selection: &Selection) -> Result<Vec<PathBuf>> {
    crate::layout::resolve(names, selection)
}

/// Row numbers in a file, from 1: lines of JSON lines, rows of Parquet, records of CSV and TSV (where
/// the header is record 1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RowNumbers {
    /// Consecutive from here.
    From(u64),
    /// One for each row.
    Listed(Vec<u64>),
}

impl RowNumbers {
    /// The number of the row at `index` of the batch.
    ///
    /// # Panics
    /// If the batch has no such row.
    pub fn number(&self, index: usize) -> u64 {
        match self {
            Self::From(first) => first + index as u64,
            Self::Listed(numbers) => numbers[index],
        }
    }
}

/// A row that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Reject {
    /// The file as it was named.
    pub file: String,
    /// As [`RowNumbers`] counts.
    pub row: u64,
    /// The reason, as a sentence without its full stop.
    pub reason: String,
    /// The beginning of the row; invalid UTF-8 is replaced.
    pub line: String,
    /// Length of the row in bytes, as far as it was read.
    pub line_bytes: u64,
}

impl Reject {
    fn new(file: &str, row: u64, reason: String, line: &[u8]) -> Self {
        let head = &line[..line.len().min(HEAD_BYTES)];
        Self {
            file: file.to_owned(),
            row,
            reason,
            line: String::from_utf8_lossy(head).into_owned(),
            line_bytes: line.len() as u64,
        }
    }
}

/// Consecutive rows of one file.
#[derive(Debug, Clone)]
pub struct Batch {
    /// The file as it was named.
    pub file: Arc<str>,
    /// Their numbers in the file.
    pub rows: RowNumbers,
    /// The rows, with the schema of the dataset; may be empty.
    pub data: RecordBatch,
    /// Rows among them that could not be read.
    pub rejects: Vec<Reject>,
}

impl Batch {
    /// Makes a reject of the row at `index`, which was read but cannot be used.
    pub fn reject(&self, index: usize, reason: String) -> Reject {
        // A row without a JSON form is identified by its number only.
        let line = crate::json_text::json_row(&self.data, index).unwrap_or_default();
        Reject::new(&self.file, self.rows.number(index), reason, &line)
    }
}

/// A batch with the schema of its file.
#[derive(Debug)]
struct FileBatch {
    rows: RowNumbers,
    data: RecordBatch,
    rejects: Vec<Reject>,
}

/// Opened inputs; clones are cheap.
#[derive(Debug, Clone)]
pub struct Dataset(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    files: Vec<InputFile>,
    schema: SchemaRef,
    limits: BatchLimits,
}

/// An input and the SHA-256 of its content.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct InputDigest {
    /// The file as it was named.
    pub file: String,
    /// Bytes of the file as it lies there.
    pub bytes: u64,
    /// `sha256:` and 64 hexadecimal digits.
    pub digest: String,
}

impl Dataset {
    /// Opens files, globs, folders, and `-` for standard input.
    ///
    /// # Errors
    /// [`crate::DatasetError`], of each kind but those of outputs and queries: what cannot be found
    /// or read, files that are not what their names say, columns that do not go together.
    pub fn open(names: &[String], options: &SourceOptions) -> Result<Self> {
        let files = input::open(names, options)?;
        let schema = crate::verdict::typed(&unify::unify(&files, options.missing)?);
        Ok(Self(Arc::new(Inner { files, schema, limits: options.limits })))
    }

    /// The files, in order.
    pub fn files(&self) -> &[InputFile] {
        &self.0.files
    }

    /// Schema of every batch.
    pub fn schema(&self) -> &SchemaRef {
        &self.0.schema
    }

    /// Number of readable rows of all files.
    pub fn rows(&self) -> u64 {
        self.0.files.iter().map(InputFile::rows).sum()
    }

    /// Reads all rows.
    pub fn batches(&self) -> Batches {
        self.reading(0, self.0.files.len(), 0)
    }

    /// Reads from `position` on, counted from 0 over the dataset, or from a row shortly before it; the
    /// second value is the actual position. Rejected text rows right before it are included.
    pub fn batches_from(&self, position: u64) -> (Batches, u64) {
        let (mut start, mut first) = (0, 0);
        for (index, file) in self.0.files.iter().enumerate() {
            let end = start + file.rows();
            let is_text = file.format() != Format::Parquet;
            if end > position || (is_text && end == position) {
                break;
            }
            (start, first) = (end, index + 1);
        }
        let begun = self.0.files.get(first);
        let skip = match begun {
            Some(file) if file.format() == Format::Parquet => position.saturating_sub(start),
            Some(_) | None => 0,
        };
        let batches = self.reading(first, self.0.files.len(), skip);
        (batches, start + skip)
    }

    /// Reads some of the files, without the first rows of the first, which is a Parquet file then.
    fn reading(&self, next_file: usize, end_file: usize, skip: u64) -> Batches {
        Batches { dataset: self.clone(), next_file, end_file, skip, reader: None }
    }

    /// Reads the rows of one file, counted from 0.
    pub(crate) fn file_batches(&self, file: usize) -> Batches {
        self.reading(file, file + 1, 0)
    }

    pub(crate) fn limits(&self) -> BatchLimits {
        self.0.limits
    }

    /// The digest of each file. Reads them all.
    ///
    /// # Errors
    /// [`crate::DatasetError::Io`] where a file cannot be read.
    pub fn digests(&self) -> Result<Vec<InputDigest>> {
        let described = |file: &InputFile| {
            Ok(InputDigest {
                file: file.name().to_owned(),
                bytes: file.bytes(),
                digest: digest(file.path(), file.bytes())?,
            })
        };
        self.0.files.iter().map(described).collect()
    }
}

/// Iterator over the batches of a dataset.
pub struct Batches {
    dataset: Dataset,
    next_file: usize,
    end_file: usize,
    /// Rows that the next file is read without.
    skip: u64,
    reader: Option<FileReader>,
}

enum FileReader {
    Json(JsonReader),
    Csv(CsvReader),
    Parquet(ParquetReader),
}

impl FileReader {
    fn open(file: &InputFile, limits: BatchLimits, skip: u64) -> Result<Self> {
        file.refuse_changed()?;
        let schema = file.schema().clone();
        Ok(match file.format() {
            Format::Jsonl => {
                let text = file.text()?;
                Self::Json(JsonReader::new(text, file.shared_name(), schema, limits))
            }
            Format::Csv | Format::Tsv => {
                let named = (file.shared_name(), file.format().delimiter());
                Self::Csv(CsvReader::new(file.text()?, named, schema, limits)?)
            }
            Format::Parquet => {
                let (metadata, batch_rows) = file.parquet(limits);
                let (path, name) = (file.path(), file.shared_name());
                let input = ParquetInput { path, name, schema, metadata, batch_rows };
                Self::Parquet(ParquetReader::open(input, skip)?)
            }
        })
    }

    fn next(&mut self) -> Result<Option<FileBatch>> {
        match self {
            Self::Json(reader) => reader.next(),
            Self::Csv(reader) => reader.next(),
            Self::Parquet(reader) => reader.next(),
        }
    }
}

impl Batches {
    fn advance(&mut self) -> Result<Option<Batch>> {
        let inner = self.dataset.0.clone();
        loop {
            let reader = match &mut self.reader {
                Some(reader) => reader,
                None if self.next_file == self.end_file => return Ok(None),
                None => {
                    let file = &inner.files[self.next_file];
                    self.next_file += 1;
                    let skip = std::mem::take(&mut self.skip);
                    self.reader.insert(FileReader::open(file, inner.limits, skip)?)
                }
            };
            let file = &inner.files[self.next_file - 1];
            let Some(part) = reader.next()? else {
                file.refuse_changed()?;
                self.reader = None;
                continue;
            };
            let data = crate::adapt::adapt(&part.data, &inner.schema)
                .map_err(|error| crate::DatasetError::file(file.name(), error))?;
            return Ok(Some(Batch {
                file: file.shared_name(),
                rows: part.rows,
                data,
                rejects: part.rejects,
            }));
        }
    }
}

impl Iterator for Batches {
    type Item = Result<Batch>;

    fn next(&mut self) -> Option<Result<Batch>> {
        let next = self.advance();
        if next.is_err() {
            // After an error there is nothing that could be trusted.
            self.reader = None;
            self.next_file = self.end_file;
        }
        next.transpose()
    }
}

/// Explains an error while decompressing or reading a file.
fn broken_stream(error: &io::Error) -> String {
    if error.kind() == io::ErrorKind::UnexpectedEof {
        return "the file ends in the middle of its packed bytes; it was cut off".to_owned();
    }
    format!("cannot be read from here: {error}")
}

/// Footer of a Parquet file.
#[derive(Debug, Clone)]
struct ParquetHead(ArrowReaderMetadata);

/// Describes a type in plain words.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the other types have no better name than their own"
)]
pub fn type_name(data_type: &DataType) -> String {
    match data_type {
        DataType::Null => "null".to_owned(),
        DataType::Boolean => "boolean".to_owned(),
        data_type if data_type.is_integer() => "integer".to_owned(),
        data_type if data_type.is_floating() => "number".to_owned(),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => "text".to_owned(),
        DataType::Struct(fields) => {
            let names: Vec<&str> = fields.iter().map(|field| field.name().as_str()).collect();
            format!("an object of {}", names.join(", "))
        }
        DataType::List(item) | DataType::LargeList(item) => {
            format!("a list of {}", type_name(item.data_type()))
        }
        other => other.to_string(),
    }
}
