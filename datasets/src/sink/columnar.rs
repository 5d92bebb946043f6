//! Rows as Parquet, the columns of a row group written side by side.

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
const GROUP_TEXT_BYTES: usize = 32 << 20;

/// Rows that are weighed at once. Row groups end only at multiples of it, counted from the
/// beginning of the file, so that where they end does not depend on how rows are cut in batches.
const BLOCK_ROWS: usize = 256;

type Out = io::BufWriter<Box<dyn Write + Send>>;

/// A Parquet file being written.
pub(super) struct ParquetWriter {
    file: SerializedFileWriter<Out>,
    columns: ArrowRowGroupWriterFactory,
    schema: SchemaRef,
    /// Rows of the row group at hand.
    batches: Vec<RecordBatch>,
    rows: usize,
    text_bytes: usize,
    groups: usize,
}

/// A leaf column of a row group, with all that comes into it.
type Leaf = (ArrowColumnWriter, Vec<ArrowLeafColumn>);

impl ParquetWriter {
    pub(super) fn new(out: Box<dyn Write + Send>, schema: &SchemaRef) -> io::Result<Self> {
        let level = ZstdLevel::try_new(1).map_err(failed)?;
        let mut properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(level))
            .set_created_by(concat!("tribunal ", env!("CARGO_PKG_VERSION")).to_owned())
            .build();
        add_encoded_arrow_schema_to_metadata(schema, &mut properties);
        let root = ArrowSchemaConverter::new()
            .convert(schema)
            .map_err(failed)?;
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
            self.text_bytes += block.columns().iter().map(text_bytes).sum::<usize>();
            self.batches.push(block);
            let ends = self.rows >= GROUP_ROWS || self.text_bytes >= GROUP_TEXT_BYTES;
            if ends && self.rows.is_multiple_of(BLOCK_ROWS) {
                self.flush()?;
            }
        }
        Ok(())
    }

    pub(super) fn finish(mut self: Box<Self>) -> io::Result<()> {
        self.flush()?;
        let out = self.file.into_inner().map_err(failed)?;
        out.into_inner()
            .map_err(io::IntoInnerError::into_error)?
            .flush()
    }

    /// Writes the rows at hand as a row group.
    fn flush(&mut self) -> io::Result<()> {
        if self.rows == 0 {
            return Ok(());
        }
        let batches = std::mem::take(&mut self.batches);
        let batch =
            arrow::compute::concat_batches(&self.schema, &batches).map_err(io::Error::other)?;
        drop(batches);
        let chunks: Result<Vec<ArrowColumnChunk>, ParquetError> = self
            .leaves(&batch)
            .map_err(failed)?
            .into_par_iter()
            .map(|(mut writer, leaves)| {
                for leaf in &leaves {
                    writer.write(leaf)?;
                }
                writer.close()
            })
            .collect();
        let mut group = self.file.next_row_group().map_err(failed)?;
        for chunk in chunks.map_err(failed)? {
            chunk.append_to_row_group(&mut group).map_err(failed)?;
        }
        group.close().map_err(failed)?;
        (self.rows, self.text_bytes) = (0, 0);
        self.groups += 1;
        Ok(())
    }

    /// The leaf columns of a batch, each with its writer.
    fn leaves(&self, batch: &RecordBatch) -> Result<Vec<Leaf>, ParquetError> {
        let writers = self.columns.create_column_writers(self.groups)?;
        let mut leaves = Vec::with_capacity(writers.len());
        for (field, column) in self.schema.fields().iter().zip(batch.columns()) {
            leaves.extend(compute_leaves(field, column)?);
        }
        let alone = leaves.into_iter().map(|leaf| vec![leaf]);
        Ok(writers.into_iter().zip(alone).collect())
    }
}

fn failed(error: ParquetError) -> io::Error {
    io::Error::other(error)
}

/// Bytes of the texts in a column, whatever they are nested in.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "numbers and the like are small"
)]
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
