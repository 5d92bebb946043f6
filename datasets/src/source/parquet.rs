//! Parquet files to batches.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow::datatypes::{Schema, SchemaRef};
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader,
    ParquetRecordBatchReaderBuilder,
};
use parquet::file::metadata::{PageIndexPolicy, RowGroupMetaData};

use super::{BatchLimits, FileBatch, ParquetHead, RowNumbers};
use crate::{DatasetError, Result};

/// Reads the footer.
pub(super) fn head(path: &Path, name: &str) -> Result<ParquetHead> {
    let file = File::open(path).map_err(DatasetError::io("read", path))?;
    let options = ArrowReaderOptions::new().with_page_index_policy(PageIndexPolicy::Optional);
    let head = ArrowReaderMetadata::load(&file, options).map_err(|error| {
        let problem = format!("no whole Parquet file, it may have been cut off: {error}");
        DatasetError::file(name, problem)
    })?;
    Ok(ParquetHead(head))
}

/// The columns. What a writer notes beside them is of its own files and not of rows taken out.
pub(super) fn schema(head: &ParquetHead) -> SchemaRef {
    Arc::new(Schema::new(head.0.schema().fields().clone()))
}

/// Rows of all row groups.
pub(super) fn rows(head: &ParquetHead) -> u64 {
    let rows = head.0.metadata().file_metadata().num_rows();
    u64::try_from(rows).unwrap_or(0)
}

/// Rows of a batch that stays within `limits`, by what the file says of its row groups.
pub(super) fn batch_rows(head: &ParquetHead, limits: BatchLimits) -> usize {
    let groups = head.0.metadata().row_groups();
    let row_bytes = groups.iter().map(row_bytes).max().unwrap_or(1).max(1);
    (limits.bytes / row_bytes).clamp(1, limits.rows.max(1))
}

/// Bytes of a row once it is read.
fn row_bytes(group: &RowGroupMetaData) -> usize {
    let size = |bytes: i64| usize::try_from(bytes).unwrap_or(0);
    let column = |column: &parquet::file::metadata::ColumnChunkMetaData| {
        let texts = column.unencoded_byte_array_data_bytes().map_or(0, size);
        size(column.uncompressed_size()).max(texts)
    };
    let bytes: usize = group.columns().iter().map(column).sum();
    bytes / size(group.num_rows()).max(1)
}

/// A Parquet file to read.
pub(super) struct ParquetInput<'f> {
    pub(super) path: &'f Path,
    /// The file as it was named.
    pub(super) name: Arc<str>,
    pub(super) schema: SchemaRef,
    pub(super) metadata: &'f ArrowReaderMetadata,
    /// Rows of a batch.
    pub(super) batch_rows: usize,
}

/// Reads the rows of a file.
pub(super) struct ParquetReader {
    reader: ParquetRecordBatchReader,
    file: Arc<str>,
    schema: SchemaRef,
    next_row: u64,
}

impl ParquetReader {
    /// Reads all rows but the first `skip`.
    pub(super) fn open(input: ParquetInput<'_>, skip: u64) -> Result<Self> {
        let ParquetInput { path, name, schema, metadata, batch_rows } = input;
        let file = File::open(path).map_err(DatasetError::io("read", path))?;
        let reader = ParquetRecordBatchReaderBuilder::new_with_metadata(file, metadata.clone())
            .with_batch_size(batch_rows)
            .with_offset(usize::try_from(skip).unwrap_or(usize::MAX))
            .build()
            .map_err(|error| DatasetError::file(&name, error))?;
        Ok(Self { reader, file: name, schema, next_row: skip + 1 })
    }

    /// The next rows. A Parquet file that is broken somewhere has no row after that.
    pub(super) fn next(&mut self) -> Result<Option<FileBatch>> {
        let first = self.next_row;
        let Some(batch) = self.reader.next() else {
            return Ok(None);
        };
        let batch =
            batch.and_then(|batch| batch.with_schema(self.schema.clone())).map_err(|error| {
                DatasetError::Row {
                    file: self.file.to_string(),
                    row: first,
                    problem: format!("the file is broken here or soon after: {error}"),
                }
            })?;
        self.next_row += batch.num_rows() as u64;
        Ok(Some(FileBatch { rows: RowNumbers::From(first), data: batch, rejects: Vec::new() }))
    }
}
