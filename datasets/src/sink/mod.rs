//! Output files that appear complete or not at all.
//!
//! A file is written as `NAME.partial`, synced and then renamed; a failure leaves nothing under the
//! final name. Bytes depend on the rows only, not on how they are split into batches.

mod parquet;
mod target;
mod text;

#[cfg(test)]
mod tests;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, Field, FieldRef, Fields, Schema, SchemaRef};

use self::parquet::ParquetWriter;
pub use self::target::{OutputLock, beside, shard_names, shards_there};
use self::target::{OutputTarget, PartialShard};
use self::text::TextWriter;
use crate::format::{self, Compression, Format};
use crate::{DatasetError, Result};

/// Options of an output.
#[derive(Debug, Clone, Default)]
pub struct SinkOptions {
    /// Format; `None` to detect it by name, JSON lines for a stream.
    pub format: Option<Format>,
    /// Rows of a shard; `None` for one file.
    pub shard_rows: Option<u64>,
    /// Replace an existing output.
    pub overwrite: bool,
}

/// A writer of batches to one output.
pub struct Sink {
    target: OutputTarget,
    format: Format,
    compression: Compression,
    schema: SchemaRef,
    shard_rows: Option<u64>,
    writer: Option<OpenShard>,
    /// Complete shards that are not renamed yet.
    full: Vec<PartialShard>,
    rows: u64,
    /// Held until every file is renamed.
    _lock: Option<OutputLock>,
}

/// A file or stream being written.
struct OpenShard {
    writer: Writer,
    partial: Option<PartialShard>,
    rows: u64,
}

enum Writer {
    Text(Box<TextWriter>),
    Parquet(Box<ParquetWriter>),
}

/// A complete output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenOutput {
    /// Files with their numbers of rows, in order; empty for a stream.
    pub files: Vec<(PathBuf, u64)>,
    /// Number of rows.
    pub rows: u64,
}

/// Checks an output's name, and that it does not exist, before any work.
///
/// # Errors
/// As [`Sink::create`], except those of creating a file.
pub fn check(output: &str, options: &SinkOptions) -> Result<()> {
    let target = OutputTarget::resolve(output)?;
    output_format(output, &target, options)?;
    if let OutputTarget::File(path) = &target {
        target::refuse_existing(path, options.shard_rows.is_some(), options.overwrite)?;
    }
    Ok(())
}

/// Format and compression of an output.
fn output_format(
    output: &str,
    target: &OutputTarget,
    options: &SinkOptions,
) -> Result<(Format, Compression)> {
    let (named, compression) = format::by_name(Path::new(output));
    let stream_format = || match target {
        OutputTarget::Stdout | OutputTarget::Device(_) => Some(Format::Jsonl),
        OutputTarget::File(_) => None,
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
    /// Opens an output: `-` is standard output, a device is written to directly.
    ///
    /// # Errors
    /// [`DatasetError::Exists`] where the output is there and may not be replaced,
    /// [`DatasetError::Locked`] where another run writes it, [`DatasetError::Usage`] where its name
    /// says no format, [`DatasetError::Io`] where nothing can be written there.
    pub fn create(output: &str, schema: &SchemaRef, options: &SinkOptions) -> Result<Self> {
        let target = OutputTarget::resolve(output)?;
        let (format, compression) = output_format(output, &target, options)?;
        let (lock, shard_rows) = match &target {
            OutputTarget::File(path) => {
                let lock = OutputLock::take(path)?;
                let shards = options.shard_rows.map(|rows| rows.max(1));
                target::refuse_existing(path, shards.is_some(), options.overwrite)?;
                (Some(lock), shards)
            }
            OutputTarget::Stdout | OutputTarget::Device(_) if options.shard_rows.is_some() => {
                let message = "shards of a stream have no names; name a file";
                return Err(DatasetError::Usage(message.to_owned()));
            }
            OutputTarget::Stdout | OutputTarget::Device(_) => (None, None),
        };
        let mut sink = Self {
            target,
            format,
            compression,
            schema: plain_schema(schema),
            shard_rows,
            writer: None,
            full: Vec::new(),
            rows: 0,
            _lock: lock,
        };
        // Opened at once, so that a read-only folder fails before any work.
        sink.writer = Some(sink.open()?);
        Ok(sink)
    }

    /// Schema of the written rows.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Appends rows of the schema that the sink was created with.
    ///
    /// # Errors
    /// [`DatasetError::Io`] for a failed write.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let mut batch = crate::adapt::adapt(batch, &self.schema)
            .map_err(|error| DatasetError::file(&self.target.shown(), error))?;
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
            written.map_err(|error| self.target.failed(error))?;
            open.rows += taken as u64;
            self.rows += taken as u64;
            batch = batch.slice(taken, batch.num_rows() - taken);
        }
        Ok(())
    }

    /// Completes the output and renames its files.
    ///
    /// # Errors
    /// As [`Sink::write`].
    pub fn finish(mut self) -> Result<WrittenOutput> {
        if let Some(open) = self.writer.take() {
            self.close(open)?;
        }
        let rows = self.rows;
        let full = std::mem::take(&mut self.full);
        let files = match &self.target {
            OutputTarget::Stdout | OutputTarget::Device(_) => Vec::new(),
            OutputTarget::File(path) => target::name(path, full, self.shard_rows.is_some())?,
        };
        Ok(WrittenOutput { files, rows })
    }

    fn open(&self) -> Result<OpenShard> {
        let (out, partial): (Box<dyn Write + Send>, _) = match &self.target {
            OutputTarget::Stdout => (Box::new(std::io::stdout()), None),
            OutputTarget::Device(path) => {
                let device = std::fs::OpenOptions::new().write(true).open(path);
                (Box::new(device.map_err(DatasetError::io("write", path))?), None)
            }
            OutputTarget::File(path) => {
                let index = self.shard_rows.map(|_| self.full.len());
                let (file, partial) = PartialShard::create(path, index)?;
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
        Ok(OpenShard {
            writer: writer.map_err(|error| self.target.failed(error))?,
            partial,
            rows: 0,
        })
    }

    fn close(&mut self, open: OpenShard) -> Result<()> {
        let closed = match open.writer {
            Writer::Text(writer) => writer.finish(),
            Writer::Parquet(writer) => writer.finish(),
        };
        closed.map_err(|error| self.target.failed(error))?;
        if let Some(mut partial) = open.partial {
            partial.sync(open.rows)?;
            self.full.push(partial);
        }
        Ok(())
    }
}

/// Replaces layouts that few programs read (text and binary views) and drops writer metadata. A
/// column of nulls alone is one of texts: the type `null` goes together with no other in most readers.
fn plain_schema(schema: &Schema) -> SchemaRef {
    Arc::new(Schema::new(plain_fields(schema.fields())))
}

fn plain_fields(fields: &Fields) -> Fields {
    fields.iter().map(plain_field).collect()
}

fn plain_field(field: &FieldRef) -> Field {
    field.as_ref().clone().with_data_type(plain_type(field.data_type()))
}

#[expect(clippy::wildcard_enum_match_arm, reason = "every other layout is kept")]
fn plain_type(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Utf8View | DataType::Null => DataType::Utf8,
        DataType::BinaryView => DataType::Binary,
        DataType::Struct(fields) => DataType::Struct(plain_fields(fields)),
        DataType::List(item) => DataType::List(Arc::new(plain_field(item))),
        other => other.clone(),
    }
}
