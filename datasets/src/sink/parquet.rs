//! Rows as Parquet, whose columns are packed side by side as rows come: what waits in memory is packed.

use std::io::{self, Write};

use arrow::array::{Array, ArrayRef, AsArray as _, RecordBatch};
use arrow::datatypes::{DataType, SchemaRef};
use parquet::arrow::ArrowSchemaConverter;
use parquet::arrow::add_encoded_arrow_schema_to_metadata;
use parquet::arrow::arrow_writer::{
    ArrowColumnChunk, ArrowColumnWriter, ArrowLeafColumn, ArrowRowGroupWriterFactory,
    compute_leaves,
};
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use rayon::prelude::*;
use std::sync::Arc;

/// Rows of a row group.
const GROUP_ROWS: usize = 128 << 10;

/// Bytes of text after which a row group ends early.
const GROUP_TEXT_BYTES: usize = 64 << 20;

/// Rows that are weighed at once. Row groups end only at multiples of it, counted from the
/// beginning of the file, so that where they end does not depend on how rows are cut in batches.
const BLOCK_ROWS: usize = 256;

/// Rows that the columns take at once: where pages end depends on it, so that a part ends, as a row
/// group does, at multiples of a block.
const PART_ROWS: usize = 64 << 10;

/// Bytes of text after which a part ends early.
const PART_TEXT_BYTES: usize = 16 << 20;

type Out = io::BufWriter<Box<dyn Write + Send>>;

/// A Parquet file being written.
pub(super) struct ParquetWriter {
    file: SerializedFileWriter<Out>,
    columns: ArrowRowGroupWriterFactory,
    schema: SchemaRef,
    /// Rows that no column has taken yet.
    batches: Vec<RecordBatch>,
    waiting: usize,
    waiting_text_bytes: usize,
    /// The columns of the row group at hand, if it has rows.
    group: Vec<ArrowColumnWriter>,
    rows: usize,
    text_bytes: usize,
    groups: usize,
}

impl ParquetWriter {
    pub(super) fn new(out: Box<dyn Write + Send>, schema: &SchemaRef) -> io::Result<Self> {
        let level = ZstdLevel::try_new(1).map_err(failed)?;
        let mut properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(level))
            .set_created_by(concat!("tribunal ", env!("CARGO_PKG_VERSION")).to_owned())
            .build();
        add_encoded_arrow_schema_to_metadata(schema, &mut properties);
        let root = ArrowSchemaConverter::new().convert(schema).map_err(failed)?;
        let file = SerializedFileWriter::new(
            io::BufWriter::new(out),
            root.root_schema_ptr(),
            Arc::new(properties),
        )
        .map_err(failed)?;
        let columns = ArrowRowGroupWriterFactory::new(&file, schema.clone());
        Ok(Self {
            file,
            columns,
            schema: schema.clone(),
            batches: Vec::new(),
            waiting: 0,
            waiting_text_bytes: 0,
            group: Vec::new(),
            rows: 0,
            text_bytes: 0,
            groups: 0,
        })
    }

    pub(super) fn write(&mut self, batch: &RecordBatch) -> io::Result<()> {
        let mut start = 0;
        while start < batch.num_rows() {
            let room = BLOCK_ROWS - self.rows % BLOCK_ROWS;
            let block = batch.slice(start, room.min(batch.num_rows() - start));
            start += block.num_rows();
            self.rows += block.num_rows();
            self.waiting += block.num_rows();
            let texts = block.columns().iter().map(text_bytes).sum::<usize>();
            self.text_bytes += texts;
            self.waiting_text_bytes += texts;
            self.batches.push(block);
            if !self.rows.is_multiple_of(BLOCK_ROWS) {
                continue;
            }
            if self.rows >= GROUP_ROWS || self.text_bytes >= GROUP_TEXT_BYTES {
                self.end_group()?;
            } else if self.waiting >= PART_ROWS || self.waiting_text_bytes >= PART_TEXT_BYTES {
                self.encode().map_err(failed)?;
            }
        }
        Ok(())
    }

    pub(super) fn finish(mut self: Box<Self>) -> io::Result<()> {
        self.end_group()?;
        let out = self.file.into_inner().map_err(failed)?;
        out.into_inner().map_err(io::IntoInnerError::into_error)?.flush()
    }

    /// Hands the waiting rows to the columns, which pack them side by side.
    fn encode(&mut self) -> Result<(), ParquetError> {
        if self.waiting == 0 {
            return Ok(());
        }
        let batch = arrow::compute::concat_batches(&self.schema, &self.batches)?;
        self.batches.clear();
        (self.waiting, self.waiting_text_bytes) = (0, 0);
        if self.group.is_empty() {
            self.group = self.columns.create_column_writers(self.groups)?;
        }
        let mut leaves: Vec<ArrowLeafColumn> = Vec::with_capacity(self.group.len());
        for (field, column) in self.schema.fields().iter().zip(batch.columns()) {
            leaves.extend(compute_leaves(field, column)?);
        }
        self.group.par_iter_mut().zip(leaves).try_for_each(|(writer, leaf)| writer.write(&leaf))
    }

    /// Writes the row group at hand.
    fn end_group(&mut self) -> io::Result<()> {
        if self.rows == 0 {
            return Ok(());
        }
        self.encode().map_err(failed)?;
        let columns = std::mem::take(&mut self.group);
        let chunks: Result<Vec<ArrowColumnChunk>, ParquetError> =
            columns.into_par_iter().map(ArrowColumnWriter::close).collect();
        let mut group = self.file.next_row_group().map_err(failed)?;
        for chunk in chunks.map_err(failed)? {
            chunk.append_to_row_group(&mut group).map_err(failed)?;
        }
        group.close().map_err(failed)?;
        (self.rows, self.text_bytes) = (0, 0);
        self.groups += 1;
        Ok(())
    }
}

fn failed(error: ParquetError) -> io::Error {
    io::Error::other(error)
}

/// Bytes of the texts in a column, whatever they are nested in.
#[expect(clippy::wildcard_enum_match_arm, reason = "numbers and the like are small")]
fn text_bytes(column: &ArrayRef) -> usize {
    match column.data_type() {
        DataType::Utf8 => spread(column.as_string::<i32>().value_offsets()),
        DataType::LargeUtf8 => spread(column.as_string::<i64>().value_offsets()),
        DataType::Binary => spread(column.as_binary::<i32>().value_offsets()),
        DataType::LargeBinary => spread(column.as_binary::<i64>().value_offsets()),
        DataType::Struct(_) => column.as_struct().columns().iter().map(text_bytes).sum(),
        DataType::List(_) => {
            let list = column.as_list::<i32>();
            let offsets = list.value_offsets();
            let (Some(first), Some(last)) = (offsets.first(), offsets.last()) else {
                return 0;
            };
            let (first, last) = (as_size(*first), as_size(*last));
            text_bytes(&list.values().slice(first, last - first))
        }
        _ => 0,
    }
}

/// Bytes between the first and the last offset.
fn spread<O: Into<i64> + Copy>(offsets: &[O]) -> usize {
    match (offsets.first(), offsets.last()) {
        (Some(first), Some(last)) => usize::try_from((*last).into() - (*first).into()).unwrap_or(0),
        (None, _) | (_, None) => 0,
    }
}

fn as_size(offset: i32) -> usize {
    usize::try_from(offset).expect("offsets of a list are not negative")
}
