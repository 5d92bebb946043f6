//! Ordering, sampling and limits.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, UInt64Array};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use base::seeded::split_mix;
use datafusion::error::DataFusionError;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::logical_expr::SortExpr;

use super::sorting::{self, Batches, rising};
use super::{DroppedRows, FilterOptions};
use datasets::query::{SqlEngine, SqlOption};
use datasets::{DatasetError, Result};

/// Added columns, under names that no file has: the position of the row, which breaks ties, and its
/// random number for sampling.
const ROW: &str = "\u{0}row";
const LOT: &str = "\u{0}lot";

/// A checked order with sample and limit.
pub(super) struct RowOrder {
    schema: SchemaRef,
    by: Vec<SortExpr>,
    sample: Option<u64>,
    first: Option<u64>,
    /// `first` in words.
    condition: String,
    text: String,
}

/// Sample and limit, for counting dropped rows.
pub(super) struct OrderCounts {
    sample: Option<u64>,
    first: Option<u64>,
    condition: String,
}

impl RowOrder {
    /// Checks the options; `None` without order and sample.
    pub(super) fn new(
        engine: &SqlEngine,
        schema: &SchemaRef,
        options: &FilterOptions,
    ) -> Result<Option<Self>> {
        if options.order_by.is_none() && options.sample.is_none() {
            return Ok(None);
        }
        let text = options.order_by.clone().unwrap_or_default();
        let by = match &options.order_by {
            Some(text) => engine.order(text, SqlOption::OrderBy)?,
            None => Vec::new(),
        };
        let condition = match (options.top_k, options.limit) {
            (Some(rows), _) => format!("top {rows} by {text}"),
            (None, Some(rows)) => format!("limit {rows}"),
            (None, None) => String::new(),
        };
        let mut fields: Vec<Field> = schema.fields().iter().map(|f| f.as_ref().clone()).collect();
        fields.extend([ROW, LOT].map(|name| Field::new(name, DataType::UInt64, false)));
        Ok(Some(Self {
            schema: Arc::new(Schema::new(fields)),
            by,
            sample: options.sample,
            first: options.top_k.or(options.limit),
            condition,
            text,
        }))
    }

    /// The rows of `batches` in their new order, with our own columns.
    pub(super) async fn stream(
        &self,
        engine: &SqlEngine,
        seed: u64,
        batches: Batches,
    ) -> Result<(SendableRecordBatchStream, OrderCounts)> {
        let stream = self.sorted(engine, seed, batches).await;
        let stream = stream.map_err(|error| self.explain(engine, &error))?;
        let steps = OrderCounts {
            sample: self.sample,
            first: self.first,
            condition: self.condition.clone(),
        };
        Ok((stream, steps))
    }

    async fn sorted(
        &self,
        engine: &SqlEngine,
        seed: u64,
        batches: Batches,
    ) -> std::result::Result<SendableRecordBatchStream, DataFusionError> {
        let numbered = Numbered { batches, schema: self.schema.clone(), row: 0, seed };
        let mut frame = sorting::frame(engine, &self.schema, Box::new(numbered)).await?;
        if let Some(rows) = self.sample {
            frame = frame.sort(vec![rising(LOT), rising(ROW)])?;
            frame = frame.limit(0, Some(size(rows)))?;
        }
        let mut by = self.by.clone();
        by.push(rising(ROW));
        frame = frame.sort(by)?;
        if let Some(rows) = self.first {
            frame = frame.limit(0, Some(size(rows)))?;
        }
        frame.execute_stream().await
    }

    /// An error of the stream.
    pub(super) fn explain(&self, engine: &SqlEngine, error: &DataFusionError) -> DatasetError {
        engine.explain(error, SqlOption::OrderBy, &self.text)
    }

    /// A batch without our own columns.
    pub(super) fn plain(&self, batch: &RecordBatch) -> RecordBatch {
        let own: Vec<usize> = (0..self.schema.fields().len() - 2).collect();
        batch.project(&own).expect("our own columns are the last")
    }
}

fn size(rows: u64) -> usize {
    usize::try_from(rows).unwrap_or(usize::MAX)
}

impl OrderCounts {
    /// Returns the rows dropped by each step.
    pub(super) fn dropped(&self, mut rows: u64) -> Vec<DroppedRows> {
        let mut dropped = Vec::new();
        let mut keep = |kept: Option<u64>, condition: String| {
            if let Some(kept) = kept {
                let left = rows.saturating_sub(kept);
                dropped.push(DroppedRows::rows(condition, Some(left)));
                rows = rows.min(kept);
            }
        };
        let sample = self.sample.unwrap_or(0);
        keep(self.sample, format!("sample {sample}"));
        keep(self.first, self.condition.clone());
        dropped
    }
}

/// Batches with our own columns.
struct Numbered {
    batches: Batches,
    schema: SchemaRef,
    row: u64,
    seed: u64,
}

impl Iterator for Numbered {
    type Item = RecordBatch;

    fn next(&mut self) -> Option<RecordBatch> {
        let batch = self.batches.next()?;
        let rows = self.row..self.row + batch.num_rows() as u64;
        self.row = rows.end;
        let lots = rows.clone().map(|row| lot(self.seed, row));
        let mut columns: Vec<ArrayRef> = batch.columns().to_vec();
        columns.push(Arc::new(UInt64Array::from_iter_values(rows.clone())));
        columns.push(Arc::new(UInt64Array::from_iter_values(lots)));
        let numbered = RecordBatch::try_new(self.schema.clone(), columns);
        Some(numbered.expect("the columns of the schema, and our own two"))
    }
}

/// Random number of a row: two rounds of `SplitMix64`.
fn lot(seed: u64, row: u64) -> u64 {
    split_mix(split_mix(seed) ^ row)
}
