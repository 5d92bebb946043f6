//! Batches to files that appear whole or not at all.
//!
//! A file is written as `NAME.partial`, synced and then given its name; what fails on the way leaves
//! nothing under a final name. The same rows give the same bytes, however they are cut in batches.

mod columnar;
mod json;
mod place;
mod text;

#[cfg(test)]
mod tests;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, Field, FieldRef, Fields, Schema, SchemaRef};

use self::columnar::ParquetWriter;
pub use self::json::{json_cells, json_row};
use self::place::{Lock, Partial, Place};
pub use self::place::{beside, shard_names};
use self::text::TextWriter;
use crate::format::{self, Compression, Format};
use crate::{DatasetError, Result};

/// How an output is written.
#[derive(Debug, Clone, Default)]
pub struct SinkOptions {
    /// Format; by the output's name if not set, and JSON lines for a stream.
    pub format: Option<Format>,
    /// Rows of a shard; one file if not set.
    pub shard_rows: Option<u64>,
    /// Replace an output that is there.
    pub overwrite: bool,
}

/// Rows on their way to one output.
pub struct Sink {
    place: Place,
    format: Format,
    compression: Compression,
    schema: SchemaRef,
    shard_rows: Option<u64>,
    writer: Option<Open>,
    /// Shards that are full, not named yet.
    full: Vec<Partial>,
    rows: u64,
    /// Held until every file has its name.
    _lock: Option<Lock>,
}

/// A file or stream being written.
struct Open {
    writer: Writer,
    partial: Option<Partial>,
    rows: u64,
}

enum Writer {
    Text(Box<TextWriter>),
    Parquet(Box<ParquetWriter>),
}

/// An output that is whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// The files with their rows, in order; none for a stream.
    pub files: Vec<(PathBuf, u64)>,
    /// Rows of all files.
    pub rows: u64,
}

/// Says before any work what is wrong with an output's name, and whether it is there already.
///
/// # Errors
/// As [`Sink::create`], but for what only shows when a file is made.
pub fn check(output: &str, options: &SinkOptions) -> Result<()> {
    let place = Place::resolve(output)?;
    kind(output, &place, options)?;
    if let Place::File(path) = &place {
        place::refuse_existing(path, options.shard_rows.is_some(), options.overwrite)?;
    }
    Ok(())
}

/// Format and compression of an output.
fn kind(output: &str, place: &Place, options: &SinkOptions) -> Result<(Format, Compression)> {
    let (named, compression) = format::by_name(Path::new(output));
    let stream_format = || match place {
        Place::Stdout | Place::Device(_) => Some(Format::Jsonl),
        Place::File(_) => None,
    };
    let Some(format) = options.format.or(named).or_else(stream_format) else {
        return Err(DatasetError::Usage(format!(
            "'{output}' says no format: end it in .jsonl, .parquet, .csv or .tsv (texts with .gz \
             or .zst), or give --output-format"
        )));
    };
    if format == Format::Parquet && compression != Compression::Plain {
        return Err(DatasetError::Usage(format!(
            "'{output}': a Parquet file is packed inside; leave {} out of its name",
            compression.ending()
        )));
    }
    Ok((format, compression))
}

impl Sink {
    /// Prepares an output: `-` is standard output, a device is written to as it is.
    ///
    /// # Errors
    /// [`DatasetError::Exists`] where the output is there and may not be replaced,
    /// [`DatasetError::Locked`] where another run writes it, [`DatasetError::Usage`] where its name
    /// says no format, [`DatasetError::Io`] where nothing can be written there.
    pub fn create(output: &str, schema: &SchemaRef, options: &SinkOptions) -> Result<Self> {
        let place = Place::resolve(output)?;
        let (format, compression) = kind(output, &place, options)?;
        let (lock, shard_rows) = match &place {
            Place::File(path) => {
                let lock = Lock::take(path)?;
                let shards = options.shard_rows.map(|rows| rows.max(1));
                place::refuse_existing(path, shards.is_some(), options.overwrite)?;
                (Some(lock), shards)
            }
            Place::Stdout | Place::Device(_) if options.shard_rows.is_some() => {
                let message = "shards of a stream have no names; name a file";
                return Err(DatasetError::Usage(message.to_owned()));
            }
            Place::Stdout | Place::Device(_) => (None, None),
        };
        let mut sink = Self {
            place,
            format,
            compression,
            schema: plain_schema(schema),
            shard_rows,
            writer: None,
            full: Vec::new(),
            rows: 0,
            _lock: lock,
        };
        // A folder that cannot be written to is said at once, and not after an hour's work.
        sink.writer = Some(sink.open()?);
        Ok(sink)
    }

    /// The columns that are written.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Appends rows, which have the columns that the sink was made with.
    ///
    /// # Errors
    /// [`DatasetError::Io`] where the disk is full or gone.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let mut batch = crate::adapt::adapt(batch, &self.schema)
            .map_err(|error| DatasetError::file(&self.place.shown(), error))?;
        while batch.num_rows() > 0 {
            let open = match self.writer.take() {
                Some(open) if self.shard_rows.is_none_or(|rows| open.rows < rows) => open,
                Some(open) => {
                    self.close(open)?;
                    self.open()?
                }
                None => self.open()?,
            };
            let open = self.writer.insert(open);
            let room = self.shard_rows.map_or(u64::MAX, |rows| rows - open.rows);
            let taken = usize::try_from(room).unwrap_or(usize::MAX).min(batch.num_rows());
            let part = batch.slice(0, taken);
            let written = match &mut open.writer {
                Writer::Text(writer) => writer.write(&part),
                Writer::Parquet(writer) => writer.write(&part),
            };
            written.map_err(|error| self.place.failed(error))?;
            open.rows += taken as u64;
            self.rows += taken as u64;
            batch = batch.slice(taken, batch.num_rows() - taken);
        }
        Ok(())
    }

    /// Ends the output and gives every file its name.
    ///
    /// # Errors
    /// As [`Sink::write`].
    pub fn finish(mut self) -> Result<Written> {
        if let Some(open) = self.writer.take() {
            self.close(open)?;
        }
        let rows = self.rows;
        let full = std::mem::take(&mut self.full);
        let files = match &self.place {
            Place::Stdout | Place::Device(_) => Vec::new(),
            Place::File(path) => place::name(path, full, self.shard_rows.is_some())?,
        };
        Ok(Written { files, rows })
    }

    fn open(&self) -> Result<Open> {
        let (out, partial): (Box<dyn Write + Send>, _) = match &self.place {
            Place::Stdout => (Box::new(std::io::stdout()), None),
            Place::Device(path) => {
                let device = std::fs::OpenOptions::new().write(true).open(path);
                (Box::new(device.map_err(DatasetError::io("write", path))?), None)
            }
            Place::File(path) => {
                let index = self.shard_rows.map(|_| self.full.len());
                let (file, partial) = Partial::create(path, index)?;
                (Box::new(file), Some(partial))
            }
        };
        let writer = match self.format {
            Format::Parquet => ParquetWriter::new(out, &self.schema)
                .map(|writer| Writer::Parquet(Box::new(writer))),
            Format::Jsonl | Format::Csv | Format::Tsv => {
                TextWriter::new(out, (self.format, self.compression), &self.schema)
                    .map(|writer| Writer::Text(Box::new(writer)))
            }
        };
        Ok(Open { writer: writer.map_err(|error| self.place.failed(error))?, partial, rows: 0 })
    }

    fn close(&mut self, open: Open) -> Result<()> {
        let closed = match open.writer {
            Writer::Text(writer) => writer.finish(),
            Writer::Parquet(writer) => writer.finish(),
        };
        closed.map_err(|error| self.place.failed(error))?;
        if let Some(mut partial) = open.partial {
            partial.sync(open.rows)?;
            self.full.push(partial);
        }
        Ok(())
    }
}

/// The schema without the layouts that other programs do not read everywhere: views of text become
/// plain text. What a writer noted beside the columns is left out.
fn plain_schema(schema: &Schema) -> SchemaRef {
    Arc::new(Schema::new(plain_fields(schema.fields())))
}

fn plain_fields(fields: &Fields) -> Fields {
    fields.iter().map(plain_field).collect()
}

fn plain_field(field: &FieldRef) -> Field {
    field.as_ref().clone().with_data_type(plain(field.data_type()))
}

#[expect(clippy::wildcard_enum_match_arm, reason = "every other layout is kept")]
fn plain(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Utf8View => DataType::Utf8,
        DataType::BinaryView => DataType::Binary,
        DataType::Struct(fields) => DataType::Struct(plain_fields(fields)),
        DataType::List(item) => DataType::List(Arc::new(plain_field(item))),
        other => other.clone(),
    }
}

/// The rows as JSON lines.
///
/// # Errors
/// [`arrow::error::ArrowError`] for a type that JSON has no form for.
pub fn json_lines(batch: &RecordBatch) -> std::result::Result<String, arrow::error::ArrowError> {
    let lines = json::lines(batch)?.concat();
    Ok(String::from_utf8(lines).expect("JSON is text"))
}
