//! Writes rows as JSON lines, CSV or TSV, compressed on request.

use std::io::{self, BufWriter, Write};
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::csv::WriterBuilder;
use arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef};
use flate2::write::GzEncoder;

use crate::format::{Compression, Format};
use crate::json_text::{json_cells, lines};

/// Level of Zstandard: its own default.
const ZSTD_LEVEL: i32 = 3;

/// Bytes that are written at once.
const BUFFER_BYTES: usize = 256 << 10;

type Out = BufWriter<Box<dyn Write + Send>>;

/// A text being written.
pub(super) struct TextWriter {
    out: Packed,
    /// Bytes that are not handed on yet.
    block: Vec<u8>,
    format: Format,
    /// Columns of values between commas, which are flat.
    flat: SchemaRef,
}

enum Packed {
    Plain(Out),
    Gzip(GzEncoder<Out>),
    Zstd(zstd::Encoder<'static, Out>),
}

impl TextWriter {
    pub(super) fn new(
        out: Box<dyn Write + Send>,
        (format, compression): (Format, Compression),
        schema: &SchemaRef,
    ) -> io::Result<Self> {
        let out = BufWriter::with_capacity(BUFFER_BYTES, out);
        let out = match compression {
            Compression::Plain => Packed::Plain(out),
            Compression::Gzip => Packed::Gzip(GzEncoder::new(out, flate2::Compression::default())),
            Compression::Zstd => Packed::Zstd(zstd::Encoder::new(out, ZSTD_LEVEL)?),
        };
        let flat = schema.fields().iter().map(flat_field).collect::<Vec<Field>>();
        let mut writer = Self {
            out,
            block: Vec::with_capacity(BUFFER_BYTES),
            format,
            flat: Arc::new(Schema::new(flat)),
        };
        // Names come first, whether rows follow or not.
        let nothing = RecordBatch::new_empty(writer.flat.clone());
        if format != Format::Jsonl && !writer.flat.fields().is_empty() {
            let names = writer.separated(&nothing, true)?;
            writer.put(&names)?;
        }
        Ok(writer)
    }

    pub(super) fn write(&mut self, batch: &RecordBatch) -> io::Result<()> {
        match self.format {
            Format::Csv | Format::Tsv => {
                let columns: Result<Vec<ArrayRef>, _> = batch
                    .schema_ref()
                    .fields()
                    .iter()
                    .zip(batch.columns())
                    .map(|(field, column)| {
                        if is_flat(field.data_type()) {
                            return Ok(column.clone());
                        }
                        json_cells(field, column).map(|cells| Arc::new(cells) as _)
                    })
                    .collect();
                let flat =
                    columns.and_then(|columns| RecordBatch::try_new(self.flat.clone(), columns));
                let rows = self.separated(&flat.map_err(io::Error::other)?, false)?;
                self.put(&rows)
            }
            Format::Jsonl | Format::Parquet => {
                for piece in lines(batch).map_err(io::Error::other)? {
                    self.put(&piece)?;
                }
                Ok(())
            }
        }
    }

    /// Hands bytes on in blocks of one size: what packs them gives other bytes for other pieces.
    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut rest = bytes;
        while self.block.len() + rest.len() >= BUFFER_BYTES {
            let (head, tail) = rest.split_at(BUFFER_BYTES - self.block.len());
            self.block.extend_from_slice(head);
            self.out.write_all(&self.block)?;
            self.block.clear();
            rest = tail;
        }
        self.block.extend_from_slice(rest);
        Ok(())
    }

    pub(super) fn finish(mut self) -> io::Result<()> {
        self.out.write_all(&self.block)?;
        match self.out {
            Packed::Plain(mut out) => out.flush(),
            Packed::Gzip(out) => out.finish()?.flush(),
            Packed::Zstd(out) => out.finish()?.flush(),
        }
    }

    fn separated(&self, batch: &RecordBatch, names: bool) -> io::Result<Vec<u8>> {
        let mut rows = Vec::new();
        let mut writer = WriterBuilder::new()
            .with_header(names)
            .with_delimiter(self.format.delimiter())
            .build(&mut rows);
        writer.write(batch).map_err(io::Error::other)?;
        drop(writer);
        Ok(rows)
    }
}

impl Write for Packed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(out) => out.write(bytes),
            Self::Gzip(out) => out.write(bytes),
            Self::Zstd(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(out) => out.flush(),
            Self::Gzip(out) => out.flush(),
            Self::Zstd(out) => out.flush(),
        }
    }
}

/// Whether a cell has a form of its own between commas.
fn is_flat(data_type: &DataType) -> bool {
    !data_type.is_nested() && !data_type.is_binary()
}

fn flat_field(field: &FieldRef) -> Field {
    if is_flat(field.data_type()) {
        field.as_ref().clone()
    } else {
        Field::new(field.name(), DataType::Utf8, true)
    }
}
