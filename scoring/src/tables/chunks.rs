//! Reads the selected rows of a dataset in chunks.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatchOptions, UInt64Array};
use arrow::compute::take;
use datasets::source::{Batch, Batches, Dataset, Reject, RowNumbers};
use datasets::{DatasetError, RecordBatch};

use crate::error::RunError;
use crate::ordered::Held;
use crate::selection::{Chosen, Selection};

/// Rows that are scored together.
pub(super) struct TableChunk {
    /// The name of their file.
    pub(super) file: Arc<str>,
    /// Their positions in the file.
    pub(super) rows: RowNumbers,
    /// The rows.
    pub(super) data: RecordBatch,
    /// Rows between them that could not be read.
    pub(super) rejects: Vec<Reject>,
}

impl Held for TableChunk {
    fn held_bytes(&self) -> usize {
        self.data.get_array_memory_size()
    }
}

/// The rows of a run in order.
pub(super) struct Chunks {
    batches: Batches,
    /// Number of readable rows before the next batch.
    position: u64,
    selection: Selection,
}

impl Chunks {
    /// Starts at the first selected row of a dataset.
    pub(super) fn new(dataset: &Dataset, selection: Selection) -> Self {
        let (batches, position) = dataset.batches_from(selection.first());
        Self { batches, position, selection }
    }

    /// Returns the next rows; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<TableChunk>, RunError> {
        while !self.selection.is_past(self.position) {
            let Some(batch) = self.batches.next().transpose()? else {
                return Ok(None);
            };
            let chunk = self.chosen(batch)?;
            if chunk.data.num_rows() > 0 || !chunk.rejects.is_empty() {
                return Ok(Some(chunk));
            }
        }
        Ok(None)
    }

    /// Takes the selected rows of a batch.
    fn chosen(&mut self, mut batch: Batch) -> Result<TableChunk, RunError> {
        let (start, rows) = (self.position, batch.data.num_rows());
        self.position += rows as u64;
        batch.rejects.retain(|reject| {
            let numbers = (0..rows).map(|row| batch.rows.number(row));
            let before = numbers.take_while(|number| *number < reject.row).count();
            self.selection.has_reject(start + before as u64)
        });
        let (data, numbers) = match self.selection.of(start, rows) {
            Chosen::Range(range) if range == (0..rows) => (batch.data, batch.rows),
            Chosen::Range(range) => {
                let numbers = range.clone().map(|row| batch.rows.number(row)).collect();
                (batch.data.slice(range.start, range.len()), RowNumbers::Listed(numbers))
            }
            Chosen::Listed(rows) => {
                let numbers = rows.iter().map(|row| batch.rows.number(*row)).collect();
                (listed(&batch, &rows)?, RowNumbers::Listed(numbers))
            }
        };
        Ok(TableChunk { file: batch.file, rows: numbers, data, rejects: batch.rejects })
    }
}

fn listed(batch: &Batch, rows: &[usize]) -> Result<RecordBatch, RunError> {
    let indices: UInt64Array = rows.iter().map(|row| *row as u64).collect();
    let columns = batch.data.columns().iter();
    let columns: Result<Vec<ArrayRef>, _> =
        columns.map(|column| take(column, &indices, None)).collect();
    let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
    let listed = columns.and_then(|columns| {
        RecordBatch::try_new_with_options(batch.data.schema(), columns, &options)
    });
    let file = batch.file.to_string();
    listed.map_err(|error| RunError::from(DatasetError::File { file, problem: error.to_string() }))
}
